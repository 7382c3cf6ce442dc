/**
 * What a role gives to the HTTP app: routes as data. Owns the shape, so that methods, near matches, scopes and docs all
 * come from one list. Refuses to dispatch: `app.ts` does.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Caller, Scope } from './auth.ts'

/** One request with a token that may make it. */
export interface Call {
  request: IncomingMessage
  response: ServerResponse
  /** Path and query as they came, even where the app stands below another. */
  url: string
  /** The part of the path that stands for `{name}`, decoded. */
  segment(name: string): string
  caller: Caller
  /** The JSON value of the body; undefined where the route takes none. */
  body: unknown
  /** Aborts when the client has gone. */
  gone: AbortSignal
}

/** A JSON body that a route takes. */
export interface RouteBody {
  maxBytes: number
  /** Its members with their meanings, for the docs. */
  members: Readonly<Record<string, string>>
}

/** One method on one path. A GET takes HEAD too, and no body. */
export interface Route {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** e.g. `/v1/status`; a part that differs stands in braces: `/v1/tokens/{id}`. */
  path: string
  /** null: any valid token. */
  scope: Scope | null
  /** One line for the docs. */
  summary: string
  /** Query parameters with their meanings, for the docs and for clients that read them. */
  parameters: Readonly<Record<string, string>>
  /** Takes the fields of a filter as parameters too. */
  takesFilter?: true
  /** Absent: a request with a body is refused. */
  body?: RouteBody
  /** Answers the call, or throws HttpProblem or BridgeError before anything is written. */
  handle(call: Call): Promise<void>
}

/** Writes a JSON answer of bytes that are ready to be sent. `headers`: more than every answer has, e.g. `ETag`. */
export function sendJson(
  response: ServerResponse,
  status: number,
  body: Buffer,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, {
    ...headers,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': body.length,
    'Cache-Control': 'no-store',
  })
  response.end(body)
}
