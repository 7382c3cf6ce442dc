/** Compares the messages on the status topic with the document that describes them. */
import { expect, onTestFinished, test } from 'vitest'
import { createCalendar } from '../../src/core/calendar/calendar.ts'
import { emptyDay } from '../../src/core/calendar/day-record.ts'
import { createHeartbeat } from '../../src/ingest/heartbeat.ts'
import { type IngestConfig, type IngestState, initialState } from '../../src/ingest/machine/state.ts'
import { createObserver } from '../../src/ingest/poller/ingest-metrics.ts'
import { DayKeeper } from '../../src/ingest/reconciliation/day-keeper.ts'
import { yieldToEventLoop } from '../../src/lifecycle/clock.ts'
import type { StatusMessage } from '../../src/log/events.ts'
import type { Log } from '../../src/log/log.ts'
import { statusRecord } from '../../src/log-kafka/client/records.ts'
import { createMetrics } from '../../src/obs/metrics.ts'
import { namesOf, productDocument } from '../support/house/asyncapi-document.ts'
import { messageJudge } from '../support/house/asyncapi-messages.ts'
import { keepingLogger } from '../support/keeping-logger.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { createManualClock } from '../support/time/manual-clock.ts'

/** A Friday in winter, noon; the day before is over. */
const START_MS = Date.parse('2026-01-09T12:00:00Z')
const config = {
  weeklyQuota: 350,
  quotaReset: 'rolling',
  calendar: createCalendar(),
  dayWalks: null,
} as unknown as IngestConfig

/** A state before and after its first good poll, with a day that is over. */
function states(): IngestState[] {
  const days = [{ ...emptyDay('2026-01-08'), polled: 3, eodSeen: true }]
  const head = {
    ...initialState().head,
    epoch: 'epoch001',
    sequence: 7,
    days,
    countedFromMs: START_MS - 86_400_000,
  }
  const ledger = new Map([[START_MS - 86_400_000, { poll: 50 }]])
  const first: IngestState = { ...initialState(), name: 'polling', head, ledger }
  return [first, { ...first, hasDate: true, lastGoodPollMs: START_MS }]
}

/** Every status message of a leader that passes through these states. */
async function publishedIn(each: readonly IngestState[]): Promise<StatusMessage[]> {
  const published: StatusMessage[] = []
  const publishStatus = async (value: StatusMessage): Promise<void> => void published.push(value)
  const clock = createManualClock(START_MS)
  const { logger } = keepingLogger()
  const heartbeat = createHeartbeat({
    publish: publishStatus,
    calendar: config.calendar,
    processId: 'host:7',
    completeness: '+day',
    config,
    clock,
    logger,
  })
  const observer = heartbeat.observing(createObserver(createMetrics({ version: '0' }), config))
  const poller = { state: initialState(), leaderSinceMs: START_MS }
  const log: Log = { ...createMemoryLog(), publishStatus }
  const keeper = new DayKeeper({ log, poller, config, clock, logger })
  const stop = new AbortController()
  const running = Promise.all([heartbeat.run(stop.signal), keeper.run(stop.signal)])
  onTestFinished(async () => {
    stop.abort()
    await running
  })
  observer.leads(START_MS)
  for (const state of each) {
    observer.stateChanged(state, clock.now())
    poller.state = state
    clock.advance(15_000)
    for (let tick = 0; tick < 20; tick++) await yieldToEventLoop()
  }
  return published
}

test('every status message matches its documented schema, and every documented message is published', async () => {
  const document = productDocument()
  const misfits = messageJudge(document)
  const published = await publishedIn(states())
  for (const value of published) {
    const { key, value: text, headers } = statusRecord(value)
    const given = { key, headers, payload: JSON.parse(String(text)) }
    expect(misfits('kafka.status', value.type, given)).toEqual([])
  }
  const names = new Set(published.map(({ type }) => type))
  expect([...names].sort()).toEqual(namesOf(document, 'kafka.status', 'send').sort())
  expect(published.map(({ lastGoodPoll }) => lastGoodPoll)).toContain(null)
})
