/** Serves the orders of an operator to the leader: to poll, to retry a gap, to read a day again, and to give up the lead. */
import { z } from 'zod'
import { isCalendarDate } from '../../core/dates.ts'
import { HttpProblem, retryLater } from '../../http/problem.ts'
import { type Call, type Route, sendJson } from '../../http/route.ts'
import { isoTime } from '../../http/schemas/json-schema.ts'
import { type LeaderOrder, orderText } from '../../http/schemas/leader-order.ts'
import type { Nodes } from '../../registry/nodes.ts'
import { type AskLeader, createLeaderClient, type LeaderClientParts } from '../routes/leader-client.ts'
import type { KnownTargets } from './known-targets.ts'
import { requireOperator } from './operator.ts'

/** What the routes work with. */
export interface LeaderOrderParts extends LeaderClientParts {
  nodes: Pick<Nodes, 'list'>
  /** The node that leads, as far as this one knows; null: it does not. */
  leaderId: () => string | null
  known: KnownTargets
}

const GAP_ID = /^[0-9a-z]{1,20}$/
const NO_GAP = 'no gap with that id is open'
/** Statuses that judge what was sent. */
const JUDGING = [400, 413, 415]

const pollOrdered = z.object({ nextPoll: isoTime('When the poll is due: now.') })
const gapOrdered = z.object({
  id: z.string().describe('The gap.'),
  due: isoTime('When its next try is due: now.'),
})
const dayOrdered = z.object({
  date: z.string().describe('The day, of London.'),
  due: isoTime('When its reconciliation is due: now.'),
})
const steppedDown = z.object({ node: z.string().describe('The node that led.') })

/** The routes. */
export function leaderOrderRoutes(parts: LeaderOrderParts): Route[] {
  const ask = createLeaderClient(parts)
  const common = {
    method: 'POST',
    scope: 'admin',
    parameters: {},
    requireTarget: requireOperator,
  } as const
  return [
    {
      ...common,
      path: '/v1/admin/polling/now',
      audit: 'polling.poll_ordered',
      summary:
        'Makes the leader poll at once, within its throttle and quota: after a key was put right the next poll may be an hour off. 409 while polling is paused, no unit is left, or upstream has refused requests as too many.',
      answers: { 200: { meaning: 'A poll is due now.', schema: pollOrdered } },
      problems: ['not_now', 'unavailable'],
      handle: (call) => pass(call, ask, 'polling', () => ({ what: 'poll' })),
    },
    {
      ...common,
      path: '/v1/admin/gaps/{id}/retry',
      audit: 'gap.retry_ordered',
      summary:
        'Makes the leader try to fill that open gap at once: after failures its next try may be a day off. `GET /v1/status` lists open gaps. 404: no such gap is open. 409: as for a poll, and when the units of gaps and re-scans are used up.',
      answers: { 200: { meaning: 'Its next try is due now.', schema: gapOrdered } },
      problems: ['not_found', 'not_now', 'unavailable'],
      requireTarget: (target) => requireSegment(target, 'id', (id) => GAP_ID.test(id), NO_GAP),
      reword: (_request, error, segment) =>
        missingFirst(error, segment('id'), parts.known.openGaps(), NO_GAP),
      handle: (call) => pass(call, ask, call.segment('id'), () => ({ what: 'gap', id: call.segment('id') })),
    },
    {
      ...common,
      path: '/v1/admin/days/{date}/reconcile',
      audit: 'day.reconciliation_ordered',
      summary:
        'Makes the leader read that London day from upstream again at once, as after its release hours. What counts as complete stays so meanwhile. 404: not one of the last five business days whose releases are over. 409: as for a gap, and where the plan pays for no reconciliations.',
      answers: { 200: { meaning: 'Its reconciliation is due now.', schema: dayOrdered } },
      problems: ['not_found', 'not_now', 'unavailable'],
      requireTarget: (target) =>
        requireSegment(target, 'date', isCalendarDate, 'that is no date of the form YYYY-MM-DD'),
      reword: (_request, error, segment) =>
        missingFirst(error, segment('date'), parts.known.days(), 'that day cannot be read again'),
      handle: (call) =>
        pass(call, ask, call.segment('date'), () => ({ what: 'day', date: call.segment('date') })),
    },
    {
      ...common,
      path: '/v1/admin/leader/step-down',
      audit: 'leader.step_down_ordered',
      summary:
        'Makes the leader finish its request and give up the lead to another node, as before its machine is serviced. It keeps running and may lead again later. 409 where no other node could lead.',
      answers: { 200: { meaning: 'The leader has stepped down.', schema: steppedDown } },
      problems: ['not_now', 'unavailable'],
      handle: (call) =>
        pass(call, ask, 'leader', () => ({ what: 'step_down', leader: leaderToReplace(parts) })),
    },
  ]
}

/**
 * The node that leads.
 * @throws HttpProblem `unavailable` where it is not known, `not_now` where no other node could lead
 */
function leaderToReplace({ nodes, leaderId }: LeaderOrderParts): string {
  const leader = leaderId()
  if (leader === null) throw retryLater('unavailable', 'this node does not know who leads')
  const others = nodes
    .list()
    .filter(({ id, state, roles }) => id !== leader && state === 'up' && roles.includes('poller'))
  if (others.length > 0) return leader
  throw new HttpProblem(
    'not_now',
    'no other node with the role poller is up: this one would lead again at once',
  )
}

/** @throws HttpProblem `forbidden` for a token of another tenant, `not_found` where the part of the path has another form */
function requireSegment(
  target: Pick<Call, 'segment' | 'caller'>,
  name: string,
  fits: (text: string) => boolean,
  detail: string,
): void {
  requireOperator(target)
  if (!fits(target.segment(name))) throw new HttpProblem('not_found', detail)
}

/**
 * The error; a 404 in the place of what is wrong with query or body, where there is no such target as far as this node knows.
 * Whether a good order has one is decided by the leader.
 */
function missingFirst(
  error: unknown,
  target: string,
  known: readonly string[] | null,
  detail: string,
): unknown {
  const isJudging = error instanceof HttpProblem && JUDGING.includes(error.status)
  return isJudging && known?.includes(target) === false ? new HttpProblem('not_found', detail) : error
}

/** Passes the order to the leader, whose reply is the answer and says what has changed. */
async function pass(call: Call, ask: AskLeader, target: string, order: () => LeaderOrder): Promise<void> {
  const { query, caller, response, change } = call
  query.check()
  const text = await change(caller, { target, tenant: null }, async (note) => {
    const { status, text: answered, refusal, retryAfterMs, change: made } = await ask(orderText(order()))
    note({ ...made })
    if (status === 200) return answered
    const { message, hint } = refusal ?? { message: 'the leader runs another version', hint: null }
    const detail = hint === null ? message : `${message}. ${hint}`
    if (status === 404) throw new HttpProblem('not_found', detail)
    if (status !== 409) throw retryLater('unavailable', detail)
    const seconds = Math.max(1, Math.ceil((retryAfterMs ?? 0) / 1000))
    throw new HttpProblem('not_now', detail, {
      ...(retryAfterMs !== null && { headers: { 'Retry-After': seconds.toString() } }),
    })
  })
  sendJson(response, 200, Buffer.from(text))
}
