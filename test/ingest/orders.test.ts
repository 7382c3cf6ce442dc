/** Tests the orders of an operator, on the poller's state machine and as the leader answers them. */
import { expect, test } from 'vitest'
import { emptyDay } from '../../src/core/calendar/day-record.ts'
import { plans } from '../../src/core/plans.ts'
import { reconciliationBudget } from '../../src/governor/schedule/daily-reconciliation.ts'
import { type LeaderOrder, orderText } from '../../src/http/schemas/leader-order.ts'
import { orderRefusal } from '../../src/ingest/machine/orders.ts'
import { type IngestState, initialState, type Order } from '../../src/ingest/machine/state.ts'
import { step } from '../../src/ingest/machine/step.ts'
import { answerOrder, type OrderParts } from '../../src/ingest/order-request-handler.ts'
import type { OpenGap } from '../../src/ingest/writer-state/head.ts'
import { decodeReply } from '../../src/upstream/leader-reply.ts'
import { createManualClock } from '../support/time/manual-clock.ts'
import { ingestConfig } from '../support/worlds/ingest-config.ts'
import { World } from '../support/worlds/ingest-world.ts'
import { burst } from '../support/worlds/world-upstream.ts'

const NOW_MS = Date.parse('2026-01-06T12:00:00Z')
const LATER_MS = NOW_MS + 900_000
const POLL: Order = { what: 'poll' }
const GAP: Order = { what: 'gap', id: 'mk1' }
const DAY: Order = { what: 'day', date: '2026-01-05' }
const ORDERS = [
  ['poll', POLL, 'poll'],
  ['gap', GAP, 'fill'],
  ['day', DAY, 'sweep'],
] as const
const SPENT = new Map([[NOW_MS - 60_000, { poll: 1_000_000_000 }]])

const config = { ...ingestConfig(), dayWalks: reconciliationBudget(plans.advanced) }

const gap: OpenGap = {
  ...{ id: 'mk1', from: '2026-01-06T07:00:00Z', to: '2026-01-06T07:01:00Z', cause: 'overflow' as const },
  ...{ openedAt: '2026-01-06T07:01:00Z', found: 3, closedAt: null },
  ...{ attempts: 9, retryAtMs: NOW_MS + 86_400_000 },
}

/** The poller leads, has polled, and has a gap and a reconciled day; nothing is due. */
function leading(before: Partial<IngestState> = {}, walkMs = NOW_MS - 3_600_000): IngestState {
  const walk = { state: 'whole' as const, atMs: walkMs, readMs: walkMs, attempts: 0, pageCursor: null }
  const state = initialState()
  return {
    ...state,
    ...{ name: 'polling', lastSeenMs: NOW_MS, nextPollMs: LATER_MS, hasDate: true, upstream: 'ok' },
    lastGoodPollMs: NOW_MS - 1000,
    head: {
      ...state.head,
      ...{
        epoch: 'epoch001',
        cursor: 'c',
        countedFromMs: Date.parse('2026-01-05T00:00:00Z'),
        openGaps: [gap],
      },
      ...{ lastCleanPollMs: NOW_MS - 1000, days: [{ ...emptyDay('2026-01-05'), walk }] },
    },
    ...before,
  }
}

/** What is sent after the order, the commits included, and why it is refused. */
function after(order: Order, before: Partial<IngestState> = {}) {
  const given = leading(before)
  let { state, actions } = step(given, { type: 'ordered', order, nowMs: NOW_MS }, config)
  const sent = [...actions]
  while (state.committing) {
    const { head, ledger } = state
    ;({ state, actions } = step(
      state,
      { type: 'committed', writer: { head, ledger } as never, nowMs: NOW_MS },
      config,
    ))
    sent.push(...actions)
  }
  const requests = sent.flatMap((action) => (action.type === 'request' ? [action.purpose] : []))
  return { requests, state, sent, refusal: orderRefusal({ state: given, config, nowMs: NOW_MS }, order) }
}

