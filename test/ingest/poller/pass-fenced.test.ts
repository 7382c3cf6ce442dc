/** A request that is passed through while another process has begun to lead: no unit of it goes uncounted. */
import { expect, it } from 'vitest'
import { createCalendar } from '../../../src/core/calendar/calendar.ts'
import { plans } from '../../../src/core/plans.ts'
import { createIngest } from '../../../src/ingest/ingest.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { createMemoryLog } from '../../../src/log-memory/log.ts'
import { createMetrics } from '../../../src/obs/metrics.ts'
import { claimed } from '../../log/samples.ts'
import { until } from '../../support/http/api-server.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'
import { answers, startScriptedUpstream } from '../../support/worlds/scripted-upstream.ts'

it('is not sent by a writer that was fenced, and its poller hears of the fence at once', async () => {
  const meta = { paging: { pageSize: 50, count: 0, hasMore: false, nextCursor: null, latestCursor: 'c' } }
  await using upstream = await startScriptedUpstream(answers(200, JSON.stringify({ data: [], meta })))
  const log = createMemoryLog()
  const copy = {
    ...{ oldest: 1, latest: 0, oldestRecordedMs: () => null },
    ...{ known: () => new Map(), caughtUp: async () => undefined },
  }
  const ingest = createIngest({
    upstream: {
      ...{ url: upstream.url, key: 'key' },
      plan: { ...plans.advanced, name: 'advanced', quotaReset: 'rolling' },
    },
    ...{ gatewayUnits: 500, backfillMs: 0, calendar: createCalendar(), log, copy },
    ...{ clock: systemClock, chance: () => 0.5, logger: keepingLogger().logger },
    metrics: createMetrics({ version: '0' }),
  })
  const { poller } = ingest
  const sent: string[] = []
  const send: Parameters<typeof poller.pass>[0] = async ({ gate, signal }) => {
    const startedMs = systemClock.now()
    await gate.spend('gateway', startedMs)
    await gate.throttle(signal)
    sent.push('a request')
    return { startedMs, endedMs: startedMs, serverMs: null, sent: true, kind: 'ok', value: '{}' }
  }
  const ended = new AbortController()
  expect(await poller.pass(send)).toBe(null)
  const run = poller.run(ended.signal)
  await until(() => poller.state.lastGoodPollMs !== null)
  expect(await poller.pass(send)).toMatchObject({ kind: 'ok' })
  const counted = [...poller.state.ledger.values()].reduce((sum, { gateway = 0 }) => sum + gateway, 0)
  expect([counted, sent.length]).toEqual([1, 1])
  const won = poller.leaderSinceMs
  await claimed(log)
  expect(await poller.pass(send)).toBe(null)
  expect(sent).toHaveLength(1)
  // It has campaigned anew, and leads by a claim of its own.
  await until(() => poller.state.lastGoodPollMs !== null && poller.state.name === 'polling')
  expect(poller.leaderSinceMs).toBeGreaterThanOrEqual(won ?? Number.POSITIVE_INFINITY)
  expect(await poller.pass(send)).toMatchObject({ kind: 'ok' })
  ended.abort()
  await run
  await ingest.close()
})
