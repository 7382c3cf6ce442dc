import { expect, test } from 'vitest'
import { POLLS_TABLE, type PollsRow, pollsKey } from '../../src/archive/polls.ts'
import { BridgeError } from '../../src/errors.ts'
import {
  type IngestConfig,
  type IngestState,
  initialState,
  type PageOutcome,
  type ReadPage,
} from '../../src/ingest/machine/state.ts'
import { PollKeeper } from '../../src/ingest/poll-keeper.ts'
import { createObserver } from '../../src/ingest/poller/ingest-metrics.ts'
import { yieldToEventLoop } from '../../src/lifecycle/clock.ts'
import { createMetrics } from '../../src/obs/metrics.ts'
import { until } from '../support/http/api-server.ts'
import { keepingLogger } from '../support/keeping-logger.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { createManualClock } from '../support/time/manual-clock.ts'

const START_MS = Date.parse('2026-01-06T07:00:00Z')
const DAY_MS = 86_400_000
const PAGE: ReadPage = {
  ...{ fresh: [], guids: [], times: [], count: 0, keys: [], duplicates: 0, rejected: [] },
  ...{ nextCursor: null, latestCursor: null, hasMore: false, warnings: [] },
}

/** A keeper of a process that leads, over a log that can be unavailable. */
function keeping(log = createMemoryLog()) {
  const clock = createManualClock(START_MS)
  const { logger, lines } = keepingLogger()
  const table = log.table<PollsRow>(POLLS_TABLE)
  const broker = { away: false, hangs: false, puts: 0, during: (): void => undefined }
  const guarded: typeof table = {
    ...table,
    async put(key, value) {
      if (broker.away) throw new BridgeError('log_unavailable', 'away')
      broker.puts += 1
      if (broker.hangs) await new Promise<never>(() => undefined)
      await table.put(key, value)
      broker.during()
    },
  }
  const config = { pageSize: 50, weeklyQuota: 1500, quotaReset: 'rolling' } as IngestConfig
  const keeper = new PollKeeper({ log: { table: () => guarded as never }, config, clock, logger })
  const observer = keeper.observing(createObserver(createMetrics({ version: '0' }), config))
  const stop = new AbortController()
  const running = keeper.run(stop.signal)
  const state = (changes: Partial<IngestState>): void =>
    observer.stateChanged(
      { ...initialState(), lastGoodPollMs: START_MS, skewMs: 40, ...changes },
      clock.now(),
    )
  const flying = (purpose: 'poll' | 'fill'): Partial<IngestState> => ({
    request: { purpose, query: { pageSize: 50 }, startedMs: clock.now() },
    plan: { intervalMs: 42_000.4, pollsUntilReset: 10, wantedUntilReset: 5 },
  })
  observer.leads(START_MS)
  return {
    ...{ clock, broker, lines, observer, state, flying, table },
    /** One request from its start to its end. */
    request(purpose: 'poll' | 'fill', page: Partial<ReadPage>): void {
      state(flying(purpose))
      const timing = { startedMs: clock.now() + 3, endedMs: clock.now() + 83, serverMs: null, sent: true }
      const answer: PageOutcome = { kind: 'ok', value: { ...PAGE, ...page }, ...timing }
      observer.answered(answer)
      observer.requestDone(purpose, answer.value.fresh.length > 0 ? 'new' : 'empty')
      state({})
    },
    /** Advances time by this much in steps. */
    async pass(ms: number): Promise<void> {
      await yieldToEventLoop()
      for (const endMs = clock.now() + ms; clock.now() < endMs; ) {
        clock.advance(Math.min(500, endMs - clock.now()))
        for (let tick = 0; tick < 4; tick++) await yieldToEventLoop()
      }
    },
    stop: () => stop.abort(),
    running,
    async end(): Promise<void> {
      stop.abort()
      await running
    },
  }
}

test('each request is stored within two seconds: what for, its result, new items, a full page, the planned interval', async () => {
  const keeper = keeping()
  keeper.request('poll', { fresh: [{}, {}] as never, count: 50 })
  keeper.request('fill', { count: 7 })
  await keeper.pass(2000)
  expect(await keeper.table.load()).toEqual(
    new Map([
      [
        pollsKey(START_MS, START_MS, 1),
        {
          aheadMs: 40,
          requests: [
            [START_MS + 3, 'poll', 'new', 2, 1, 42_000, 80],
            [START_MS + 3, 'fill', 'empty', 0, 0, null, 80],
          ],
          minutes: [],
        },
      ],
    ]),
  )
  await keeper.end()
})

