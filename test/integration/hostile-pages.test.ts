/** Pages at the limits and beyond them, from a real socket through the poller into the log, and from there to readers. */

import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { RecentEvents } from '../../src/archive/reading/recent-events.ts'
import { openReplica } from '../../src/archive/replica/replica.ts'
import { Replicator } from '../../src/archive/replica/replicator.ts'
import type { Archive } from '../../src/archive/store/archive.ts'
import { createCalendar } from '../../src/core/calendar/calendar.ts'
import { plans } from '../../src/core/plans.ts'
import { createIngest } from '../../src/ingest/ingest.ts'
import { sleep, systemChance, systemClock } from '../../src/lifecycle/clock.ts'
import { atOnce } from '../../src/lifecycle/slices.ts'
import type { Log } from '../../src/log/log.ts'
import { openSqliteLog } from '../../src/log-embedded/log.ts'
import { openKafkaLog } from '../../src/log-kafka/log.ts'
import { createMetrics } from '../../src/obs/metrics.ts'
import { temporaryDirectory } from '../support/bridge-process.ts'
import { sharedBrokers } from '../support/kafka/for-tests.ts'
import { kafkaLogOptions } from '../support/kafka/kafka-logs.ts'
import { keepingLogger } from '../support/keeping-logger.ts'
import { newestRejected } from '../support/newest-rejected.ts'
import { watchEventLoop } from '../support/time/event-loop-hold.ts'

/** Above this, Kafka would be near to count the process as dead. */
const LONGEST_HOLD_MS = 200
const brokers = await sharedBrokers()

/** By name of the page: its items, and how many of them cannot be read. */
const pages = {
  '5,000 items': [5000, 0],
  '5,000 usual items': [5000, 0],
  '120 items of half a megabyte': [121, 0],
  '40 items of half a megabyte of members': [41, 0],
  '5,000 unreadable items of 12 KB': [0, 5000],
} as const
type PageName = keyof typeof pages

let worker: Worker
let origin = ''

beforeAll(async () => {
  worker = new Worker(new URL('../support/worlds/hostile-answers.ts', import.meta.url))
  const [port] = await once(worker, 'message')
  origin = `http://127.0.0.1:${port}`
})
afterAll(() => worker.terminate())

interface OpenLog {
  log: Log
  archive: Archive
  shared: boolean
}

function openEmbedded(dataDir: string): OpenLog {
  return { ...openSqliteLog({ dataDir, nativeKind: 'Native', clock: systemClock }), shared: true }
}

function openOnKafka(dataDir: string): OpenLog {
  const log = openKafkaLog(kafkaLogOptions(brokers ?? []))
  return {
    log,
    archive: atOnce(
      openReplica({
        dataDir,
        nativeKind: 'Native',
        onDamage(error) {
          throw error
        },
      }),
    ),
    shared: false,
  }
}

/** Polls the page of that name until readers have all of it; what is stored then, and the longest hold meanwhile. */
async function publishPage(name: PageName, { log, archive, shared }: OpenLog) {
  const { logger } = keepingLogger()
  const recentEvents = new RecentEvents(archive.latest)
  const silentSinceMs = () => null
  const shown = { log, archive, recentEvents, clock: systemClock, logger, shared, silentSinceMs }
  const replicator = new Replicator(shown)
  const plan = {
    ...plans.enterprise,
    name: 'enterprise',
    weeklyQuota: 1_000_000,
    quotaReset: 'rolling',
  } as const
  const url = `${origin}/${encodeURIComponent(name)}/v2`
  const ingest = createIngest({
    ...shown,
    replicator,
    upstream: { url, key: 'k', plan },
    native: { word: 'native' },
    gatewayUnits: 0,
    backfillMs: 0,
    calendar: createCalendar(),
    chance: systemChance,
    metrics: createMetrics({ version: 'test' }),
  })
  const stop = new AbortController()
  const longestMs = watchEventLoop()
  const running = Promise.all([replicator.run(stop.signal), ingest.poller.run(stop.signal)])
  const [items, rejected] = pages[name]
  const isShown = (): boolean => recentEvents.latest === archive.latest && itemsIn(archive) >= items
  while (!isShown() || (await newestRejected(log, rejected)).length < rejected) await sleep(systemClock, 100)
  const heldMs = longestMs()
  stop.abort()
  await running
  await ingest.close()
  const stored = { items: itemsIn(archive), rejected: (await newestRejected(log, 10_000)).length }
  return { stored, heldMs, twice: twiceIn(archive) }
}

function itemsIn({ db }: Archive): number {
  return db.prepare<{ count: number }>('SELECT count(*) AS count FROM items').get()?.count ?? 0
}

function twiceIn({ db }: Archive): unknown[] {
  return db.prepare('SELECT guid FROM facts WHERE guid IS NOT NULL GROUP BY guid HAVING count(*) > 1').all()
}

const open: Record<string, (dataDir: string) => OpenLog> = {
  'the embedded log': openEmbedded,
  ...(brokers !== null && { Kafka: openOnKafka }),
}

describe.each(Object.keys(open))('on %s', (kind) => {
  test.each(Object.keys(pages) as PageName[])(
    '%s: all of them are published once, and the event loop is not held',
    async (name) => {
      using folder = temporaryDirectory()
      const opened = open[kind]?.(folder.path)
      if (opened === undefined) throw new Error(kind)
      const { stored, heldMs, twice } = await publishPage(name, opened)
      await opened.log.close()
      opened.archive.close()
      const [items, rejected] = pages[name]
      expect(stored).toEqual({ items, rejected })
      expect(twice).toEqual([])
      expect(heldMs).toBeLessThan(LONGEST_HOLD_MS)
    },
  )
})
