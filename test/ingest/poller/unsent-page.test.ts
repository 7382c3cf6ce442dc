/** A page of a scan that is abandoned before it leaves, because a poll is due, costs no unit. */
import { expect, it } from 'vitest'
import { COMPLETE_REPLICA } from '../../../src/archive/store/replica-progress.ts'
import { plans } from '../../../src/core/plans.ts'
import { createTokenBucket } from '../../../src/governor/quota/token-bucket.ts'
import { createObserver } from '../../../src/ingest/poller/ingest-metrics.ts'
import { Poller, type PollerParts } from '../../../src/ingest/poller/poller.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { createMetrics } from '../../../src/obs/metrics.ts'
import { until } from '../../support/http/api-server.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'
import { createMemoryLog } from '../../support/memory-log.ts'
import { ingestConfig } from '../../support/worlds/ingest-config.ts'

it('an abandoned page that has not left gives its unit back, each time', async () => {
  const config = ingestConfig(10_000_000)
  let polls = 0
  let abandoned = 0
  const client: Pick<PollerParts['client'], 'list'> = {
    /** Answers polls, each of which leaves items out. Pages wait for their turn until they are abandoned. */
    async list(query, purpose, permit, signal) {
      const startedMs = systemClock.now()
      const timing = { startedMs, endedMs: startedMs, serverMs: startedMs }
      await permit.spend(purpose, startedMs)
      if (query.fromMs !== undefined) {
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
        abandoned += 1
        return { ...timing, sent: false, kind: 'network', message: 'aborted' }
      }
      polls += 1
      const cursors = { nextCursor: null, latestCursor: `c${polls}` }
      const item = { guid: `g${polls}`, timestamp: new Date(startedMs).toISOString(), headline: 'Item' }
      const items = [{ text: JSON.stringify(item), value: item }] as never
      const value = { items, hasMore: query.sinceCursor !== undefined, ...cursors, warnings: [], notices: [] }
      return { ...timing, sent: true, kind: 'ok', value: value as never }
    },
  }
  const log = createMemoryLog()
  const replica = {
    ...{ oldest: 1, latest: 0, oldestRecordedMs: () => null },
    ...{ known: () => new Map(), replica: COMPLETE_REPLICA, caughtUp: async () => undefined },
  }
  const poller = new Poller({
    ...{ log, archive: replica, replicator: replica, config, clock: systemClock },
    client: client as PollerParts['client'],
    bucket: createTokenBucket(plans.advanced),
    logger: keepingLogger().logger,
    observer: createObserver(createMetrics({ version: '0' }), config),
  })
  const ended = new AbortController()
  const run = poller.run(ended.signal)
  await until(() => abandoned >= 3)
  // The page under way may be counted, no other.
  await until(() => counted(poller) <= 1)
  expect(polls).toBeGreaterThan(1)
  ended.abort()
  await run
})

function counted({ state: { ledger } }: Poller): number {
  return [...ledger.values()].reduce((sum, { fill = 0 }) => sum + fill, 0)
}
