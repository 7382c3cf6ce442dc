/**
 * Defines the data that describes one HTTP route. Dispatch, access checks, suggestions for misspelt parameters,
 * `docs/use/http.md` and `/openapi.json` are made from it.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { z } from 'zod'
import type { AuditAction } from './audit/audit-actions.ts'
import type { MakeChange } from './audit/changes.ts'
import type { Caller, Scope } from './auth.ts'
import type { Query } from './parameters.ts'
import type { ProblemCode } from './problem.ts'

/** One request that anybody may make. */
export interface OpenCall {
  request: IncomingMessage
  response: ServerResponse
  /** The query parameters, of which the route knows those that it describes. It calls `check` once it has read them. */
  query: Query
  /** The part of the path that matches `{name}`, decoded. */
  segment(name: string): string
  /** The JSON value of the body; undefined where the route takes none. */
  body: unknown
  /** Aborts when the client has gone. */
  gone: AbortSignal
  /** Makes a change of this route and records it in the audit journal, as `Audit`. Only for a route with `audit`. */
  change: MakeChange
}

/** One request with a token that may make it. */
export interface Call extends OpenCall {
  caller: Caller
}

/** What an optional parameter or header means; a schema with its description where it is not just any text. */
export type Described = string | z.ZodType

/** A JSON body that a route takes. */
export interface RouteBody {
  maxBytes: number
  /** A request without any body counts as one with an empty object. */
  isOptional?: true
  /** What the route reads it by, each member with a description. */
  schema: z.ZodObject
}

/** What a route answers with one status, errors aside. */
export interface RouteAnswer {
  meaning: string
  /** Of the body; absent: there is none. */
  schema?: z.ZodType
  /** `application/json` where it is absent. */
  mediaType?: string
  /** Headers that a client looks at, with their meanings. */
  headers?: Readonly<Record<string, string>>
}

/** What every route says of itself; `docs/use/http.md` and `/openapi.json` are made from it. */
interface RouteFacts {
  /** e.g. `/v1/status`; a variable part is in braces: `/v1/tokens/{id}`. */
  path: string
  /** One line for the docs. */
  summary: string
  /** Query parameters with their meanings, for the docs and for clients that read them. */
  parameters: Readonly<Record<string, Described>>
  /** Request headers of its own. */
  headers?: Readonly<Record<string, Described>>
  /** Takes the fields of a filter as parameters too. */
  takesFilter?: true
  /** Absent: a request with a body other than an empty JSON object is refused. */
  body?: RouteBody
  /** By status. */
  answers: Readonly<Record<number, RouteAnswer>>
  /** What an error of its requests is answered as, also one thrown before the route is reached; by default as it is. */
  reword?(request: IncomingMessage, error: unknown, segment: OpenCall['segment']): unknown
  /** Codes of its errors beyond those that follow from its method, path, parameters, body and scope. */
  problems?: readonly ProblemCode[]
}

/**
 * The method of a route, and what it changes: a route that is no GET names the action under which it is recorded, or says
 * that it changes nothing.
 */
type MethodAndChange =
  | { method: 'GET'; audit?: undefined; isReadOnly?: undefined }
  | { method: ChangingMethod; audit: AuditAction; isReadOnly?: undefined }
  | {
      method: ChangingMethod
      audit?: AuditAction
      /** Changes nothing although it is no GET, or only the session itself, so that a session which may only read has it too. */
      isReadOnly: true
    }
type ChangingMethod = 'POST' | 'PATCH' | 'DELETE'

/** One method on one path, for callers with a token. A GET takes HEAD too, and no body. */
export type Route = RouteWithToken & MethodAndChange

interface RouteWithToken extends RouteFacts {
  /** null: any valid token. */
  scope: Scope | null
  /**
   * The caller of a request that shows a credential other than the header `Authorization`; null where it shows none.
   * Such a route takes no session. Throws as `callerOf`.
   */
  identify?(request: IncomingMessage): Caller | null
  /** Throws the 404 where the path names nothing of the caller. Called before query and body are looked at. */
  requireTarget?(target: Pick<Call, 'segment' | 'caller'>): void
  /** Throws the refusal where the caller has too many calls at a time. Called before query and body are looked at. */
  takePlace?(call: Pick<Call, 'request' | 'response' | 'caller'>): void
  /** Answers the call, or throws HttpProblem or BridgeError before anything is written. */
  handle(call: Call): Promise<void>
}

/** The same, open to everybody: no token is looked at. */
export type OpenRoute = RouteWithoutToken & MethodAndChange

interface RouteWithoutToken extends RouteFacts {
  scope: 'open'
  /** It needs a token all the same, which it takes from the header or the body by itself. */
  takesToken?: true
  /** As that of a Route. */
  handle(call: OpenCall): Promise<void>
}

/** Either of them. */
export type AnyRoute = Route | OpenRoute

/** The meaning of a parameter or header as a sentence of the docs. */
export function meaningOf(described: Described): string {
  return typeof described === 'string' ? described : (described.description ?? '')
}

/** Writes a JSON answer of bytes that are ready to be sent. `headers`: more than every answer has, e.g. `ETag`. */
export function sendJson(
  response: ServerResponse,
  status: number,
  body: Buffer,
  headers: Readonly<Record<string, string>> = {},
): void {
  beginJson(response, status, body.length, headers)
  response.end(body)
}

/** Writes the head of a JSON answer of so many bytes. */
export function beginJson(
  response: ServerResponse,
  status: number,
  bytes: number,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, {
    ...headers,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': bytes,
    'Cache-Control': 'no-store',
  })
}
