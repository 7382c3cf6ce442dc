/**
 * Builds the error responses of the HTTP API: `application/problem+json` (RFC 9457) with a code from a closed list. The
 * response to an internal error shows no detail.
 */
import { BridgeError, type FieldError } from '../errors.ts'

/** Every code with its status, its title and what a client should do. `docs/errors.md` is made from here. */
export const problemCodes = {
  parameter_invalid: [400, 'Wrong parameter', 'Correct the parameters named in `errors`.'],
  filter_invalid: [400, 'Wrong filter', 'Correct the fields named in `errors`.'],
  cursor_invalid: [
    400,
    'Wrong cursor',
    'Send a cursor exactly as it was given; to start over, leave it out.',
  ],
  body_unexpected: [400, 'Unexpected body', 'Send no body with this request, or an empty JSON object.'],
  body_malformed: [400, 'Malformed body', 'Send one JSON value as UTF-8.'],
  body_invalid: [400, 'Wrong body', 'Correct the members named in `errors`.'],
  url_malformed: [400, 'Malformed address', 'Percent-encode the address as UTF-8, without NUL.'],
  request_malformed: [400, 'Malformed request', 'Send well-formed HTTP/1.1.'],
  unauthorised: [401, 'Not authenticated', 'Send `Authorization: Bearer <token>` with a valid token.'],
  forbidden: [403, 'Not allowed', 'Use a token that may do this; `detail` says what is missing.'],
  session_locked: [
    403,
    'Session may only read',
    'Unlock the session with its token, `POST /v1/sessions/current/unlock`, or send the token itself.',
  ],
  limit_reached: [403, 'Limit reached', 'Delete what is no longer needed, then try again.'],
  origin_refused: [
    403,
    'Origin refused',
    'Add the origin of the page to `BRIDGE_CORS_ORIGINS`, exactly as the browser sends it.',
  ],
  not_found: [404, 'Not found', 'Look at the path; docs/use/http.md lists all.'],
  method_not_allowed: [405, 'Method not allowed', 'Use a method of the header `Allow`.'],
  request_timeout: [408, 'Request too slow', 'Send the whole request within the time limit.'],
  not_now: [
    409,
    'Not possible now',
    '`detail` says what stands against it; come back after `Retry-After` seconds where it is given.',
  ],
  cursor_too_old: [
    410,
    'Cursor too old',
    'Start over from `oldest`: the events before it were dropped by age.',
  ],
  precondition_failed: [
    412,
    'Precondition failed',
    'Read it again; then send `If-Match` with its new `ETag`, or leave the header out.',
  ],
  body_too_large: [413, 'Body too large', 'Send at most the bytes that `detail` names.'],
  url_too_long: [414, 'Address too long', 'Keep the address below 16 KB; split long lists.'],
  media_type_unsupported: [415, 'Wrong media type', 'Send JSON with `Content-Type: application/json`.'],
  idempotency_key_reused: [
    422,
    'Key of another request',
    'Send the request that had this `Idempotency-Key` first, or a new key.',
  ],
  upgrade_required: [426, 'Upgrade required', 'Open this path with a WebSocket client, version 13.'],
  too_many: [429, 'Too many at a time', 'Come back after `Retry-After` seconds, when others have ended.'],
  rate_limited: [429, 'Too many requests', 'Come back after `Retry-After` seconds, then send fewer.'],
  headers_too_large: [431, 'Headers too large', 'Keep all headers below 16 KB.'],
  internal: [500, 'Internal error', 'Try again; the log of the bridge has the reason.'],
  over_capacity: [503, 'Over capacity', 'Come back after `Retry-After` seconds.'],
  unavailable: [503, 'Not available', 'Come back after `Retry-After` seconds.'],
} as const satisfies Record<string, readonly [status: number, title: string, remedy: string]>

/** How `detail` begins where no route has the path. */
export const NO_PATH = 'there is no such path'

/** The `code` of a problem answer. */
export type ProblemCode = keyof typeof problemCodes

