/** Encodes the leader's reply to a client's request for fund data as text, and decodes it on the node that the client asked. */
/** The reply to one fund request. */
export interface FundReply {
  /** HTTP status. */
  status: number
  /** The body of a 200 as upstream sent it; empty with a refusal. */
  text: string
  /** The error message; null with a 200. */
  refusal: { message: string; hint: string | null } | null
  /** When a retry may succeed, ms from now; null where none can. */
  retryAfterMs: number | null
  /** How much longer this reply may be reused, ms. */
  validMs: number
}

/** The reply as text: a header line in JSON, then the body. */
export function encodeReply({ text, ...head }: FundReply): string {
  return `${JSON.stringify(head)}\n${text}`
}

/** The reply in a text; null where it cannot be read, for example from a leader of another version. */
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
  const hasReason = refusal === null ? status === 200 : typeof refusal?.message === 'string' && status >= 400
  const isRetryValid = retryAfterMs === null || Number.isFinite(retryAfterMs)
  return Number.isInteger(status) && status <= 599 && hasReason && isRetryValid && Number.isFinite(validMs)
}
