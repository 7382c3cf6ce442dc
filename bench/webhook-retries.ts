/**
 * Measures a start over 10,000 endpoints with ten pending retries each, as part of `npm run bench -- webhooks`. It
 * times spawn to ready, and due to arrival of a retry; on Kafka also shards assigned to rows loaded.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { encodeCursor } from '../src/core/cursor.ts'
import { newSecret } from '../src/core/signature.ts'
import { systemClock } from '../src/lifecycle/clock.ts'
import type { Log } from '../src/log/log.ts'
import type { Change } from '../src/log/tables.ts'
import { openSqliteLog } from '../src/log-embedded/log.ts'
import { openKafkaLog } from '../src/log-kafka/log.ts'
import { ENDPOINTS_TABLE, type EndpointRow } from '../src/registry/endpoint-rows.ts'
import { newId } from '../src/registry/ids.ts'
import { type DeliveryRow, positionKey, retryKey } from '../src/webhooks/delivery-state/delivery-rows.ts'
import { createSecretBox } from '../src/webhooks/endpoints/secrets.ts'
import { SHARD_COUNT, SHARDS, shardOf } from '../src/webhooks/worker/shard-of.ts'
import { bridgeEnv, SECRET_KEY, startBridge, temporaryDirectory } from '../test/support/bridge-process.ts'
import { uniqueName } from '../test/support/kafka/clients.ts'
import { startCluster } from '../test/support/kafka/cluster.ts'
import { kafkaLogOptions } from '../test/support/kafka/kafka-logs.ts'
import type { KafkaRuntime } from '../test/support/kafka/runtime/runtime.ts'
import { eventAt } from '../test/support/store.ts'
import { LOCAL_RECEIVERS } from '../test/support/webhooks/endpoint-api.ts'
import type { Figure } from './figures.ts'
import { peakMb } from './support/process-usage.ts'
import { RETRIES_OF_EACH, retryDueMs } from './support/retry-schedule.ts'
import { pin, ready, SENDER_CORE, startSink } from './support/webhook-bench.ts'

const ENDPOINTS = 10_000
/** From the first row written to the first retry that is due: rows and start have to fit in. */
const AHEAD_MS = 40_000
/** How long due retries are observed. */
const WATCHED_MS = 60_000
/** Nothing listens there: nothing else is to be done. */
const NO_UPSTREAM = { url: 'http://127.0.0.1:9/v2', key: 'none' }

/** One start, and the lateness of the retries that fell due in a minute behind it. */
interface Run {
  readySeconds: number
  p99: number
  most: number
  peakMb: number
}

/** Start and lateness over this many runs. */
export async function retryFigures(runs: number, runtime: KafkaRuntime): Promise<Figure[]> {
  const all: Run[] = []
  const load: number[] = []
  for (let run = 0; run < runs; run++) {
    all.push(await oneRun())
    load.push(await secondsToLoad(runtime))
  }
  const of = (value: (run: Run) => number): number[] => all.map(value)
  return [
    {
      name: 'start to ready: 10,000 endpoints, 100,000 retries',
      unit: 's',
      values: of(({ readySeconds }) => readySeconds),
      goal: { atMost: 2 },
    },
    {
      name: 'retry due to received, those pending, p99',
      unit: 'ms',
      values: of(({ p99 }) => p99),
      goal: { atMost: 250 },
    },
    { name: 'retry due to received, the latest', unit: 'ms', values: of(({ most }) => most) },
    { name: 'shards assigned to loaded, on Kafka', unit: 's', values: load, goal: { atMost: 2 } },
    { name: 'peak memory of that process', unit: 'MB', values: of((run) => run.peakMb) },
  ]
}

async function oneRun(): Promise<Run> {
  using directory = temporaryDirectory()
  using sink = await startSink()
  const firstMs = systemClock.now() + AHEAD_MS
  const { log } = openSqliteLog({ dataDir: directory.path, nativeKind: 'Native', clock: systemClock })
  await fill(log, sink.url, firstMs)
  const startMs = performance.now()
  const bridge = await startBridge(bridgeEnv(NO_UPSTREAM, directory.path, LOCAL_RECEIVERS))
  try {
    await ready(bridge)
    const readySeconds = (performance.now() - startMs) / 1000
    pin(bridge.pid, SENDER_CORE)
    if (systemClock.now() > firstMs) throw new Error('retries fell due before the process was ready')
    await wait(firstMs + WATCHED_MS - systemClock.now())
    const { p99, most } = await sink.report()
    return { readySeconds, p99, most, peakMb: peakMb(bridge.pid) }
  } finally {
    await bridge.stop('SIGKILL')
  }
}

