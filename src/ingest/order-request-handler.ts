/** Carries out orders of an operator that any node passes to the leader, once this process leads. */
import { isoMillis } from '../core/dates.ts'
import { readOrder } from '../http/schemas/leader-order.ts'
import { type Clock, sleep } from '../lifecycle/clock.ts'
import { encodeReply, type LeaderReply, refused } from '../upstream/leader-reply.ts'
import {
  type IngestConfig,
  isInformed,
  type Order,
  type OrderRefusal,
  type StateName,
} from './machine/state.ts'
import type { Poller } from './poller/poller.ts'

/** What the orders are carried out with. */
export interface OrderParts {
  poller: Pick<Poller, 'state' | 'leaderSinceMs' | 'order' | 'stepDown'>
  /** The id of this process. */
  processId: string
  config: Pick<IngestConfig, 'isShared'>
  clock: Clock
}

/** States of a leader that carries out no order: it will, or the next one does. */
const UNREADY: readonly StateName[] = ['claiming', 'catching-up', 'releasing']
/** Pause between two looks at the poller. */
const LOOK_MS = 50
/** How long a leader that is to step down may finish a request and its commits: without that the unit would be lost. */
const FINISH_MS = 5_000
const NO_CLIENT = refused(503, 'the client no longer waits for this request', null, null)

/** The encoded reply, once this process leads. `asked` aborts when nobody waits for it any more. */
export async function answerOrder(parts: OrderParts, request: string, asked: AbortSignal): Promise<string> {
  const { poller, clock } = parts
  const order = readOrder(request)
  while (!asked.aborted) {
    const { state, leaderSinceMs } = poller
    if (!UNREADY.includes(state.name) && isInformed(state, leaderSinceMs)) {
      if (order === null) break
      return encodeReply(
        order.what === 'step_down'
          ? await stepDown(parts, order.leader, asked)
          : replyTo(order, poller.order(order), clock.now()),
      )
    }
    await sleep(clock, LOOK_MS, asked)
  }
  return encodeReply(
    asked.aborted
      ? NO_CLIENT
      : refused(503, 'the leader runs a version that does not know this order', null, null),
  )
}

async function stepDown(
  { poller, processId, config, clock }: OrderParts,
  leader: string,
  asked: AbortSignal,
): Promise<LeaderReply> {
  if (!config.isShared) {
    return refused(409, 'no other process can lead: this log is embedded', null, null)
  }
  if (leader !== processId) return refused(409, 'another node leads by now', 'Look at bridge nodes.', null)
  const endMs = clock.now() + FINISH_MS
  while (!isIdle(poller) && clock.now() < endMs && !asked.aborted) await sleep(clock, LOOK_MS, asked)
  if (asked.aborted) return NO_CLIENT
  poller.stepDown()
  return done({ node: processId })
}

/** Whether nothing is under way that stepping down would interrupt. */
function isIdle({ state: { request, queue, committing } }: OrderParts['poller']): boolean {
  return request === null && queue.length === 0 && !committing
}

function replyTo(order: Order, refusal: OrderRefusal | null, nowMs: number): LeaderReply {
  if (refusal !== null) return refusedBy(refusal, order, nowMs)
  const due = isoMillis(nowMs)
  if (order.what === 'poll') return done({ nextPoll: due })
  return done(order.what === 'gap' ? { id: order.id, due } : { date: order.date, due })
}

function done(body: object): LeaderReply {
  return { status: 200, text: JSON.stringify(body), refusal: null, retryAfterMs: null, validMs: 0 }
}

function refusedBy(refusal: OrderRefusal, { what }: Order, nowMs: number): LeaderReply {
  const [message, hint] = wordsOf(refusal, what)
  const retryAfterMs = 'untilMs' in refusal ? refusal.untilMs - nowMs : null
  return refused(refusal.why === 'unknown' ? 404 : 409, message, hint, retryAfterMs)
}

function wordsOf(refusal: OrderRefusal, what: Order['what']): [message: string, hint: string | null] {
  switch (refusal.why) {
    case 'paused':
      return ['polling is paused', 'Resume it: bridge admin resume, or POST /v1/admin/polling/resume']
    case 'unknown':
      return what === 'gap'
        ? ['no gap with that id is open', 'bridge status lists the open gaps']
        : [
            'that day cannot be read again',
            'Only the last five business days whose releases are over can be, and none from before the stream began',
          ]
    case 'over_budget':
      return [
        'the units that the plan has for this are used up, or it has none',
        'GET /v1/quota shows what units were spent on',
      ]
    case 'quota':
      return [`no unit of the weekly quota is left until ${isoMillis(refusal.untilMs)}`, null]
    case 'throttled': {
      const at = isoMillis(refusal.untilMs)
      return [`upstream has refused requests as too many; the next one may leave at ${at}`, null]
    }
    case 'no_answer_yet':
      return ['upstream has not answered this leader yet, so the leader does not know the day there', null]
  }
}
