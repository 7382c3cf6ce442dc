import { describe, expect, it } from 'vitest'
import { createCalendar } from '../../src/core/calendar/calendar.ts'
import { createAnnouncer } from '../../src/ingest/heartbeat.ts'
import { type IngestConfig, type IngestState, initialState } from '../../src/ingest/machine/state.ts'
import { createObserver } from '../../src/ingest/poller/ingest-metrics.ts'
import { yieldTurn } from '../../src/lifecycle/clock.ts'
import type { Announcement } from '../../src/log/log.ts'
import { createMetrics } from '../../src/obs/metrics.ts'
import { sampleGap } from '../log/samples.ts'
import { keepingLogger } from '../support/keeping-logger.ts'
import { createManualClock } from '../support/time/manual-clock.ts'

/** A Monday. */
const START_MS = Date.UTC(2026, 5, 1, 6, 50)
const config = {
  weeklyQuota: 350,
  quotaReset: 'rolling',
} as unknown as IngestConfig

function announcing() {
  const clock = createManualClock(START_MS)
  const said: Announcement[] = []
  const { logger, lines } = keepingLogger()
  const broker = { away: false }
  const announcer = createAnnouncer({
    announce: async (value) => {
      if (broker.away) throw new Error('away')
      said.push(value)
    },
    calendar: createCalendar(),
    config,
    clock,
    logger,
  })
  const observer = announcer.watching(createObserver(createMetrics({ version: 'test' }), config))
  const stop = new AbortController()
  const run = announcer.run(stop.signal)
  const be = async (changes: Partial<IngestState>): Promise<void> => {
    const head = { ...initialState().head, epoch: 'epoch001', sequence: 7, ...changes.head }
    observer.stateChanged({ ...initialState(), name: 'polling', ...changes, head }, clock.now())
    await yieldTurn()
  }
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms)
    await yieldTurn()
  }
  return { clock, said, lines, broker, observer, be, pass, stop, run }
}

describe('the status', () => {
  it('is told every 15 s while this process leads, and at no other time', async () => {
    const { said, observer, be, pass, stop, run } = announcing()
    await be({})
    await pass(60_000)
    expect(said).toEqual([])
    observer.leads(true)
    for (let time = 0; time < 3; time++) await pass(15_000)
    expect(said).toHaveLength(3)
    observer.leads(false)
    for (let time = 0; time < 3; time++) await pass(15_000)
    expect(said).toHaveLength(3)
    stop.abort()
    await run
  })

  it('says where the log is, when upstream last answered, the phase, open gaps and the quota', async () => {
    const { said, observer, be, pass } = announcing()
    observer.leads(true)
    await be({
      head: { ...initialState().head, epoch: 'epoch001', sequence: 7, openGaps: [sampleGap('g')] },
      lastGoodPollMs: START_MS,
      nextPollMs: START_MS + 90_000,
      ledger: new Map([[START_MS, { poll: 50 }]]),
    })
    expect(said).toEqual([
      {
        type: 'heartbeat',
        epoch: 'epoch001',
        sequence: 7,
        lastGoodPoll: '2026-06-01T06:50:00.000Z',
        nextPoll: '2026-06-01T06:51:30.000Z',
        phase: 'open',
        openGaps: 1,
        quotaRemaining: 300,
      },
    ])
    await pass(15_000)
    expect(said).toHaveLength(2)
  })

  it('follows each good poll at once', async () => {
    const { clock, said, observer, be, pass } = announcing()
    observer.leads(true)
    await be({ lastGoodPollMs: START_MS })
    for (let poll = 1; poll <= 3; poll++) {
      await pass(1000)
      await be({ lastGoodPollMs: clock.now() })
      await be({ lastGoodPollMs: clock.now() })
      expect(said).toHaveLength(poll + 1)
    }
  })

  it('never stands in the way when it cannot be told, and says so once', async () => {
    const { said, lines, broker, observer, be, pass } = announcing()
    observer.leads(true)
    broker.away = true
    await be({ lastGoodPollMs: START_MS })
    await pass(15_000)
    await pass(15_000)
    expect(lines.map(({ event }) => event)).toEqual(['status.away'])
    broker.away = false
    await pass(15_000)
    expect(said).toHaveLength(1)
    expect(lines.map(({ event }) => event)).toEqual(['status.away', 'status.back'])
  })
})
