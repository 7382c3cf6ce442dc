/** A proxied request while another process has become the leader: no unit is spent uncounted. */
import { expect, it } from 'vitest'
import { COMPLETE_REPLICA } from '../../../src/archive/store/replica-progress.ts'
import { createCalendar } from '../../../src/core/calendar/calendar.ts'
import { plans } from '../../../src/core/plans.ts'
import { createIngest } from '../../../src/ingest/ingest.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { createMetrics } from '../../../src/obs/metrics.ts'
import { claimed } from '../../log/samples.ts'
import { until } from '../../support/http/api-server.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'
import { createMemoryLog } from '../../support/memory-log.ts'
import { answers, startScriptedUpstream } from '../../support/worlds/scripted-upstream.ts'

it('a fenced writer does not send a proxied request, counts it as fenced, and its poller campaigns again at once', async () => {
  const meta = { paging: { pageSize: 50, count: 0, hasMore: false, nextCursor: null, latestCursor: 'c' } }
  await using upstream = await startScriptedUpstream(answers(200, JSON.stringify({ data: [], meta })))
  const log = createMemoryLog()
  const metrics = createMetrics({ version: '0' })
  const replica = {
    ...{ oldest: 1, latest: 0, oldestRecordedMs: () => null },
    ...{ known: () => new Map(), replica: COMPLETE_REPLICA, caughtUp: async () => undefined },
  }
  const ingest = createIngest({
    upstream: {
      ...{ url: upstream.url, key: 'key' },
      plan: { ...plans.advanced, name: 'advanced', quotaReset: 'rolling' },
    },
    ...{
      native: { word: 'native' },
      gatewayUnits: 500,
      backfillMs: 0,
      calendar: createCalendar(),
      log,
      archive: replica,
      replicator: replica,
    },
    ...{ clock: systemClock, chance: () => 0.5, logger: keepingLogger().logger },
    metrics,
  })
  const { poller } = ingest
  const sent: string[] = []
  const send: Parameters<typeof poller.proxy>[0] = async ({ permit, signal }) => {
    const startedMs = systemClock.now()
    await permit.spend('gateway', startedMs)
    await permit.throttle(signal)
    sent.push('a request')
    return { startedMs, endedMs: startedMs, serverMs: null, sent: true, kind: 'ok', value: '{}' }
  }
  const ended = new AbortController()
  expect(await poller.proxy(send)).toBe(null)
  const run = poller.run(ended.signal)
  await until(() => poller.state.lastGoodPollMs !== null)
  expect(await poller.proxy(send)).toMatchObject({ kind: 'ok' })
  const counted = [...poller.state.ledger.values()].reduce((sum, { gateway = 0 }) => sum + gateway, 0)
  expect([counted, sent.length]).toEqual([1, 1])
  const won = poller.leaderSinceMs
  await claimed(log)
  expect(await poller.proxy(send)).toBe(null)
  expect(sent).toHaveLength(1)
  expect(await metrics.scrape()).toContain('bridge_commit_total{outcome="fenced"} 1')
  // It has campaigned again and leads with a new claim.
  await until(() => poller.state.lastGoodPollMs !== null && poller.state.name === 'polling')
  expect(poller.leaderSinceMs).toBeGreaterThanOrEqual(won ?? Number.POSITIVE_INFINITY)
  expect(await poller.proxy(send)).toMatchObject({ kind: 'ok' })
  ended.abort()
  await run
  await ingest.close()
})
