/**
 * Builds the reply to a client's request for fund data from upstream's response: status, message, and how long the reply may
 * be reused. If upstream rejects this bridge's API key, the client gets a 502, because the client did not choose that key.
 */
import type { FundOutcome } from '../../upstream/fund-client.ts'
import { type LeaderReply, LONGEST_TEXT, refused } from '../../upstream/leader-reply.ts'
import { failureWords, oneLine, type UpstreamWords } from '../../upstream/outcome.ts'

/** How long an answer of upstream stays valid, ms. */
const VALID_MS = 60_000
/** How long a failure stays valid, ms: each costs a unit, and clients retry at once. */
const FAILED_MS = 10_000

/** Forwards upstream's refusal of the client's request with its message, or `otherwise` where it has none. */
function forwarded(status: 400 | 404, { message, hint }: UpstreamWords, otherwise: string): LeaderReply {
  return refused(status, message || otherwise, hint, null, VALID_MS)
}

/** The reply to a request that was sent. `blockedMs` = how long nothing is sent after a 429. */
export function replyOf(outcome: FundOutcome, blockedMs: number): LeaderReply {
  const failed = (status: number, message: string, hint: string | null = null): LeaderReply =>
    refused(status, message, hint, FAILED_MS, FAILED_MS)
  switch (outcome.kind) {
    case 'ok':
      return outcome.value.length <= LONGEST_TEXT
        ? { status: 200, text: outcome.value, refusal: null, retryAfterMs: null, validMs: VALID_MS }
        : refused(
            502,
            'the answer of upstream is larger than 8 MB',
            'Request fewer items or a shorter range.',
            null,
            VALID_MS,
          )
    case 'not_found':
      return forwarded(404, outcome, 'upstream has no such resource')
    case 'refused':
      return outcome.status === 400
        ? forwarded(400, outcome, 'upstream rejects the request')
        : refused(
            502,
            `upstream answered with status ${outcome.status}`,
            oneLine(outcome) || null,
            null,
            VALID_MS,
          )
    case 'unauthorised':
      return refused(
        502,
        `upstream rejects the API key of this bridge with ${failureWords(outcome)}`,
        outcome.status === 403
          ? 'The plan of this bridge may have no fund data: ask its operator.'
          : 'The operator of this bridge must correct BRIDGE_UPSTREAM_KEY: it is wrong or revoked.',
        VALID_MS,
        VALID_MS,
      )
    case 'too_many':
      return refused(
        503,
        'upstream rejected the request for now with status 429',
        oneLine(outcome) || null,
        Math.max(0, blockedMs),
      )
    case 'server_error':
      return failed(502, `upstream failed with status ${outcome.status}`, oneLine(outcome) || null)
    case 'timeout':
      return failed(504, 'upstream did not answer in time')
    case 'network':
      return failed(502, 'upstream cannot be reached')
    case 'invalid':
      return failed(502, 'the answer of upstream could not be parsed', outcome.reason)
  }
}