test.each(ORDERS)(
  'the order %s sends a request at once, also in the wait after a refused key or a failure',
  (_name, order, purpose) => {
    for (const upstream of ['ok', 'unauthorised', 'failing'] as const) {
      const blocked = { upstream, blockedUntilMs: LATER_MS, scansBlockedUntilMs: LATER_MS }
      expect(after(order, blocked)).toMatchObject({ requests: [purpose], refusal: null })
    }
    const over = after(order, { upstream: 'throttled', blockedUntilMs: NOW_MS - 1 })
    expect(over).toMatchObject({ requests: [purpose], refusal: null })
  },
)

test.each(ORDERS)(
  'the order %s sends nothing while polling is paused, after a 429 before its wait is over, and without a unit',
  (_name, order) => {
    expect(after(order, { pausedSinceMs: 1 })).toMatchObject({ requests: [], refusal: { why: 'paused' } })
    for (const upstream of ['throttled', 'quota'] as const) {
      const refusal = { why: 'throttled', untilMs: LATER_MS }
      expect(after(order, { upstream, blockedUntilMs: LATER_MS })).toMatchObject({ requests: [], refusal })
    }
    const refusal = { why: 'quota', untilMs: expect.any(Number) }
    expect(after(order, { ledger: SPENT })).toMatchObject({ requests: [], refusal })
  },
)

test.each(ORDERS)(
  'after a refused key the order %s goes on with the cursor, and only if that is refused again a poll without one follows',
  (_name, order) => {
    const refused = { upstream: 'unauthorised', cursorRefused: true, keyRefusalsInARow: 2 } as const
    const { state, sent } = after(order, refused)
    expect(sent.filter((action) => action.type === 'request')).not.toMatchObject([{ purpose: 'probe' }])
    expect(state).toMatchObject({ cursorRefused: false, keyRefusalsInARow: 1 })
    if (order.what !== 'poll') return
    const answer = { kind: 'unauthorised', status: 401, sent: true, startedMs: NOW_MS, endedMs: NOW_MS }
    const answered = { type: 'answered', answer, spentMs: NOW_MS, ledger: state.ledger, nowMs: NOW_MS }
    expect(step(state, answered as never, config).state.cursorRefused).toBe(true)
  },
)

test('the wait after a 429 to a proxied request also holds once a page that was under way has come', () => {
  let { state } = step(
    leading(),
    { type: 'ordered', order: GAP, nowMs: NOW_MS },
    { ...config, isShared: true },
  )
  const { head, ledger } = state
  ;({ state } = step(state, { type: 'committed', writer: { head, ledger } as never, nowMs: NOW_MS }, config))
  expect(state.request?.purpose).toBe('fill')
  const timing = { startedMs: NOW_MS, endedMs: NOW_MS, serverMs: NOW_MS, sent: true }
  const common = { spentMs: NOW_MS, ledger, nowMs: NOW_MS }
  const outcome = { kind: 'too_many' as const, retryAfter: '60', ...timing }
  ;({ state } = step(state, { type: 'proxied', outcome, ...common }, config))
  const page = { fresh: [], guids: [], times: [], count: 0, keys: [], duplicates: 0, rejected: [] }
  const value = { ...page, warnings: [], nextCursor: 'p2', latestCursor: null, hasMore: undefined }
  ;({ state } = step(
    state,
    { type: 'answered', answer: { kind: 'ok', value, ...timing }, ...common },
    config,
  ))
  expect(state.blockedUntilMs).toBe(NOW_MS + 60_000)
  const refusal = { why: 'throttled', untilMs: NOW_MS + 60_000 }
  expect(orderRefusal({ state, config, nowMs: NOW_MS }, POLL)).toEqual(refusal)
})

test('a request without the cursor that is under way is judged as one', () => {
  const request = { purpose: 'probe', query: { pageSize: 100 }, startedMs: NOW_MS } as const
  const given = leading({ upstream: 'unauthorised', cursorRefused: true, request })
  const { state } = step(given, { type: 'ordered', order: POLL, nowMs: NOW_MS }, config)
  expect(state.cursorRefused).toBe(true)
})

