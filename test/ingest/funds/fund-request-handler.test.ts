/** Tests the leader's handler of fund requests in virtual time: polls first, share of the quota, queue. */
import { expect, onTestFinished, test } from 'vitest'
import { HOUR_MS } from '../../../src/core/durations.ts'
import { bucketOf } from '../../../src/governor/quota/time-buckets.ts'
import { createTokenBucket } from '../../../src/governor/quota/token-bucket.ts'
import { FundRequestHandler } from '../../../src/ingest/funds/fund-request-handler.ts'
import { type IngestState, initialState } from '../../../src/ingest/machine/state.ts'
import type { Poller } from '../../../src/ingest/poller/poller.ts'
import type { FundOutcome } from '../../../src/upstream/fund-client.ts'
import { fundTarget } from '../../../src/upstream/fund-target.ts'
import { decodeReply } from '../../../src/upstream/leader-reply.ts'
import { until } from '../../support/http/api-server.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'
import { createMemoryLog } from '../../support/memory-log.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

const plan = {
  ...{ name: 'advanced' as const, quotaReset: 'rolling' as const },
  ...{ ratePerSecond: 15, burst: 30, weeklyQuota: 3_500, pageSize: 100 },
}

/** A handler beside a poller of this test, which polls every second. */
function openHandler(
  options: { weeklyUnits?: number; outcome?: Partial<FundOutcome>; name?: 'advanced' | 'lite' } = {},
) {
  const clock = createManualClock()
  const log = createMemoryLog()
  const stop = new AbortController()
  const bucket = createTokenBucket(plan)
  const spellMs = bucketOf(clock.now())
  const sent: { target: string; besidePoll: boolean }[] = []
  let state: IngestState = {
    ...initialState(),
    ...{ name: 'polling', upstream: 'ok', lastGoodPollMs: clock.now(), nextPollMs: clock.now() + 1000 },
  }
  const poller: Pick<Poller, 'state' | 'leaderSinceMs' | 'proxy'> & { leaderSinceMs: number | null } = {
    get state() {
      return state
    },
    leaderSinceMs: clock.now(),
    async proxy(send) {
      const permit = { spend: async () => undefined, throttle: async () => void bucket.take(clock.now()) }
      await permit.throttle()
      const outcome = await send({ permit, signal: stop.signal })
      const spent = (state.ledger.get(spellMs)?.gateway ?? 0) + 1
      state = { ...state, ledger: new Map([[spellMs, { gateway: spent }]]) }
      return outcome
    },
  }
  const handler = new FundRequestHandler({
    poller,
    client: {
      async get(request) {
        const target = fundTarget(request)
        sent.push({ target, besidePoll: state.request !== null })
        const timing = { startedMs: clock.now(), endedMs: clock.now(), serverMs: null, sent: true }
        return { ...timing, kind: 'ok', value: `{"data":"${target}"}`, ...options.outcome } as FundOutcome
      },
    },
    bucket,
    plan: { ...plan, name: options.name ?? 'advanced' },
    weeklyUnits: options.weeklyUnits ?? 500,
    clock,
    logger: keepingLogger().logger,
  })
  const running = log.requests.serve(
    (request, asked) => handler.answer(request, asked, stop.signal),
    stop.signal,
  )
  onTestFinished(async () => {
    stop.abort()
    await running
    await log.close()
  })
  const ask = async (target: string, signal = stop.signal) =>
    decodeReply(await log.requests.send(target, signal))
  return {
    ...{ clock, bucket, poller, sent, ask },
    change(part: Partial<IngestState>) {
      state = { ...state, ...part }
    },
    state: () => state,
    /** Advances time in small steps until it holds. */
    async pass(holds: () => boolean) {
      await until(() => {
        clock.advance(5)
        return holds()
      })
    },
  }
}

test('a hundred fund requests never delay a poll, and are sent one at a time', async () => {
  const world = openHandler()
  const { clock, bucket, sent, ask } = world
  const replies = Array.from({ length: 100 }, (_, index) => ask(`/nav/A${index}`))
  const pollsMs: number[] = []
  let answerAtMs = Number.POSITIVE_INFINITY
  await world.pass(() => {
    const nowMs = clock.now()
    const { nextPollMs, request } = world.state()
    if (request === null && nowMs >= nextPollMs) {
      // A poll and a fill of four pages behind it.
      for (let page = 0; page < 5; page++) pollsMs.push(bucket.take(nowMs) - nowMs)
      answerAtMs = nowMs + 200
      world.change({
        request: { purpose: 'poll', query: { pageSize: 100 }, startedMs: 0 },
        nextPollMs: nowMs + 1000,
      })
    } else if (request !== null && nowMs >= answerAtMs) world.change({ request: null })
    return sent.length === 100
  })
  expect(new Set(pollsMs)).toEqual(new Set([0]))
  expect(pollsMs.length).toBeGreaterThan(20)
  expect((await Promise.all(replies)).every((reply) => reply?.status === 200)).toBe(true)
  expect(sent.filter(({ besidePoll }) => besidePoll)).toEqual([])
})

