/** Carries out orders of an operator that any node passes to the leader, once this process leads. */
import { isoMillis } from '../core/dates.ts'
import { POLL_NOW_REQUEST } from '../http/schemas/leader-order.ts'
import { type Clock, sleep } from '../lifecycle/clock.ts'
import { encodeReply, type LeaderReply, refused } from '../upstream/leader-reply.ts'
import type { PollRefusal } from './machine/poll-now.ts'
import { isInformed } from './machine/state.ts'
import type { Poller } from './poller/poller.ts'

/** What the orders are carried out with. */
export interface OrderParts {
  poller: Pick<Poller, 'state' | 'leaderSinceMs' | 'pollNow'>
  clock: Clock
}

/** Pause between two checks whether this process leads. */
const LEADER_CHECK_MS = 50

/** Whether the request is an order. */
export function isOrder(request: string): boolean {
  return request === POLL_NOW_REQUEST
}

/** The encoded reply, once this process leads. `asked` aborts when nobody waits for it any more. */
export async function carryOut({ poller, clock }: OrderParts, asked: AbortSignal): Promise<string> {
  while (!asked.aborted) {
    const { state, leaderSinceMs } = poller
    const isReady = state.name !== 'claiming' && state.name !== 'catching-up'
    if (isReady && isInformed(state, leaderSinceMs))
      return encodeReply(replyTo(poller.pollNow(), clock.now()))
    await sleep(clock, LEADER_CHECK_MS, asked)
  }
  return encodeReply(refused(503, 'the client no longer waits for this request', null, null))
}

function replyTo(refusal: PollRefusal | null, nowMs: number): LeaderReply {
  if (refusal === null) {
    const text = JSON.stringify({ nextPoll: isoMillis(nowMs) })
    return { status: 200, text, refusal: null, retryAfterMs: null, validMs: 0 }
  }
  if (refusal.why === 'paused') {
    return refused(
      409,
      'polling is paused',
      'Resume it: bridge admin resume, or POST /v1/admin/polling/resume',
      null,
    )
  }
  const { why, untilMs } = refusal
  const message =
    why === 'quota'
      ? `no unit of the weekly quota is left until ${isoMillis(untilMs)}`
      : `upstream has refused requests as too many; the next one may leave at ${isoMillis(untilMs)}`
  return refused(409, message, null, untilMs - nowMs)
}
