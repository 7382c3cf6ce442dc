/**
 * A page scan on a log that dropped its first events does not publish an item again that may have been among them. What a poll
 * lists behind its cursor is new, however old its time.
 */
import { expect, it } from 'vitest'
import { COMPLETE_REPLICA } from '../../../src/archive/store/replica-progress.ts'
import { createCalendar } from '../../../src/core/calendar/calendar.ts'
import { isoMillis } from '../../../src/core/dates.ts'
import { DAY_MS } from '../../../src/core/durations.ts'
import { plans } from '../../../src/core/plans.ts'
import { createIngest } from '../../../src/ingest/ingest.ts'
import { comparePage, type PageParts } from '../../../src/ingest/poller/compare-page.ts'
import { NotYetReplicated } from '../../../src/ingest/poller/not-yet-replicated.ts'
import { RejectedTexts } from '../../../src/ingest/poller/rejected-texts.ts'
import { unusedHead } from '../../../src/ingest/writer-state/head.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { createMetrics } from '../../../src/obs/metrics.ts'
import { never } from '../../archive/samples.ts'
import { followed } from '../../log/samples.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'
import { createMemoryLog } from '../../support/memory-log.ts'
import { answers, startScriptedUpstream } from '../../support/worlds/scripted-upstream.ts'

const nowMs = systemClock.now()
const item = (guid: string, agoMs: number) => ({
  guid,
  timestamp: isoMillis(nowMs - agoMs),
  headline: guid,
})
const data = [item('young', 1000), item('old', 20 * DAY_MS), item('between', 8 * DAY_MS)]

/** The first event kept was recorded ten days ago. */
const replica = {
  oldest: 400,
  latest: 900,
  oldestRecordedMs: () => nowMs - 10 * DAY_MS,
  known: () => new Map(),
  replica: COMPLETE_REPLICA,
  caughtUp: async () => undefined,
}

it.each([
  ['a page scan', { fromMs: nowMs - 30 * DAY_MS }, ['between', 'young']],
  ['a poll', { sinceCursor: 'c' }, ['between', 'old', 'young']],
] as const)('%s has the new items of its page, and logs which it skips', async (_name, of, expected) => {
  const { logger, lines } = keepingLogger()
  const page = {
    items: data.map((value) => ({ text: JSON.stringify(value), value })),
    ...{ nextCursor: null, latestCursor: 'c', hasMore: undefined, warnings: [] },
  }
  const parts: PageParts = {
    archive: replica,
    claimed: { ...unusedHead('epoch', 900), latestTimeMs: nowMs - DAY_MS },
    rejected: new RejectedTexts(),
    notYetReplicated: new NotYetReplicated(replica),
    clock: systemClock,
    logger,
  }
  const { fresh } = await comparePage(parts, { page, query: { pageSize: 50, ...of }, nowMs, journey: '' })
  expect(fresh.map(({ disclosure }) => disclosure.guid).toSorted()).toEqual(expected)
  const skipped = lines.filter(({ event }) => event === 'items.beyond_retention')
  expect(skipped).toMatchObject(
    expected.length === 3
      ? []
      : [
          {
            level: 'warn',
            fields: {
              items: 1,
              until: isoMillis(nowMs - 10 * DAY_MS + 60_000),
              reason: expect.stringContaining('may have been published before'),
            },
          },
        ],
  )
  expect(skipped).toHaveLength(3 - expected.length)
})

it('a poller publishes each item behind its cursor', async () => {
  const meta = { paging: { pageSize: 50, count: 3, hasMore: false, nextCursor: null, latestCursor: 'c' } }
  await using upstream = await startScriptedUpstream((response, request) =>
    answers(200, JSON.stringify({ data, meta }), { date: new Date(nowMs).toUTCString() })(response, request),
  )
  const { logger } = keepingLogger()
  const log = createMemoryLog()
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
  const events = await followed(log, 0, 3)
  ended.abort()
  await run
  await ingest.close()
  expect(events.map(({ id }) => id)).toEqual(['old', 'between', 'young'])
  expect((await log.end(never)).sequence).toBe(3)
})
