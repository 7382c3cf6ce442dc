import { expect, onTestFinished, test } from 'vitest'
import { createExchangeReplica, EXCHANGES_TABLE } from '../../../src/archive/exchanges.ts'
import { createTokenBucket } from '../../../src/governor/quota/token-bucket.ts'
import { createReferenceKeeper } from '../../../src/ingest/exchanges/reference-keeper.ts'
import { type IngestState, initialState } from '../../../src/ingest/machine/state.ts'
import { createReferenceClient, type ReferenceClient } from '../../../src/upstream/reference-client.ts'
import { createTransport } from '../../../src/upstream/transport.ts'
import { openSandbox, UNLIMITED } from '../../sandbox/sandbox-client.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'
import { createMemoryLog } from '../../support/memory-log.ts'
import { createManualClock, type ManualClock } from '../../support/time/manual-clock.ts'
import { createReferenceUpstream } from './reference-upstream.ts'

const DAY_MS = 86_400_000

/** A keeper over a log in memory and a poller that polls every `pollMs`, as far as a keeper sees one. */
function keeperOf(
  clock: ManualClock,
  client: ReferenceClient,
  plan = { ratePerSecond: 1, burst: 2 },
  pollMs = 5_000,
) {
  const log = createMemoryLog()
  const { logger, lines } = keepingLogger()
  const bucket = createTokenBucket(plan)
  const poller: { state: IngestState; leaderSinceMs: number | null } = {
    state: {
      ...initialState(),
      name: 'polling',
      lastGoodPollMs: clock.now(),
      nextPollMs: clock.now() + pollMs,
    },
    leaderSinceMs: clock.now(),
  }
  /** How long each poll waited for the throttle. */
  const pollWaitsMs: number[] = []
  const pollLoop = (): void => {
    const nowMs = clock.now()
    pollWaitsMs.push(bucket.take(nowMs) - nowMs)
    poller.state = { ...poller.state, nextPollMs: nowMs + pollMs }
    clock.after(pollMs, pollLoop)
  }
  clock.after(pollMs, pollLoop)
  const keeper = createReferenceKeeper({
    ...{ client, poller, bucket, ratePerSecond: plan.ratePerSecond, log, clock, logger },
    ...{ chance: () => 0.5, pageSize: 20 },
  })
  const stop = new AbortController()
  const running = keeper.run(stop.signal)
  onTestFinished(async () => {
    stop.abort()
    await running
  })
  const replica = createExchangeReplica(log.table(EXCHANGES_TABLE))
  void replica.run(stop.signal)
  /** Advances time in steps until the condition holds; the sockets are served in each step. */
  const live = async (holds: () => boolean, stepMs = 50): Promise<void> => {
    while (!holds()) {
      clock.advance(stepMs)
      for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
    }
  }
  const liveFor = (ms: number, stepMs = 50): Promise<void> => {
    const endMs = clock.now() + ms
    return live(() => clock.now() >= endMs, stepMs)
  }
  const scans = () => lines.filter(({ event }) => event === 'exchange_references.read')
  return { poller, pollWaitsMs, replica, live, liveFor, scans, log }
}

test('a scan reads the sandbox completely, stores references as sent, costs no unit, and logs one line', async () => {
  const { sandbox, get, clock } = await openSandbox({ weeklyQuota: 1, ratePerSecond: 1, burst: 1 })
  const transport = createTransport({ url: sandbox.url, key: sandbox.key, timeoutMs: 3_600_000, clock })
  onTestFinished(() => transport.close())
  const { replica, live, scans } = keeperOf(clock, createReferenceClient(transport))
  await live(() => scans().length === 1)
  expect(scans()).toMatchObject([
    { level: 'info', fields: { result: 'complete', requests: 49, count: 46, changed: 92, unread: 0 } },
  ])
  const list = await get('/references/exchanges?pageSize=200')
  const london = await get('/references/exchanges/XLON')
  expect(replica.exchanges()?.map(({ listed }) => JSON.parse(listed))).toEqual(list.body.data)
  expect(JSON.parse(replica.exchange('XLON')?.detail ?? '')).toEqual(london.body.data)
  expect(sandbox.usage()).toMatchObject({ units: 0, throttled: 0, violations: 0, unauthorised: 0 })
})

test('reference requests are at least 250 ms apart and never make a poll wait for the throttle', async () => {
  for (const plan of [{ ratePerSecond: 1, burst: 2 }, { ratePerSecond: 5, burst: 10 }, UNLIMITED]) {
    const clock = createManualClock()
    const upstream = createReferenceUpstream(
      clock,
      Array.from({ length: 30 }, (_, index) => `X${index}`),
    )
    const { pollWaitsMs, live, scans } = keeperOf(clock, upstream, plan, 3_000)
    await live(() => scans().length === 1)
    const times = upstream.requests.map(({ atMs }) => atMs)
    expect(times).toHaveLength(32)
    times.slice(1).forEach((atMs, index) => {
      expect(atMs - (times[index] ?? 0)).toBeGreaterThanOrEqual(250)
    })
    expect(pollWaitsMs.length).toBeGreaterThan(2)
    expect(Math.max(...pollWaitsMs)).toBe(0)
  }
})

