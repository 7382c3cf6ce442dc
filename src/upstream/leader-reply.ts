/**
 * Encodes the leader's reply to a node that asked it for data of upstream (fund data, exchange references) as text, and
 * decodes it on that node.
 */
import { LONGEST_RESPONSE } from '../log/requests.ts'

/** Most characters of a reply's text: the header line before it has some thousand at most. */
export const LONGEST_TEXT = LONGEST_RESPONSE - 4096

/** Members of what an order changes, in the words of the API. */
export type OrderFacts = Readonly<Record<string, string | number | null>>

/** The reply to one request. */
export interface LeaderReply {
  /** HTTP status. */
  status: number
  /** What was asked for, with a 200; empty with a refusal. */
  text: string
  /** The error message; null with a 200. */
  refusal: { message: string; hint: string | null } | null
  /** When a retry may succeed, ms from now; null where none can. */
  retryAfterMs: number | null
  /** How much longer this reply may be reused, ms. */
  validMs: number
  /** What an order has changed, as it was and as it is; absent where nothing was ordered, and in replies of older versions. */
  change?: { before: OrderFacts; after: OrderFacts }
}

/** A reply without data. `retryAfterMs` = null: a retry cannot succeed. */
export function refused(
  status: number,
  message: string,
  hint: string | null,
  retryAfterMs: number | null,
  validMs = 0,
): LeaderReply {
  return { status, text: '', refusal: { message, hint }, retryAfterMs, validMs }
}

/** The reply as text: a header line in JSON, then the body. */
export function encodeReply({ text, ...head }: LeaderReply): string {
  return `${JSON.stringify(head)}\n${text}`
}

/** The reply in a text; null where it cannot be read, for example from a leader of another version. */
export function decodeReply(encoded: string): LeaderReply | null {
  const end = encoded.indexOf('\n')
  try {
    const head: unknown = JSON.parse(encoded.slice(0, end))
    const reply = { ...(head as Omit<LeaderReply, 'text'>), text: encoded.slice(end + 1) }
    return isReply(reply) ? reply : null
  } catch {
    return null
  }
}

function isReply({ status, refusal, retryAfterMs, validMs, change }: LeaderReply): boolean {
  const hasReason = refusal === null ? status === 200 : typeof refusal?.message === 'string' && status >= 400
  const isRetryValid = retryAfterMs === null || Number.isFinite(retryAfterMs)
  const isChangeValid = change === undefined || [change.before, change.after].every(isObject)
  const isValid = hasReason && isRetryValid && isChangeValid && Number.isFinite(validMs)
  return Number.isInteger(status) && status <= 599 && isValid
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}