/** What an error answer may carry besides its code and detail. */
export interface ProblemParts {
  errors?: readonly FieldError[]
  /** e.g. `Allow`, `Retry-After`. */
  headers?: Readonly<Record<string, string>>
  /** Further members of the body, e.g. `oldest`. */
  extra?: Readonly<Record<string, string>>
  /** Answers 200 with these server-sent events instead: a browser's EventSource never comes back after an error. */
  eventStream?: string
}

/** Headers of an answer of server-sent events. */
export const EVENT_STREAM_HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store',
  'X-Accel-Buffering': 'no',
}

/** Ends the handling of a request with this answer. */
export class HttpProblem extends Error {
  readonly code: ProblemCode
  readonly parts: ProblemParts

  constructor(code: ProblemCode, detail: string, parts: ProblemParts = {}) {
    // Nobody sees the stack of an answer, and in a flood of refusals it would cost more than the rest of each.
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(detail)
    Error.stackTraceLimit = stackTraceLimit
    this.name = 'HttpProblem'
    this.code = code
    this.parts = parts
  }

  get status(): number {
    return problemCodes[this.code][0]
  }
}

/** Most wrong fields that `detail` repeats; `errors` has all. */
const MOST_IN_DETAIL = 3

/** The 400 that names wrong fields: `detail` says what is wrong with the first ones. */
export function wrongFields(
  code: 'parameter_invalid' | 'body_invalid',
  errors: readonly FieldError[],
): HttpProblem {
  const said = errors.slice(0, MOST_IN_DETAIL).map(({ field, message }) => `${field} ${message}`)
  const more = errors.length - said.length
  const detail = [...said, ...(more > 0 ? [`${more} more in errors`] : [])].join('; ')
  return new HttpProblem(code, detail, { errors })
}

/** What a client that came at a bad moment should wait, seconds. */
const RETRY_AFTER_SECONDS = 5

/** The answer that says when to come back. */
export function retryLater(code: 'too_many' | 'over_capacity' | 'unavailable', detail: string): HttpProblem {
  return new HttpProblem(code, detail, { headers: { 'Retry-After': RETRY_AFTER_SECONDS.toString() } })
}

/** The 410 for a cursor whose events are no longer kept; `oldest`: the earliest cursor that can be resumed from. */
export function tooOld(oldest: string): HttpProblem {
  return new HttpProblem(
    'cursor_too_old',
    'what follows this cursor is no longer kept; start over from `oldest` and expect a hole before it',
    { extra: { oldest } },
  )
}

/** The message of an error and its hint, as sentences. */
export function withHint({ message, hint }: BridgeError): string {
  if (hint === undefined) return message
  return `${message}${/[.?!]$/.test(message) ? '' : '.'} ${hint}`
}

/** The answer for whatever a handler threw; null for a fault of ours, whose text stays inside. */
export function problemOf(error: unknown): HttpProblem | null {
  if (error instanceof HttpProblem) return error
  if (!(error instanceof BridgeError)) return null
  const detail = withHint(error)
  switch (error.code) {
    case 'cursor_invalid':
    case 'filter_invalid':
      return new HttpProblem(error.code, detail, { errors: error.errors })
    case 'date_invalid':
      return new HttpProblem('parameter_invalid', detail, { errors: error.errors })
    case 'log_unavailable':
      return retryLater('unavailable', 'the log cannot be read or written at the moment')
    default:
      return null
  }
}

/** The status, the headers and the body of an error answer. */
export function problemAnswer({ code, parts, message }: HttpProblem): {
  status: number
  headers: Record<string, string>
  body: string
} {
  if (parts.eventStream !== undefined) {
    return { status: 200, headers: { ...parts.headers, ...EVENT_STREAM_HEADERS }, body: parts.eventStream }
  }
  const [status, title] = problemCodes[code]
  const type = `urn:disclosure-bridge:problem:${code}`
  const errors = parts.errors ?? []
  const body = JSON.stringify({ type, title, status, detail: message, code, errors, ...parts.extra })
  return {
    status,
    headers: {
      ...parts.headers,
      'Content-Type': 'application/problem+json; charset=utf-8',
      'Content-Length': Buffer.byteLength(body).toString(),
      'Cache-Control': 'no-store',
    },
    body,
  }
}
