/**
 * What a client of the gateway is told of an outcome upstream. Owns statuses, and how long each reply is valid. Refuses
 * to pass faults on as if they were the client's: its key is not upstream's.
 */
import type { FundOutcome } from '../../upstream/fund-client.ts'
import type { FundReply } from '../../upstream/fund-reply.ts'
import { oneLine, type UpstreamWords } from '../../upstream/outcome.ts'

/** How long an answer of upstream stands (contract §6). */
const VALID_MS = 60_000
/** How long a failure stands: each costs a unit, and clients try again at once. */
const FAILED_MS = 10_000
/** An answer must travel to any node: it may have 8 Mi characters there, with a line about it. */
const LONGEST_TEXT = 8 * 1024 * 1024 - 4096

/** A reply that brings nothing. `retryAfterMs` = null: asking again is of no use. */
export function refused(
  status: number,
  message: string,
  hint: string | null,
  retryAfterMs: number | null,
  validMs = 0,
): FundReply {
  return { status, text: '', refusal: { message, hint }, retryAfterMs, validMs }
}

/** A refusal of the client's request in upstream's own words; `otherwise` is said where it has none. */
function passedOn(status: 400 | 404, { message, hint }: UpstreamWords, otherwise: string): FundReply {
  return refused(status, message || otherwise, hint, null, VALID_MS)
}

/** The reply to a request that was sent. `blockedMs` = how long nothing is sent after a 429. */
export function replyOf(outcome: FundOutcome, blockedMs: number): FundReply {
  const failed = (status: number, message: string, hint: string | null = null): FundReply =>
    refused(status, message, hint, FAILED_MS, FAILED_MS)
  switch (outcome.kind) {
    case 'ok':
      return outcome.value.length <= LONGEST_TEXT
        ? { status: 200, text: outcome.value, refusal: null, retryAfterMs: null, validMs: VALID_MS }
        : refused(502, 'the answer of upstream is larger than 8 MB', 'Ask for less.', null, VALID_MS)
    case 'not_found':
      return passedOn(404, outcome, 'upstream has nothing of that sort')
    case 'refused':
      return outcome.status === 400
        ? passedOn(400, outcome, 'upstream refuses the request')
        : refused(
            502,
            `upstream answers with status ${outcome.status}`,
            oneLine(outcome) || null,
            null,
            VALID_MS,
          )
    case 'unauthorised':
      return refused(
        502,
        `upstream refuses the key of this bridge with status ${outcome.status}`,
        outcome.status === 403
          ? 'Tell whoever runs this bridge: its plan may have no fund data.'
          : 'Tell whoever runs this bridge: BRIDGE_UPSTREAM_KEY is wrong or revoked.',
        VALID_MS,
        VALID_MS,
      )
    case 'too_many':
      return refused(503, 'upstream has refused the request for now (429)', null, Math.max(0, blockedMs))
    case 'server_error':
      return failed(502, `upstream fails with status ${outcome.status}`)
    case 'timeout':
      return failed(504, 'upstream does not answer in time')
    case 'network':
      return failed(502, 'upstream cannot be reached')
    case 'invalid':
      return failed(502, 'the answer of upstream cannot be read', outcome.reason)
  }
}
