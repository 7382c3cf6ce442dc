/** A poller on a log that dropped its first events does not publish an item again that may have been among them. */
import { expect, it } from 'vitest'
import { COMPLETE_REPLICA } from '../../../src/archive/store/replica-progress.ts'
import { createCalendar } from '../../../src/core/calendar/calendar.ts'
import { isoMillis } from '../../../src/core/dates.ts'
import { DAY_MS } from '../../../src/core/durations.ts'
import { plans } from '../../../src/core/plans.ts'
import { createIngest } from '../../../src/ingest/ingest.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { createMetrics } from '../../../src/obs/metrics.ts'
import { never } from '../../archive/samples.ts'
import { followed } from '../../log/samples.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'
import { createMemoryLog } from '../../support/memory-log.ts'
import { answers, startScriptedUpstream } from '../../support/worlds/scripted-upstream.ts'

it('publishes new items, skips items that may have been published and dropped, and logs why', async () => {
  const nowMs = systemClock.now()
  const item = (guid: string, agoMs: number) => ({
    guid,
    timestamp: isoMillis(nowMs - agoMs),
    headline: guid,
  })
  const data = [item('young', 1000), item('old', 20 * DAY_MS), item('between', 8 * DAY_MS)]
  const meta = { paging: { pageSize: 50, count: 3, hasMore: false, nextCursor: null, latestCursor: 'c' } }
  await using upstream = await startScriptedUpstream((response, request) =>
    answers(200, JSON.stringify({ data, meta }), { date: new Date(nowMs).toUTCString() })(response, request),
  )
  const { logger, lines } = keepingLogger()
  const log = createMemoryLog()
  // The first event kept was recorded ten days ago.
  const replica = {
    oldest: 400,
    latest: 900,
    oldestRecordedMs: () => nowMs - 10 * DAY_MS,
    known: () => new Map(),
    replica: COMPLETE_REPLICA,
    caughtUp: async () => undefined,
  }
  const plan = {
    ...plans.enterprise,
    name: 'enterprise' as const,
    weeklyQuota: 1_000_000,
    quotaReset: 'rolling' as const,
  }
  const ingest = createIngest({
    upstream: { url: upstream.url, key: 'key', plan },
    native: { word: 'native' },
    gatewayUnits: 0,
    backfillMs: 0,
    calendar: createCalendar(),
    log,
    archive: replica,
    replicator: replica,
    clock: systemClock,
    chance: () => 0.5,
    logger,
    metrics: createMetrics({ version: '0' }),
  })
  const ended = new AbortController()
  const run = ingest.poller.run(ended.signal)
  const events = await followed(log, 0, 2)
  ended.abort()
  await run
  await ingest.close()
  expect(events.map(({ id }) => id)).toEqual(['between', 'young'])
  expect((await log.end(never)).sequence).toBe(2)
  expect(lines.find(({ event }) => event === 'items.beyond_retention')).toMatchObject({
    level: 'warn',
    fields: {
      items: 1,
      until: isoMillis(nowMs - 10 * DAY_MS + 60_000),
      reason: expect.stringContaining('may have been published before'),
    },
  })
})
