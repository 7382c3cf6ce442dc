/**
 * Sends requests for data of upstream to the leader, the one node that sends requests upstream, and waits for its replies.
 * Concurrent equal requests of this node share one.
 */
import { isBridgeError } from '../../errors.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import type { Requests } from '../../log/requests.ts'
import { decodeReply, type LeaderReply, refused } from '../../upstream/leader-reply.ts'
import { MirrorRefusal } from '../mirror/refusal.ts'

/** What requests are sent with. */
export interface LeaderClientParts {
  requests: Pick<Requests, 'send'>
  clock: Clock
}

/** Longest wait for the leader. */
const PATIENCE_MS = 10_000
/** Maximum of concurrent requests of one client. */
const MOST_ASKED = 100
/** Default `Retry-After`, ms. */
export const AGAIN_MS = 5_000

/** A client with its own limit of concurrent requests; its function never rejects but for faults of ours. */
export function createLeaderClient({ requests, clock }: LeaderClientParts) {
  const asked = new Map<string, Promise<LeaderReply>>()
  const ask = async (target: string): Promise<LeaderReply> => {
    const late = new AbortController()
    const cancel = clock.after(PATIENCE_MS, () => late.abort())
    try {
      const reply = decodeReply(await requests.send(target, late.signal))
      return reply ?? notNow('the leader runs another version of the bridge', 'Update every node.')
    } catch (error) {
      if (late.signal.aborted) {
        return notNow(
          'no answer of the leading bridge within 10 s',
          'None leads at the moment, or its polls and earlier requests come first. Come back after Retry-After.',
        )
      }
      if (!isBridgeError(error, 'log_unavailable')) throw error
      return notNow('the leading bridge cannot be asked: Kafka does not answer', null)
    } finally {
      cancel()
      asked.delete(target)
    }
  }
  return (target: string): Promise<LeaderReply> | LeaderReply => {
    const waiting = asked.get(target)
    if (waiting !== undefined) return waiting
    if (asked.size >= MOST_ASKED)
      return notNow(`${MOST_ASKED} requests to the leading bridge wait already`, null)
    const asking = ask(target)
    asked.set(target, asking)
    return asking
  }
}

/** Sends a request to the leader. */
export type AskLeader = ReturnType<typeof createLeaderClient>

/** The refusal of a reply as the client of the mirror gets it. */
export function refusalOf({ status, refusal, retryAfterMs }: LeaderReply): MirrorRefusal {
  const seconds = retryAfterMs === null ? null : Math.max(1, Math.ceil(retryAfterMs / 1000))
  return new MirrorRefusal(status, 'unavailable', refusal?.message ?? '', refusal?.hint ?? null, seconds)
}

function notNow(message: string, hint: string | null): LeaderReply {
  return refused(503, message, hint, AGAIN_MS)
}
