/** Carries out orders of an operator that any node passes to the leader, once this process leads. */
import { reportedStates } from '../archive/days.ts'
import { isoMillis, isoOrNull } from '../core/dates.ts'
import { readOrder } from '../http/schemas/leader-order.ts'
import { type Clock, sleep } from '../lifecycle/clock.ts'
import { encodeReply, type LeaderReply, type OrderFacts, refused } from '../upstream/leader-reply.ts'
import { nextPollAtMs } from './machine/next-poll.ts'
import {
  type IngestConfig,
  type IngestState,
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
          : carryOut(poller, order, clock.now()),
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
  return done({ node: processId }, { before: { leader: processId }, after: { leader: null } })
}

/** Whether nothing is under way that stepping down would interrupt. */
function isIdle({ state: { request, queue, committing } }: OrderParts['poller']): boolean {
  return request === null && queue.length === 0 && !committing
}

function carryOut(poller: OrderParts['poller'], order: Order, nowMs: number): LeaderReply {
  const before = factsOf(order, poller.state)
  const refusal = poller.order(order)
  if (refusal !== null) return refusedBy(refusal, order, nowMs)
  const due = isoMillis(nowMs)
  // The state has the poll after this one already.
  if (order.what === 'poll') return done({ nextPoll: due }, { before, after: { nextPoll: due } })
  const change = { before, after: factsOf(order, poller.state) }
  return done(order.what === 'gap' ? { id: order.id, due } : { date: order.date, due }, change)
}

/** What the order is about, as it is; null: not known. */
function factsOf(order: Order, state: IngestState): OrderFacts {
  if (order.what === 'poll') return { nextPoll: isoOrNull(nextPollAtMs(state)) }
  if (order.what === 'gap') {
    const gap = state.head.openGaps.find(({ id }) => id === order.id)
    return { attempts: gap?.attempts ?? null, due: isoOrNull(gap?.retryAtMs ?? null) }
  }
  const walk = state.head.days.find(({ date }) => date === order.date)?.walk ?? null
  const dueMs = walk?.state === 'owed' ? walk.atMs : walk?.retryMs
  return { walk: walk === null ? null : reportedStates[walk.state], due: isoOrNull(dueMs ?? null) }
}

function done(body: object, change: NonNullable<LeaderReply['change']>): LeaderReply {
  const text = JSON.stringify(body)
  return { status: 200, text, refusal: null, retryAfterMs: null, validMs: 0, change }
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
