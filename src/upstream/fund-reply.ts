/**
 * What the leader says to a fund request of any node, and its text on the way. Owns that text. Refuses HTTP: whoever
 * answers the client builds the body of a refusal.
 */

/** The answer to one fund request. */
export interface FundReply {
  /** HTTP status. */
  status: number
  /** The body of a 200 as upstream sent it; empty with a refusal. */
  text: string
  /** Why there is no other answer; null with a 200. */
  refusal: { message: string; hint: string | null } | null
  /** When to ask again, ms from now; null where that is of no use. */
  retryAfterMs: number | null
  /** How much longer the same request is answered so, ms. */
  validMs: number
}

/** The reply as a text: a line about it, then the body. */
export function encodeReply({ text, ...head }: FundReply): string {
  return `${JSON.stringify(head)}\n${text}`
}

/** The reply in a text; null where it is none, as of a leader of another version. */
export function decodeReply(encoded: string): FundReply | null {
  const end = encoded.indexOf('\n')
  try {
    const head: unknown = JSON.parse(encoded.slice(0, end))
    const reply = { ...(head as Omit<FundReply, 'text'>), text: encoded.slice(end + 1) }
    return isReply(reply) ? reply : null
  } catch {
    return null
  }
}

function isReply({ status, refusal, retryAfterMs, validMs }: FundReply): boolean {
  const isTold = refusal === null ? status === 200 : typeof refusal?.message === 'string' && status >= 400
  const isTimed = retryAfterMs === null || Number.isFinite(retryAfterMs)
  return Number.isInteger(status) && status <= 599 && isTold && isTimed && Number.isFinite(validMs)
}
