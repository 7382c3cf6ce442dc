import { describe, expect, it } from 'vitest'
import { createDayReplica, DAYS_TABLE, type DayRow } from '../../../src/archive/days.ts'
import { createCalendar } from '../../../src/core/calendar/calendar.ts'
import { emptyDay } from '../../../src/core/calendar/day-record.ts'
import { DAY_MS } from '../../../src/core/durations.ts'
import { BridgeError } from '../../../src/errors.ts'
import { type IngestState, initialState } from '../../../src/ingest/machine/state.ts'
import { DayKeeper } from '../../../src/ingest/reconciliation/day-keeper.ts'
import { yieldToEventLoop } from '../../../src/lifecycle/clock.ts'
import type { StatusMessage } from '../../../src/log/events.ts'
import type { Log } from '../../../src/log/log.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'
import { createMemoryLog } from '../../support/memory-log.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

/** A Thursday in winter, noon. */
const START_MS = Date.parse('2026-01-08T12:00:00Z')

/** A log that records its status messages and can be unavailable. */
function recordingLog() {
  const published: StatusMessage[] = []
  const broker = { away: false }
  const log: Log = {
    ...createMemoryLog(),
    publishStatus: async (value) => {
      if (broker.away) throw new BridgeError('log_unavailable', 'away')
      published.push(value)
    },
  }
  return { log, published, broker }
}

/** A keeper beside a poller whose state the test sets. */
function keeping(log: Log, clock = createManualClock(START_MS)) {
  const { logger, lines } = keepingLogger()
  const poller: { state: IngestState; leaderSinceMs: number | null } = {
    state: initialState(),
    leaderSinceMs: null,
  }
  const config = { calendar: createCalendar(), dayWalks: null }
  const stop = new AbortController()
  const run = new DayKeeper({ log, poller, config, clock, logger }).run(stop.signal)
  const be = (polled: number): void => {
    const days = [{ ...emptyDay('2026-01-08'), polled }]
    const head = { ...initialState().head, days, countedFromMs: START_MS - DAY_MS }
    poller.state = { ...initialState(), head, hasDate: true, lastGoodPollMs: START_MS }
    poller.leaderSinceMs = START_MS
  }
  /** Advances time by this much in steps. */
  const pass = async (ms: number): Promise<void> => {
    for (const endMs = clock.now() + ms; clock.now() < endMs; ) {
      clock.advance(Math.min(15_000, endMs - clock.now()))
      for (let tick = 0; tick < 8; tick++) await yieldToEventLoop()
    }
  }
  const end = async (): Promise<void> => {
    stop.abort()
    await run
  }
  return { clock, poller, lines, be, pass, end }
}

async function rowsOf(log: Log): Promise<Map<string, DayRow>> {
  return log.table<DayRow>(DAYS_TABLE).load()
}

function summaries(published: readonly StatusMessage[]) {
  return published.map(({ type, date, polled }) => [type, date, polled])
}

describe('the day report keeper', () => {
  it('writes an unfinished day at most once a minute, and nothing while it does not lead', async () => {
    const { log } = recordingLog()
    const { poller, be, pass, end } = keeping(log)
    await pass(60_000)
    expect((await rowsOf(log)).size).toBe(0)
    be(1)
    await pass(15_000)
    be(2)
    await pass(30_000)
    expect((await rowsOf(log)).get('2026-01-08')?.report.polled).toBe(1)
    await pass(30_000)
    expect((await rowsOf(log)).get('2026-01-08')?.report.polled).toBe(2)
    be(3)
    poller.leaderSinceMs = null
    await pass(120_000)
    expect((await rowsOf(log)).get('2026-01-08')?.report.polled).toBe(2)
    await end()
  })

  it('publishes each finished day once across leader changes; later changes are only stored', async () => {
    const { log, published } = recordingLog()
    const first = keeping(log)
    first.be(5)
    await first.pass(60_000)
    expect(summaries(published)).toEqual([['day', '2026-01-07', 0]])
    await first.end()
    first.clock.advance(DAY_MS)
    const second = keeping(log, first.clock)
    second.be(6)
    await second.pass(60_000)
    expect(summaries(published).slice(1)).toEqual([['day', '2026-01-08', 6]])
    expect(published[1]).toMatchObject({ filled: 0, swept: 0, rejected: 0, gapsLeft: 0, eodSeen: false })
    second.be(7)
    await second.pass(60_000)
    await second.end()
    const third = keeping(log, first.clock)
    third.be(7)
    await third.pass(60_000)
    await third.end()
    expect(published).toHaveLength(2)
    expect((await rowsOf(log)).get('2026-01-08')).toMatchObject({ isTold: true, report: { polled: 7 } })
  })

  it('retries a day report that could not be published', async () => {
    const { log, published, broker } = recordingLog()
    const { poller, lines, be, pass, end } = keeping(log)
    broker.away = true
    be(5)
    await pass(60_000)
    // A leader that lost its claim for the same outage says nothing again.
    poller.leaderSinceMs = null
    await pass(15_000)
    be(5)
    await pass(60_000)
    expect(lines.map(({ event }) => event)).toEqual(['day_report.write_failed'])
    expect((await rowsOf(log)).size).toBe(0)
    broker.away = false
    await pass(15_000)
    expect(summaries(published)).toEqual([['day', '2026-01-07', 0]])
    await end()
  })

  it('stores the days even without a status topic, and deletes them after 400 days', async () => {
    const log = createMemoryLog()
    const old = { report: { date: '2024-12-01' }, isTold: true } as DayRow
    await log.table<DayRow>(DAYS_TABLE).put('2024-12-01', old)
    await log
      .table<DayRow>(DAYS_TABLE)
      .put('2024-12-05', { ...old, report: { ...old.report, date: '2024-12-05' } })
    const { be, pass, end } = keeping(log)
    be(5)
    await pass(60_000)
    expect([...(await rowsOf(log)).keys()].sort()).toEqual(['2024-12-05', '2026-01-07', '2026-01-08'])
    await end()
  })

  it('gives every node a replica of the last days, oldest first', async () => {
    const log = createMemoryLog()
    const copy = createDayReplica(log.table(DAYS_TABLE))
    expect(copy.last(1)).toBeNull()
    const stop = new AbortController()
    const following = copy.run(stop.signal)
    const { be, pass, end } = keeping(log)
    be(5)
    await pass(60_000)
    expect(copy.last(14)?.map(({ date, polled }) => [date, polled])).toEqual([
      ['2026-01-07', 0],
      ['2026-01-08', 5],
    ])
    expect(copy.last(1)?.map(({ date }) => date)).toEqual(['2026-01-08'])
    await end()
    stop.abort()
    await following
  })
})