test('equal requests from all nodes become one upstream request; its response, even a 404, is cached for a minute', async () => {
  const world = openHandler({ outcome: { kind: 'not_found', message: 'nothing', hint: null } })
  const replies = Array.from({ length: 5 }, () => world.ask('/nav/A'))
  await world.pass(() => world.sent.length === 1)
  for (const reply of await Promise.all(replies)) {
    expect(reply).toMatchObject({ status: 404, refusal: { message: 'nothing' }, validMs: expect.any(Number) })
  }
  world.clock.advance(30_000)
  expect((await world.ask('/nav/A'))?.validMs).toBeLessThanOrEqual(30_000)
  expect(world.sent).toHaveLength(1)
})

test('an exhausted share returns 429 with the time when units come back, and sends nothing', async () => {
  const world = openHandler({ weeklyUnits: 2 })
  for (const target of ['/nav/A', '/nav/B']) {
    const asked = world.ask(target)
    const before = world.sent.length
    await world.pass(() => world.sent.length > before)
    await asked
  }
  const refused = await world.ask('/nav/C')
  expect(refused).toMatchObject({
    status: 429,
    refusal: { message: expect.stringContaining('2 of 2 units') },
  })
  expect(refused?.retryAfterMs).toBeGreaterThan(6 * 24 * HOUR_MS)
  expect(refused?.refusal?.hint).toContain('BRIDGE_GATEWAY_WEEKLY_UNITS')
  expect(world.sent).toHaveLength(2)
})

test('a request that upstream would reject anyway costs no unit: page too large, plan without funds, blocked key', async () => {
  const world = openHandler()
  expect(await world.ask('/nav?pageSize=200')).toMatchObject({ status: 400 })
  expect(await world.ask('/disclosures/sources/rns/items')).toMatchObject({ status: 400 })
  world.change({ upstream: 'quota', blockedUntilMs: world.clock.now() + 60_000 })
  expect(await world.ask('/nav')).toMatchObject({ status: 503, retryAfterMs: 60_000 })
  world.change({ upstream: 'unauthorised' })
  expect(await world.ask('/nav')).toMatchObject({ status: 502 })
  world.change({ upstream: 'throttled' })
  expect(await world.ask('/nav')).toMatchObject({ status: 503, retryAfterMs: 60_000 })
  const lite = openHandler({ name: 'lite' })
  expect(await lite.ask('/nav')).toMatchObject({ status: 503 })
  expect([...world.sent, ...lite.sent]).toEqual([])
})

test('only the leader responds and sends, and a request without a waiting client is not sent', async () => {
  const world = openHandler()
  world.poller.leaderSinceMs = null
  const gone = new AbortController()
  const left = world.ask('/nav/A', gone.signal).catch(() => 'left')
  const stayed = world.ask('/nav/B')
  world.clock.advance(500)
  await new Promise((resolve) => setImmediate(resolve))
  gone.abort()
  expect(await left).toBe('left')
  world.poller.leaderSinceMs = world.clock.now()
  world.change({ nextPollMs: world.clock.now() + 100_000 })
  await world.pass(() => world.sent.length === 1)
  expect(await stayed).toMatchObject({ status: 200 })
  expect(world.sent.map(({ target }) => target)).toEqual(['/nav/B'])
})

test('the message and hint of upstream are forwarded; without them the bridge writes its own', async () => {
  const words = { message: 'no such instrument', hint: 'Use an ISIN.' }
  const none = { message: '', hint: null }
  for (const [outcome, status, refusal] of [
    [{ kind: 'not_found', ...words }, 404, words],
    [{ kind: 'refused', status: 400, ...words }, 400, words],
    [{ kind: 'not_found', ...none }, 404, { message: 'upstream has no such resource', hint: null }],
    [{ kind: 'refused', status: 400, ...none }, 400, { message: 'upstream rejects the request', hint: null }],
    [
      { kind: 'refused', status: 410, ...words },
      502,
      { message: 'upstream answered with status 410', hint: 'no such instrument – Use an ISIN.' },
    ],
  ] as const) {
    const world = openHandler({ outcome })
    const asked = world.ask('/nav/A')
    await world.pass(() => world.sent.length === 1)
    expect(await asked).toMatchObject({ status, refusal })
  }
})

test('each upstream failure maps to its own status and is not retried at once', async () => {
  const outcomes: [Partial<FundOutcome>, number][] = [
    [{ kind: 'server_error', status: 500 }, 502],
    [{ kind: 'timeout', phase: 'headers' }, 504],
    [{ kind: 'network', message: 'ECONNRESET' }, 502],
    [{ kind: 'invalid', reason: 'not JSON' }, 502],
    [{ kind: 'unauthorised', status: 403 }, 502],
    [{ kind: 'refused', status: 400, message: 'no such parameter', hint: null }, 400],
    [{ kind: 'refused', status: 410, message: 'gone', hint: null }, 502],
    [{ kind: 'too_many', retryAfter: null }, 503],
  ]
  for (const [outcome, status] of outcomes) {
    const world = openHandler({ outcome })
    const asked = world.ask('/nav')
    await world.pass(() => world.sent.length === 1)
    const reply = await asked
    expect([outcome.kind, reply?.status]).toEqual([outcome.kind, status])
    if (outcome.kind === 'too_many') continue
    expect(await world.ask('/nav')).toMatchObject({ status })
    expect(world.sent).toHaveLength(1)
  }
})