test('a request without a page has neither items nor a page, and one that was given up no duration', async () => {
  const keeper = keeping()
  keeper.state(keeper.flying('poll'))
  const timing = { startedMs: START_MS, endedMs: START_MS + 9, serverMs: null, sent: true }
  keeper.observer.answered({ kind: 'server_error', status: 502, ...timing })
  keeper.observer.requestDone('poll', 'server_error')
  keeper.state({})
  keeper.state(keeper.flying('fill'))
  // A late answer of a page that is given up at the same moment.
  keeper.observer.answered({ kind: 'ok', value: { ...PAGE, count: 9 }, ...timing })
  keeper.state({})
  keeper.state(keeper.flying('fill'))
  keeper.observer.requestDone('fill', 'timeout')
  keeper.observer.requestDone('gateway', 'new')
  await keeper.end()
  const [row] = [...(await keeper.table.load()).values()]
  expect(row?.requests).toEqual([
    [START_MS, 'poll', 'server_error', null, null, 42_000, 9],
    [START_MS, 'fill', 'timeout', null, null, null, null],
  ])
})

test('frequent polls are written at most once in ten seconds, in a row for each five minutes', async () => {
  const keeper = keeping()
  for (let second = 0; second < 600; second++) {
    keeper.request('poll', {})
    await keeper.pass(1000)
  }
  expect(keeper.broker.puts).toBeLessThanOrEqual(62)
  await keeper.end()
  const rows = [...(await keeper.table.load()).values()]
  const counts = rows.map(({ requests, minutes }) => [
    requests.length,
    minutes.map(({ results }) => results.empty),
  ])
  expect(counts).toEqual([
    [0, [60, 60, 60, 60, 60]],
    [0, [60, 60, 60, 60, 60]],
  ])
})

test('a request that ends during a write is in the next one', async () => {
  const keeper = keeping()
  keeper.broker.during = () => {
    keeper.broker.during = () => undefined
    keeper.request('fill', {})
  }
  keeper.request('poll', {})
  await keeper.pass(13_000)
  const [row] = [...(await keeper.table.load()).values()]
  expect(row?.requests.map(([, purpose]) => purpose)).toEqual(['poll', 'fill'])
  await keeper.end()
})

test('a clock that is set back loses no request of the time that comes again', async () => {
  const keeper = keeping()
  for (const setTo of [START_MS, START_MS + 300_000, START_MS]) {
    keeper.clock.set(setTo)
    keeper.request('poll', {})
    await keeper.pass(12_000)
  }
  const requests = [...(await keeper.table.load()).values()].flatMap((row) =>
    row.requests.map(([atMs]) => atMs),
  )
  expect(requests.sort()).toEqual([START_MS + 3, START_MS + 3, START_MS + 300_003])
  await keeper.end()
})

test('while the log is unavailable nothing is lost, and it is said once', async () => {
  const keeper = keeping()
  keeper.broker.away = true
  keeper.request('poll', {})
  await keeper.pass(300_000)
  keeper.request('poll', {})
  await keeper.pass(20_000)
  keeper.broker.away = false
  await keeper.pass(12_000)
  expect([...(await keeper.table.load()).values()].map(({ requests }) => requests.length)).toEqual([1, 1])
  const said = keeper.lines.map(({ event }) => event)
  expect(said).toEqual(['polls.write_failed', 'polls.write_recovered'])
  await keeper.end()
})

test('a stop waits for the last write for a second only', async () => {
  const world = keeping()
  world.broker.hangs = true
  world.request('poll', {})
  world.stop()
  await until(() => world.broker.puts === 1)
  let isOver = false
  const running = world.running.then(() => {
    isOver = true
  })
  await world.pass(900)
  expect(isOver).toBe(false)
  await world.pass(100)
  await running
})

test('rows older than eight days are deleted, also those of earlier leaders; keys of a later version stay', async () => {
  const log = createMemoryLog()
  const table = log.table<PollsRow>(POLLS_TABLE)
  const old: PollsRow = { aheadMs: 0, requests: [], minutes: [] }
  for (let hour = 1; hour <= 30; hour++)
    await table.put(pollsKey(START_MS - 8 * DAY_MS - hour * 3_600_000, 1, 1), old)
  const kept = [pollsKey(START_MS - 8 * DAY_MS + 300_000, 1, 1), 'later/version']
  for (const key of kept) await table.put(key, old)
  const keeper = keeping(log)
  for (let second = 0; second < 30; second += 10) {
    keeper.request('poll', {})
    await keeper.pass(10_000)
  }
  await keeper.end()
  expect([...(await table.load()).keys()].sort()).toEqual([...kept, pollsKey(START_MS, START_MS, 1)].sort())
})
