/** Classifies how a request to upstream ended: HTTP statuses and transport errors become values, not exceptions. */
import type { ReportedQuota } from './reported-quota.ts'

/** Message and hint of upstream's error body, each cut to 300 characters; empty and null where it has none. */
export interface UpstreamWords {
  message: string
  hint: string | null
}

/** The end of a request without a usable response. */
export type Failure =
  | ({ kind: 'too_many'; retryAfter: string | null } & Partial<UpstreamWords>)
  | ({ kind: 'unauthorised'; status: number } & Partial<UpstreamWords>)
  | ({ kind: 'refused'; status: number } & UpstreamWords)
  | ({ kind: 'server_error'; status: number } & Partial<UpstreamWords>)
  | { kind: 'timeout'; phase: 'headers' | 'body' }
  | { kind: 'network'; message: string }
  | { kind: 'invalid'; reason: string }

/** When a request was sent, and what its headers report. */
export interface Timing {
  /** When the request left and when its outcome was known, ms since 1970 on our clock. */
  startedMs: number
  endedMs: number
  /** Upstream's `Date`, ms since 1970; null where it sent none. */
  serverMs: number | null
  /** False when the request certainly never reached upstream: its unit is refunded. */
  sent: boolean
  /** Quotas in upstream's headers; absent where there are none. */
  reported?: readonly ReportedQuota[]
}

/** How one request ended, and when. */
export type Outcome<T> = Timing & ({ kind: 'ok'; value: T } | Failure)

/** Most characters of a message or hint. */
const LONGEST_WORDS = 300

/** The failure for a status other than 200, with the message and hint of its body. */
export function classifyStatus(status: number, retryAfter: string | null, body: string): Failure {
  if (status < 400) return { kind: 'invalid', reason: `status ${status}` }
  const words = errorWords(body)
  if (status === 429) return { kind: 'too_many', retryAfter, ...words }
  if (status === 401 || status === 403) return { kind: 'unauthorised', status, ...words }
  return { kind: status < 500 ? 'refused' : 'server_error', status, ...words }
}

/** Error codes of a connection that was never made: upstream cannot have counted the request. */
const NEVER_CONNECTED =
  /^(ECONNREFUSED|ENOTFOUND|EAI_|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|CERT_|ERR_TLS|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|ERR_INVALID_URL|bad port)/
/** Error codes of a response whose content encoding is corrupt. */
const BROKEN_ENCODING = /^(Z_|ERR_BROTLI|ERR_ZSTD|ERR__ERROR)/

/** The failure for an error of fetch or of reading its body. */
export function classifyThrown(error: unknown): { failure: Failure; sent: boolean } {
  const code = errorCode(error)
  if (BROKEN_ENCODING.test(code))
    return { failure: { kind: 'invalid', reason: `encoding: ${code}` }, sent: true }
  return { failure: { kind: 'network', message: code }, sent: !NEVER_CONNECTED.test(code) }
}

/** The innermost error code: fetch wraps the error of the socket in `cause`, those of several addresses in `errors`. */
function errorCode(error: unknown): string {
  for (let inner = error; inner !== null && typeof inner === 'object'; ) {
    const fields = inner as { code?: unknown; cause?: unknown; errors?: unknown[] }
    const next = fields.cause ?? (Array.isArray(fields.errors) ? fields.errors[0] : undefined)
    if (typeof fields.code === 'string' && (next === undefined || next === null)) return fields.code
    // An error of fetch itself has no code, only a message such as "bad port".
    if (next === undefined || next === null) return inner instanceof Error ? codeless(inner) : 'unknown'
    inner = next
  }
  return 'unknown'
}

function codeless({ name, message }: Error): string {
  return name === 'Error' && message !== '' ? message.slice(0, LONGEST_WORDS) : name
}

/** Message and hint on one line, for logs and findings; empty where there is neither. */
export function oneLine({ message = '', hint = null }: Partial<UpstreamWords>): string {
  return [message, hint ?? ''].filter((part) => part !== '').join(' – ')
}

/** A failure in words, with upstream's own where it sent some. */
export function failureWords(failure: Failure): string {
  if (failure.kind === 'invalid') return failure.reason
  if (failure.kind === 'network') return failure.message
  if (failure.kind === 'timeout') return `no ${failure.phase} in time`
  const status = failure.kind === 'too_many' ? 429 : failure.status
  const words = oneLine(failure)
  return words === '' ? `status ${status}` : `status ${status}: ${words}`
}

function errorWords(body: string): UpstreamWords {
  const textOf = (part: unknown): string => (typeof part === 'string' ? part.slice(0, LONGEST_WORDS) : '')
  try {
    const { error } = JSON.parse(body) as { error?: { message?: unknown; hint?: unknown } }
    return { message: textOf(error?.message), hint: textOf(error?.hint) || null }
  } catch {
    return { message: '', hint: null }
  }
}