test('no reference is requested before the first good poll, during a fill, or while upstream fails', async () => {
  const clock = createManualClock()
  const upstream = createReferenceUpstream(clock, ['XLON', 'XNYS'])
  const { poller, live, liveFor, scans } = keeperOf(clock, upstream)
  const be = (change: Partial<IngestState>): void => {
    poller.state = { ...poller.state, ...change }
  }
  be({ lastGoodPollMs: null })
  await liveFor(20_000)
  be({ lastGoodPollMs: clock.now(), name: 'filling' })
  await liveFor(20_000)
  be({ name: 'polling', request: { purpose: 'poll', query: { pageSize: 1 } } })
  await liveFor(20_000)
  be({ request: null, upstream: 'failing', blockedUntilMs: clock.now() + 20_000 })
  await liveFor(19_000)
  expect(upstream.requests).toEqual([])
  await live(() => scans().length === 1)
  expect(upstream.requests).toHaveLength(3)
})

test('a used-up quota or a rejected key does not stop the scan, because references are public', async () => {
  for (const health of ['quota', 'unauthorised'] as const) {
    const clock = createManualClock()
    const upstream = createReferenceUpstream(clock, ['XLON'])
    const { poller, live, scans } = keeperOf(clock, upstream)
    const blockedUntilMs = clock.now() + DAY_MS
    poller.state = { ...poller.state, upstream: health, blockedUntilMs, nextPollMs: clock.now() }
    await live(() => scans().length === 1)
    expect(scans()[0]?.fields.result).toBe('complete')
  }
})

test('a process that froze during a scan detects its lost leadership before it sends another request', async () => {
  const clock = createManualClock()
  const upstream = createReferenceUpstream(clock, ['XAMS', 'XLON', 'XNYS'])
  const { poller, live, liveFor } = keeperOf(clock, upstream, { ratePerSecond: 1, burst: 2 }, DAY_MS)
  await live(() => upstream.requests.length === 2)
  clock.set(clock.now() + 10_000)
  clock.after(51, () => {
    poller.leaderSinceMs = null
  })
  await liveFor(5_000)
  expect(upstream.requests).toHaveLength(2)
})

test('only the leader scans: it stops when it no longer leads, and the next leader starts a new scan', async () => {
  const clock = createManualClock()
  const upstream = createReferenceUpstream(clock, ['XAMS', 'XLON', 'XNYS'])
  const { poller, live, liveFor, scans } = keeperOf(clock, upstream)
  poller.leaderSinceMs = null
  await liveFor(30_000)
  expect(upstream.requests).toEqual([])
  poller.leaderSinceMs = clock.now()
  await live(() => upstream.requests.length === 2)
  poller.leaderSinceMs = null
  await live(() => scans().length === 1)
  expect(scans()[0]).toMatchObject({ level: 'info', fields: { result: 'stopped', requests: 2 } })
  await liveFor(30_000)
  expect(upstream.requests).toHaveLength(2)
  poller.leaderSinceMs = clock.now()
  await live(() => scans().length === 2)
  expect(scans()[1]?.fields.result).toBe('complete')
})

test('references are scanned once a day, even when another leader made the last scan', async () => {
  const clock = createManualClock()
  const upstream = createReferenceUpstream(clock, ['XLON'])
  const { poller, live, liveFor, scans } = keeperOf(clock, upstream)
  await live(() => scans().length === 1)
  const doneMs = clock.now()
  await liveFor(DAY_MS / 2, 60_000)
  poller.leaderSinceMs = clock.now()
  await liveFor(DAY_MS / 2 - 120_000, 60_000)
  expect(scans()).toHaveLength(1)
  await live(() => scans().length === 2, 1_000)
  expect(clock.now() - doneMs).toBeGreaterThanOrEqual(DAY_MS)
  expect(clock.now() - doneMs).toBeLessThan(DAY_MS + 60_000)
})

test('a failed scan is logged as a warning and retried after one, two, four minutes, up to an hour', async () => {
  const clock = createManualClock()
  const upstream = createReferenceUpstream(clock, ['XLON'])
  upstream.failing.set('list', { kind: 'refused', status: 400, message: '', hint: null })
  const { live, scans } = keeperOf(clock, upstream)
  await live(() => scans().length === 8, 1_000)
  const minutes = scans().map(({ fields }) => Number(fields.waitMs) / 60_000)
  expect(minutes).toEqual([1, 2, 4, 8, 16, 32, 60, 60])
  expect(scans()[0]).toMatchObject({ level: 'warn', fields: { result: 'failed', reason: 'status 400' } })
})