test('a gap counts its tries anew, durably; one that is not open is unknown', () => {
  const { sent, state } = after(GAP)
  const [commit] = sent.flatMap((action) => (action.type === 'commit' ? [action.queued.commit] : []))
  expect(commit?.head?.openGaps).toEqual([{ ...gap, attempts: 0, retryAtMs: NOW_MS }])
  expect(state.scan).toMatchObject({ kind: 'gap_retry', gapId: 'mk1' })
  const unknown = { what: 'gap', id: 'mk2' } as const
  expect(after(unknown)).toMatchObject({ requests: [], refusal: { why: 'unknown' } })
})

test('a complete day is read again from its first page, and stays complete meanwhile', () => {
  const { sent, state } = after(DAY)
  const [commit] = sent.flatMap((action) => (action.type === 'commit' ? [action.queued.commit] : []))
  const walk = { state: 'whole', attempts: 0, retryMs: NOW_MS, pageCursor: null }
  expect(commit?.head?.days).toMatchObject([{ date: '2026-01-05', walk }])
  expect(state.scan).toMatchObject({ kind: 'daily_reconciliation', day: { date: '2026-01-05' } })
})

test('a day that failed is pending again', () => {
  const { head } = leading()
  const walk = { state: 'failed' as const, atMs: 1, readMs: NOW_MS - 3_600_000, attempts: 6, pageCursor: 'p' }
  const days = [{ ...emptyDay('2026-01-05'), walk }]
  const { state, requests } = after(DAY, { head: { ...head, days } })
  expect(requests).toEqual(['sweep'])
  expect(state.scan).toMatchObject({ kind: 'daily_reconciliation', pageCursor: null })
  expect(state.head.days[0]?.walk).toMatchObject({ state: 'owed', attempts: 0 })
})

test('only business days that are over can be read again, and none before the first answer or without a plan for it', () => {
  for (const date of ['2026-01-06', '2026-01-04', '2025-12-01', '2026-13-40']) {
    expect(after({ what: 'day', date })).toMatchObject({ requests: [], refusal: { why: 'unknown' } })
  }
  const refusal = { why: 'no_answer_yet', untilMs: LATER_MS }
  expect(after(DAY, { hasDate: null })).toMatchObject({ requests: [], refusal })
  const without = { ...config, dayWalks: null }
  const context = { state: leading(), config: without, nowMs: NOW_MS }
  expect(orderRefusal(context, DAY)).toEqual({ why: 'over_budget' })
})

const HOUR = 3_600_000
const MINUTE = 60_000
const TUESDAY = Date.parse('2026-01-06T00:00:00Z')

test('an order finds what was listed after the day was complete, once, and the day is complete without another try', () => {
  const items = burst('calm', TUESDAY + 8 * HOUR, 10 * HOUR, 120)
  const late = items[1]
  if (late !== undefined) late.visibleMs = TUESDAY + 20 * HOUR
  const world = new World({ ...plans.advanced, startMs: TUESDAY + 6 * HOUR, seed: 1, items })
  const walk = () => world.store.head.days.find(({ date }) => date === '2026-01-06')?.walk
  world.run(TUESDAY + 21 * HOUR)
  expect([walk()?.state, world.missing().length]).toEqual(['whole', 1])
  world.feed({ type: 'ordered', order: { what: 'day', date: '2026-01-06' }, nowMs: world.nowMs })
  world.run(TUESDAY + 21 * HOUR + MINUTE)
  expect([world.missing(), world.twice()]).toEqual([[], []])
  expect(walk()).toMatchObject({ state: 'whole', attempts: 0 })
  expect(walk()?.retryMs).toBeUndefined()
  const { length } = world.requests.filter(({ query }) => query.toMs !== undefined)
  world.run(TUESDAY + 23 * HOUR)
  expect(world.requests.filter(({ query }) => query.toMs !== undefined)).toHaveLength(length)
})

test('an order fills a gap whose next try would be a long way off', () => {
  const endMs = TUESDAY + 12 * HOUR
  const world: World = new World({
    ...{ pageSize: 50, weeklyQuota: 10_000, startMs: TUESDAY + 6 * HOUR, seed: 1 },
    items: burst('flood', TUESDAY + 7 * HOUR, 1000, 200),
    fails: ({ fromMs }) =>
      fromMs !== undefined && world.nowMs < endMs ? { kind: 'server_error', status: 500 } : undefined,
  })
  world.run(endMs + MINUTE)
  const [open, ...others] = world.openGaps
  expect((open?.retryAtMs ?? 0) - world.nowMs).toBeGreaterThan(5 * MINUTE)
  world.feed({ type: 'ordered', order: { what: 'gap', id: open?.id ?? '' }, nowMs: world.nowMs })
  world.run(endMs + 2 * MINUTE)
  expect([world.openGaps, world.missing(), world.twice()]).toEqual([others, [], []])
})

