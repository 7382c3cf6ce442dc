/** The journey of an item tells what the poll that found it had waited for: a pause, or a log that could not be written. */
import { expect, it } from 'vitest'
import { type KeptJourney, readJourney } from '../../../src/archive/journeys.ts'
import { COMPLETE_REPLICA } from '../../../src/archive/store/replica-progress.ts'
import { plans } from '../../../src/core/plans.ts'
import { BridgeError } from '../../../src/errors.ts'
import { createTokenBucket } from '../../../src/governor/quota/token-bucket.ts'
import { createObserver } from '../../../src/ingest/poller/ingest-metrics.ts'
import { Poller, type PollerParts } from '../../../src/ingest/poller/poller.ts'
import type { Log } from '../../../src/log/log.ts'
import { createMetrics } from '../../../src/obs/metrics.ts'
import { until } from '../../support/http/api-server.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'
import { createMemoryLog } from '../../support/memory-log.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'
import { ingestConfig } from '../../support/worlds/ingest-config.ts'

/** A poller, each of whose polls brings a new item. `fault`: what the log may not do now. */
function startPoller(fault: { of: 'claim' | 'commit' | null }) {
  const clock = createManualClock()
  const config = ingestConfig(10_000_000)
  const journeys: KeptJourney[] = []
  const failIf = (of: 'claim' | 'commit'): void => {
    if (fault.of === of) throw new BridgeError('log_unavailable', 'no space left')
  }
  const client: Pick<PollerParts['client'], 'list'> = {
    async list(_query, purpose, permit) {
      const startedMs = clock.now()
      await permit.spend(purpose, startedMs)
      const timing = { startedMs, endedMs: startedMs, serverMs: startedMs }
      const cursors = { nextCursor: null, latestCursor: `c${startedMs}` }
      const item = { guid: `g${startedMs}`, timestamp: new Date(startedMs).toISOString(), headline: 'Item' }
      const items = [{ text: JSON.stringify(item), value: item }] as never
      const value = { items, hasMore: false, ...cursors, warnings: [], notices: [] }
      return { ...timing, sent: true, kind: 'ok', value: value as never }
    },
  }
  const memory = createMemoryLog({ clock })
  const log: Log = {
    ...memory,
    async claim(term, signal) {
      failIf('claim')
      const writer = await memory.claim(term, signal)
      return {
        ...{ epoch: writer.epoch, sequence: writer.sequence, rows: writer.rows },
        async commit(...args) {
          failIf('commit')
          return writer.commit(...args)
        },
        release: () => writer.release(),
      }
    },
  }
  const replica = {
    ...{ oldest: 1, latest: 0, oldestRecordedMs: () => null },
    ...{ known: () => new Map(), replica: COMPLETE_REPLICA, caughtUp: async () => undefined },
  }
  const observer = createObserver(createMetrics({ version: '0' }), config)
  const poller = new Poller({
    ...{ log, archive: replica, replicator: replica, config, clock },
    client: client as PollerParts['client'],
    bucket: createTokenBucket(plans.advanced),
    logger: keepingLogger().logger,
    observer: {
      ...observer,
      committed(queued, ...rest) {
        for (const { journey } of queued.commit.events) journeys.push(readJourney(journey ?? ''))
        observer.committed(queued, ...rest)
      },
    },
  })
  const ended = new AbortController()
  const run = poller.run(ended.signal)
  /** Lets so much time pass, then some more until one more item is committed: its journey. */
  const nextAfter = async (ms: number): Promise<KeptJourney> => {
    for (let passed = 0; passed < ms; passed += 100) {
      clock.advance(100)
      await new Promise((resolve) => setImmediate(resolve))
    }
    fault.of = null
    if (poller.state.pausedSinceMs !== null) poller.setPause(null)
    const { length } = journeys
    await until(() => {
      if (journeys.length === length) clock.advance(10)
      return journeys.length > length
    })
    return journeys[length] as KeptJourney
  }
  return {
    ...{ clock, poller, fault, nextAfter },
    async [Symbol.asyncDispose]() {
      ended.abort()
      await run
    },
  }
}

it('a pause is told by the first good poll after it, and by none after that', async () => {
  await using world = startPoller({ of: null })
  const { clock, poller, nextAfter } = world
  expect((await nextAfter(0)).pausedMs).toBeUndefined()
  poller.setPause(clock.now() + 500)
  const { pausedMs = 0, resumedMs = 0, outageMs } = await nextAfter(20_500)
  expect([pausedMs - resumedMs, resumedMs < 1000, outageMs]).toEqual([20_000, true, undefined])
  expect((await nextAfter(0)).pausedMs).toBeUndefined()
})

it('writes that fail are told by the first good poll after them, from the first one on', async () => {
  await using world = startPoller({ of: null })
  const { fault, nextAfter } = world
  await nextAfter(0)
  fault.of = 'commit'
  const { sincePollMs, outageMs = 0, writableMs = 0, pausedMs } = await nextAfter(20_000)
  expect(outageMs).toBeGreaterThan(15_000)
  expect(outageMs).toBeLessThan(45_000)
  expect(writableMs).toBeLessThan(2000)
  expect([sincePollMs === undefined, pausedMs]).toEqual([false, undefined])
  await nextAfter(0)
  expect((await nextAfter(0)).outageMs).toBeUndefined()
})

it('a log that a new leader cannot claim is told by its first poll', async () => {
  await using world = startPoller({ of: null })
  const { fault, poller, nextAfter } = world
  await nextAfter(0)
  fault.of = 'claim'
  // It campaigns again after ten seconds.
  poller.stepDown()
  const { outageMs = 0, writableMs = 0 } = await nextAfter(18_000)
  expect(outageMs - writableMs).toBeGreaterThanOrEqual(7000)
  expect(outageMs - writableMs).toBeLessThan(10_000)
})
