/**
 * Measures how long a reader with an empty disk needs to be ready over a Kafka log of 500,000 events. The baseline is a
 * plain kafkajs consumer that reads the same partition and stores nothing.
 */
import { Kafka, logLevel } from 'kafkajs'
import { systemClock } from '../src/lifecycle/clock.ts'
import { openKafkaLog } from '../src/log-kafka/log.ts'
import { bridgeEnv, startBridge, temporaryDirectory } from '../test/support/bridge-process.ts'
import { startCluster } from '../test/support/kafka/cluster.ts'
import { kafkaLogOptions } from '../test/support/kafka/kafka-logs.ts'
import { findRuntime } from '../test/support/kafka/runtime/find-runtime.ts'
import type { Figure } from './figures.ts'
import { peakMb } from './support/process-usage.ts'
import { syntheticEvents } from './support/synthetic-events.ts'

const EVENTS = 500_000
const COMMIT = 1_000
const RUNS = 3
const PREFIX = 'rebuild'
/** A node without the role `poller` sends no request to upstream. */
const NO_UPSTREAM = { url: 'http://127.0.0.1:9/v2', key: 'none' }
const LOOK_MS = 100

/** Time, rate and memory of a rebuild of `events` events; throws where no Kafka can be run here. */
export async function rebuildFigures(events: number = EVENTS): Promise<Figure[]> {
  const found = await findRuntime(process.env)
  if ('missing' in found) throw new Error(found.missing)
  await using cluster = await startCluster({ runtime: found.runtime })
  await fill(cluster.brokers, events)
  const plain: number[] = []
  const ours: Rebuild[] = []
  for (let run = 0; run < RUNS; run++) {
    plain.push(await plainRead(cluster.brokers, events, `plain-${run}`))
    ours.push(await rebuild(cluster.brokers))
  }
  const rate = (seconds: number): number => events / seconds
  const name = `replica of ${events} events rebuilt`
  return [
    {
      name: `${name}, start to ready`,
      unit: 's',
      values: ours.map(({ seconds }) => seconds),
      goal: { atMost: 90 },
      baselines: [{ name: 'a plain kafkajs read', values: plain }],
    },
    {
      name,
      unit: 'events/s',
      values: ours.map(({ seconds }) => rate(seconds)),
      baselines: [{ name: 'a plain kafkajs read', values: plain.map(rate) }],
    },
    { name: '  peak memory of the process', unit: 'MB', values: ours.map(({ peakMb }) => peakMb) },
  ]
}

/** Events that are in `all` and in no other topic, committed as the poller commits them. */
async function fill(brokers: readonly string[], events: number): Promise<void> {
  const log = openKafkaLog({ ...kafkaLogOptions(brokers, PREFIX), clock: systemClock })
  const { signal } = new AbortController()
  const writer = await log.claim(await log.campaign(signal), signal)
  const next = syntheticEvents(1)
  for (let done = 0; done < events; done += COMMIT) {
    await writer.commit({
      events: next(COMMIT).map(({ sequence: _, epoch: __, ...event }) => ({
        ...event,
        data: event.data.replaceAll(/"kind":"(FCA|Native)"/g, '"kind":"RNS"'),
      })),
    })
  }
  await log.close()
}

/** Seconds until a consumer with kafkajs's own settings has seen every record of `all`. */
async function plainRead(brokers: readonly string[], events: number, groupId: string): Promise<number> {
  const kafka = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING })
  const consumer = kafka.consumer({ groupId })
  const all = Promise.withResolvers<void>()
  let seen = 0
  const startMs = performance.now()
  await consumer.connect()
  await consumer.subscribe({ topics: [`${PREFIX}.all`], fromBeginning: true })
  await consumer.run({
    eachBatch: async ({ batch }) => {
      seen += batch.messages.length
      if (seen >= events) all.resolve()
    },
  })
  await all.promise
  const seconds = (performance.now() - startMs) / 1000
  await consumer.disconnect()
  return seconds
}

interface Rebuild {
  seconds: number
  peakMb: number
}

/** From the start of a process until it is ready. */
async function rebuild(brokers: readonly string[]): Promise<Rebuild> {
  using directory = temporaryDirectory()
  const startMs = performance.now()
  const bridge = await startBridge(
    bridgeEnv(NO_UPSTREAM, directory.path, {
      BRIDGE_ROLES: 'api,feed',
      BRIDGE_KAFKA_BROKERS: brokers.join(','),
      BRIDGE_TOPIC_PREFIX: PREFIX,
    }),
  )
  while ((await fetch(`${bridge.ready.ops}/readyz`)).status !== 200) {
    await new Promise((go) => setTimeout(go, LOOK_MS))
  }
  const seconds = (performance.now() - startMs) / 1000
  const peak = peakMb(bridge.pid)
  await bridge.stop()
  return { seconds, peakMb: peak }
}