test('a process that does not lead ignores the orders', () => {
  expect(after(POLL, { name: 'standby' }).requests).toEqual([])
  const standby = { ...initialState(), lastSeenMs: NOW_MS }
  expect(step(standby, { type: 'step_down_ordered', nowMs: NOW_MS }, config).actions).toEqual([])
})

test('a leader that steps down campaigns again, and keeps a pause', () => {
  const given = leading({ pausedSinceMs: 5 })
  const { state, actions } = step(given, { type: 'step_down_ordered', nowMs: NOW_MS }, config)
  expect(actions.map(({ type }) => type)).toEqual(['report', 'abandon', 'campaign'])
  expect(state).toMatchObject({ name: 'standby', pausedSinceMs: 5 })
})

test.each(['claiming', 'catching-up'] as const)(
  'a leader whose write failed while it was to step down leaves the lead too: %s',
  (name) => {
    const given = { ...initialState(), name, lastSeenMs: NOW_MS }
    const { state, actions } = step(given, { type: 'step_down_ordered', nowMs: NOW_MS }, config)
    expect(actions).toContainEqual({ type: 'campaign', waitMs: 10_000 })
    expect(state.name).toBe('standby')
  },
)

/** The reply of a leader in that state to an order. */
async function replyTo(text: string, before: Partial<IngestState> = {}, more: Partial<OrderParts> = {}) {
  const clock = createManualClock(NOW_MS)
  let state = leading(before)
  let down = 0
  const poller: OrderParts['poller'] = {
    get state() {
      return state
    },
    leaderSinceMs: 1,
    order: (order) => {
      const refusal = orderRefusal({ state, config, nowMs: NOW_MS }, order)
      ;({ state } = step(state, { type: 'ordered', order, nowMs: NOW_MS }, config))
      return refusal
    },
    stepDown: () => {
      down += 1
    },
  }
  const parts = { poller, processId: 'host:7', config: { isShared: true }, clock, ...more }
  return { reply: decodeReply(await answerOrder(parts, text, new AbortController().signal)), down }
}

test('the leader answers when what was ordered is due, or why not and when it may be', async () => {
  const due = '2026-01-06T12:00:00.000Z'
  const ok = async (order: Order) => (await replyTo(orderText(order))).reply
  expect(await ok(POLL)).toMatchObject({ status: 200, text: `{"nextPoll":"${due}"}` })
  expect(await ok(GAP)).toMatchObject({ status: 200, text: `{"id":"mk1","due":"${due}"}` })
  expect(await ok(DAY)).toMatchObject({ status: 200, text: `{"date":"2026-01-05","due":"${due}"}` })
  expect(await ok({ what: 'gap', id: 'mk2' })).toMatchObject({ status: 404 })
  expect(await ok({ what: 'day', date: '2025-01-05' })).toMatchObject({ status: 404 })
  const paused = await replyTo(orderText(POLL), { pausedSinceMs: 1 })
  expect(paused.reply).toMatchObject({ status: 409, retryAfterMs: null })
  const throttled = await replyTo(orderText(GAP), { upstream: 'throttled', blockedUntilMs: LATER_MS })
  expect(throttled.reply).toMatchObject({
    status: 409,
    retryAfterMs: 900_000,
    refusal: { message: expect.stringContaining('2026-01-06T12:15:00.000Z') },
  })
  expect((await replyTo('order of a later version')).reply).toMatchObject({ status: 503 })
})