/** From the shards' arrival to all retries known, on Kafka, s; nothing falls due meanwhile. */
async function secondsToLoad(runtime: KafkaRuntime): Promise<number> {
  await using cluster = await startCluster({ runtime })
  using directory = temporaryDirectory()
  const prefix = uniqueName('retries')
  await fill(openKafkaLog(kafkaLogOptions(cluster.brokers, prefix)), NO_UPSTREAM.url, Date.UTC(2100, 0))
  const bridge = await startBridge(
    bridgeEnv(NO_UPSTREAM, directory.path, {
      ...LOCAL_RECEIVERS,
      BRIDGE_KAFKA_BROKERS: cluster.brokers.join(','),
      BRIDGE_TOPIC_PREFIX: prefix,
    }),
  )
  try {
    while ((await pendingAt(bridge.ready.ops)) < ENDPOINTS * RETRIES_OF_EACH) await wait(100)
    const loadedMs = systemClock.now()
    const lines = bridge.stderr().split('\n')
    const assigned = lines.find((line) => line.includes('"shards.assigned"')) ?? '{}'
    return (loadedMs - Date.parse((JSON.parse(assigned) as { time: string }).time)) / 1000
  } finally {
    await bridge.stop('SIGKILL')
  }
}

async function pendingAt(ops: string): Promise<number> {
  const response = await fetch(`${ops}/metrics`)
  return Number(/^bridge_webhook_pending (\d+)/m.exec(await response.text())?.[1] ?? 0)
}

/** Ten events, and endpoints to which each of them has failed once. Closes the log. */
async function fill(log: Log, sinkUrl: string, firstMs: number): Promise<void> {
  const { signal } = new AbortController()
  const writer = await log.claim(await log.campaign(signal), signal)
  const drafts = Array.from({ length: RETRIES_OF_EACH }, (_, index) => eventAt(index + 1))
  const events = await writer.commit({ events: drafts })
  const last = events.map(encodeCursor).at(-1) ?? ''
  const box = createSecretBox({ key: SECRET_KEY, oldKey: null })
  const table = log.table<EndpointRow>(ENDPOINTS_TABLE)
  const rows = Array.from({ length: SHARD_COUNT }, (): Change<DeliveryRow>[] => [])
  const written: Promise<void>[] = []
  for (let place = 0; place < ENDPOINTS; place++) {
    const id = newId('ep', systemClock.now())
    const shard = rows[shardOf(id)]
    const url = `${sinkUrl}/retry/${place}/${firstMs}`
    written.push(table.put(id, endpointRow(url, last, box.wrap(newSecret(), id), place)))
    shard?.push({
      key: positionKey(id),
      value: { kind: 'position', cursor: last, ahead: [], failingSinceMs: null },
    })
    for (const event of events) {
      const { sequence, id: eventId, subject, timeMs } = event
      const waits = { tries: 1, lastStatus: 500, dueMs: retryDueMs(place, sequence, firstMs) }
      const of = { cursor: encodeCursor(event), eventId, subject, recordedMs: timeMs }
      shard?.push({ key: retryKey(id, sequence), value: { kind: 'retry', ...of, ...waits } })
    }
  }
  await Promise.all(written)
  await writeShards(log, rows)
  await log.close()
}

async function writeShards(log: Log, rows: readonly Change<DeliveryRow>[][]): Promise<void> {
  const stop = new AbortController()
  let left = SHARD_COUNT
  await log.shards<DeliveryRow>(SHARDS, SHARD_COUNT).own(async (shard) => {
    await shard.write(rows[shard.number] ?? [])
    left -= 1
    if (left === 0) stop.abort()
  }, stop.signal)
}

/** A hundred tenants. */
function endpointRow(url: string, start: string, wrapped: string, place: number): EndpointRow {
  return {
    kind: 'endpoint',
    tenant: `tenant${place % 100}`,
    url,
    description: null,
    status: 'active',
    disabledReason: null,
    filter: {},
    headers: {},
    maxConcurrency: 8,
    rateLimit: null,
    order: 'none',
    start,
    createdAtMs: systemClock.now(),
    secrets: [{ wrapped, untilMs: null }],
  }
}
