import { describe, expect, it } from 'vitest'
import { createCalendar } from '../../src/core/calendar/calendar.ts'
import { DAY_MS } from '../../src/core/durations.ts'
import { reportIn } from '../../src/http/schemas/leader-report-schema.ts'
import { createHeartbeat } from '../../src/ingest/heartbeat.ts'
import { gapOf } from '../../src/ingest/machine/publish.ts'
import { type IngestConfig, type IngestState, initialState } from '../../src/ingest/machine/state.ts'
import { createObserver } from '../../src/ingest/poller/ingest-metrics.ts'
import { yieldToEventLoop } from '../../src/lifecycle/clock.ts'
import type { StatusMessage } from '../../src/log/events.ts'
import { createMetrics } from '../../src/obs/metrics.ts'
import { sampleGap } from '../log/samples.ts'
import { keepingLogger } from '../support/keeping-logger.ts'
import { createManualClock } from '../support/time/manual-clock.ts'

/** A Monday. */
const START_MS = Date.UTC(2026, 5, 1, 6, 50)
/** From there to a Sunday, further than clocks of one market disagree: those of a sandbox do. */
const SUNDAY_MS = 62 * DAY_MS
const config = {
  weeklyQuota: 350,
  quotaReset: 'rolling',
} as unknown as IngestConfig

function withHeartbeat() {
  const clock = createManualClock(START_MS)
  const published: StatusMessage[] = []
  const { logger, lines } = keepingLogger()
  const broker = { isDown: false }
  const heartbeat = createHeartbeat({
    publish: async (value) => {
      if (broker.isDown) throw new Error('down')
      published.push(value)
    },
    calendar: createCalendar(),
    processId: 'host:7',
    completeness: '+day',
    config,
    clock,
    logger,
  })
  const observer = heartbeat.observing(createObserver(createMetrics({ version: 'test' }), config))
  const stop = new AbortController()
  const run = heartbeat.run(stop.signal)
  const be = async (changes: Partial<IngestState>): Promise<void> => {
    const head = { ...initialState().head, epoch: 'epoch001', sequence: 7, ...changes.head }
    observer.stateChanged({ ...initialState(), name: 'polling', ...changes, head }, clock.now())
    await yieldToEventLoop()
  }
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms)
    await yieldToEventLoop()
  }
  return { clock, published, lines, broker, observer, be, pass, stop, run }
}

describe('the heartbeat', () => {
  it('is published every 5 s while this process leads, and never otherwise', async () => {
    const { published, observer, be, pass, stop, run } = withHeartbeat()
    await be({})
    await pass(20_000)
    expect(published).toEqual([])
    observer.leads(START_MS)
    for (let time = 0; time < 3; time++) await pass(5_000)
    expect(published).toHaveLength(3)
    observer.leads(null)
    for (let time = 0; time < 3; time++) await pass(5_000)
    expect(published).toHaveLength(3)
    stop.abort()
    await run
  })

  it('is with every node before the one before it is 5 s old', async () => {
    const { clock, published, observer, be, pass } = withHeartbeat()
    observer.leads(START_MS)
    await be({})
    for (let quarter = 0; quarter < 240; quarter++) {
      await pass(250)
      expect(clock.now() - Date.parse(String(published.at(-1)?.asOf))).toBeLessThanOrEqual(4_500)
    }
  })

  it('contains the end of the log, the phase and everything that only the leader knows', async () => {
    const { published, observer, be, pass } = withHeartbeat()
    observer.leads(START_MS)
    await be({
      head: { ...initialState().head, epoch: 'epoch001', sequence: 7, openGaps: [sampleGap('g')] },
      lastGoodPollMs: START_MS,
      nextPollMs: START_MS + 90_000,
      ledger: new Map([[START_MS, { poll: 50 }]]),
      upstream: 'ok',
      skewMs: -4000,
      plan: { intervalMs: 90_000, pollsUntilReset: 150, wantedUntilReset: 90 },
    })
    expect(published).toEqual([
      {
        type: 'heartbeat',
        epoch: 'epoch001',
        sequence: 7,
        lastGoodPoll: '2026-06-01T06:50:00.000Z',
        nextPoll: '2026-06-01T06:51:30.000Z',
        pausedSince: null,
        phase: 'open',
        openGaps: 1,
        quotaRemaining: 300,
        asOf: '2026-06-01T06:50:00.000Z',
        leader: { id: 'host:7', since: '2026-06-01T06:50:00.000Z' },
        upstreamState: 'ok',
        quota: {
          limit: 350,
          used: 50,
          remaining: 300,
          reset: expect.stringMatching(/^2026-06-08T06:5/),
          forecast: 0.5,
          drift: null,
        },
        gaps: [gapOf(sampleGap('g'))],
        completeness: '+day',
        unreconciled: [],
        upstreamAheadMs: -4000,
      },
    ])
    const { type, epoch, sequence, phase, openGaps, quotaRemaining, ...report } = published[0] ?? { type: '' }
    expect(reportIn(JSON.stringify(published[0]))).toEqual(report)
    await pass(5_000)
    expect(published).toHaveLength(2)
  })

  it("has the phase of upstream's clock, as the status does, where that and ours are apart", async () => {
    const { published, observer, be } = withHeartbeat()
    observer.leads(START_MS)
    await be({ lastGoodPollMs: START_MS, skewMs: SUNDAY_MS })
    expect(published).toMatchObject([{ phase: 'closed', upstreamAheadMs: SUNDAY_MS }])
  })

  it('is published at once when this process has taken over, and holds null for what it has not learnt yet', async () => {
    const { published, observer, be } = withHeartbeat()
    observer.leads(START_MS)
    await be({ head: { ...initialState().head, epoch: '' } })
    expect(published).toEqual([])
    await be({})
    expect(published).toMatchObject([
      { lastGoodPoll: null, nextPoll: null, upstreamAheadMs: null, upstreamState: 'waiting' },
    ])
  })

  it('is published at once after each good poll', async () => {
    const { clock, published, observer, be, pass } = withHeartbeat()
    observer.leads(START_MS)
    await be({ lastGoodPollMs: START_MS })
    for (let poll = 1; poll <= 3; poll++) {
      await pass(1000)
      await be({ lastGoodPollMs: clock.now() })
      await be({ lastGoodPollMs: clock.now() })
      expect(published).toHaveLength(poll + 1)
    }
  })

  it('is published at once when upstream answers otherwise than before', async () => {
    const { published, observer, be, pass } = withHeartbeat()
    observer.leads(START_MS)
    await be({ lastGoodPollMs: START_MS, upstream: 'ok' })
    await pass(1000)
    await be({ lastGoodPollMs: START_MS, upstream: 'failing' })
    await be({ lastGoodPollMs: START_MS, upstream: 'failing' })
    expect(published).toMatchObject([{ upstreamState: 'ok' }, { upstreamState: 'failing' }])
  })

  it('is dropped when it cannot be published, and that is logged once', async () => {
    const { published, lines, broker, observer, be, pass } = withHeartbeat()
    observer.leads(START_MS)
    broker.isDown = true
    await be({ lastGoodPollMs: START_MS })
    await pass(5_000)
    await pass(5_000)
    expect(lines.map(({ event }) => event)).toEqual(['heartbeat.publish_failed'])
    broker.isDown = false
    await pass(5_000)
    expect(published).toHaveLength(1)
    expect(lines.map(({ event }) => event)).toEqual([
      'heartbeat.publish_failed',
      'heartbeat.publish_recovered',
    ])
  })
})