test('the leader says what an order has changed, as it was and as it is; of a refused one nothing', async () => {
  const due = '2026-01-06T12:00:00.000Z'
  const changeBy = async (order: LeaderOrder, before: Partial<IngestState> = {}) =>
    (await replyTo(orderText(order), before)).reply?.change
  expect(await changeBy(POLL)).toEqual({
    before: { nextPoll: '2026-01-06T12:15:00.000Z' },
    after: { nextPoll: due },
  })
  expect(await changeBy(GAP)).toEqual({
    before: { attempts: 9, due: '2026-01-07T12:00:00.000Z' },
    after: { attempts: 0, due },
  })
  expect(await changeBy(DAY)).toEqual({
    before: { walk: 'complete', due: null },
    after: { walk: 'complete', due },
  })
  const { head } = leading()
  expect(await changeBy(DAY, { head: { ...head, days: [] } })).toEqual({
    before: { walk: null, due: null },
    after: { walk: 'pending', due },
  })
  expect(await changeBy({ what: 'step_down', leader: 'host:7' })).toEqual({
    before: { leader: 'host:7' },
    after: { leader: null },
  })
  expect(await changeBy(POLL, { pausedSinceMs: 1 })).toBeUndefined()
})

test('nobody answers for a process that does not lead yet, and the wait ends with its client', async () => {
  const clock = createManualClock(NOW_MS)
  const state = { ...initialState(), name: 'claiming' as const }
  const poller = { state, leaderSinceMs: 1, order: () => null, stepDown: () => {} }
  const parts = { poller, processId: 'host:7', config: { isShared: true }, clock }
  const answer = await answerOrder(parts, orderText(POLL), AbortSignal.abort())
  expect(decodeReply(answer)?.status).toBe(503)
})

test.each([orderText(POLL), orderText(GAP), orderText({ what: 'step_down', leader: 'host:7' })])(
  'a process that is stopping answers no order, which the next leader carries out: %s',
  async (text) => {
    const clock = createManualClock(NOW_MS)
    const asked = new AbortController()
    const given: string[] = []
    const poller: OrderParts['poller'] = {
      state: leading({ name: 'releasing', committing: true }),
      leaderSinceMs: 1,
      order: ({ what }) => {
        given.push(what)
        return null
      },
      stepDown: () => void given.push('step_down'),
    }
    const answer = answerOrder(
      { poller, processId: 'host:7', config: { isShared: true }, clock },
      text,
      asked.signal,
    )
    for (let waitedMs = 0; waitedMs < 6000; waitedMs += 50) {
      clock.advance(50)
      await new Promise((resolve) => setImmediate(resolve))
    }
    asked.abort()
    expect(decodeReply(await answer)).toMatchObject({ status: 503 })
    expect(given).toEqual([])
  },
)

test('a leader does not step down once nobody waits for it', async () => {
  const clock = createManualClock(NOW_MS)
  const asked = new AbortController()
  let down = 0
  const poller: OrderParts['poller'] = {
    ...{ state: leading({ committing: true }), leaderSinceMs: 1, order: () => null },
    stepDown: () => {
      down += 1
    },
  }
  const order = orderText({ what: 'step_down', leader: 'host:7' })
  const parts = { poller, processId: 'host:7', config: { isShared: true }, clock }
  const answer = answerOrder(parts, order, asked.signal)
  clock.advance(50)
  asked.abort()
  expect(decodeReply(await answer)).toMatchObject({ status: 503 })
  expect(down).toBe(0)
})

test('the named leader steps down, no other, and none where nobody else can lead', async () => {
  const order = orderText({ what: 'step_down', leader: 'host:7' })
  expect(await replyTo(order)).toMatchObject({ reply: { status: 200, text: '{"node":"host:7"}' }, down: 1 })
  const other = orderText({ what: 'step_down', leader: 'host:8' })
  expect(await replyTo(other)).toMatchObject({ reply: { status: 409 }, down: 0 })
  // A commit in flight is finished first, for five seconds at most.
  const clock = createManualClock(NOW_MS)
  const working = replyTo(order, { committing: true }, { clock })
  let isOver = false
  void working.then(() => {
    isOver = true
  })
  for (let waitedMs = 0; waitedMs < 5000; waitedMs += 50) {
    expect(isOver).toBe(false)
    clock.advance(50)
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(await working).toMatchObject({ reply: { status: 200 }, down: 1 })
  const alone = await replyTo(order, {}, { config: { isShared: false } })
  expect(alone).toMatchObject({ reply: { status: 409 }, down: 0 })
})
