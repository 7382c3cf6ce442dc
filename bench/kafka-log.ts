/**
 * The writer on Kafka beside a bare kafkajs transaction of the same records, on a broker of its own. Owns what is timed.
 */
import { Kafka, logLevel, type Producer } from 'kafkajs'
import type { NewEvent } from '../src/core/event.ts'
import { systemClock } from '../src/lifecycle/clock.ts'
import { nameTopics, placeEvents } from '../src/log/kafka/books.ts'
import { groupElections } from '../src/log/kafka/leader.ts'
import { type KafkaLogOptions, openKafkaLog } from '../src/log/kafka/log.ts'
import { topicName } from '../src/log/kafka/topics.ts'
import type { Log, Writer } from '../src/log/log.ts'
import { startCluster } from '../test/support/kafka/cluster.ts'
import { findRuntime } from '../test/support/kafka/find-runtime.ts'
import type { Figure } from './figures.ts'
import { syntheticEvents } from './support/synthetic-events.ts'

const ITEMS = 100
const SPACED_COMMITS = 200
const COMMITS_IN_A_ROW = 1_000
const CLAIMS = 30
/** Between spaced transactions, ms: the markers of the one before are written then. */
const PAUSE_MS = 60
/** With `all`, the native topics' eleven codes make twelve topics; the state topic comes on top. */
const NATIVE = 'AA BC CS CU DD DI HO ME RE TU XX'.split(' ')

/** Times of commits, claims and visibility; throws where no Kafka can be run here. */
export async function kafkaLogFigures(): Promise<Figure[]> {
  const found = await findRuntime(process.env)
  if ('missing' in found) throw new Error(found.missing)
  await using cluster = await startCluster({ runtime: found.runtime })
  const log = openKafkaLog(optionsFor(cluster.brokers, 'bench'))
  const baseline = openKafkaLog(optionsFor(cluster.brokers, 'bare'))
  const producer = bareProducer(cluster.brokers)
  try {
    // Makes the baseline's topics; nothing else of it is used.
    await baseline.campaign(new AbortController().signal)
    await baseline.close()
    await producer.connect()
    return await figuresOf(log, producer)
  } finally {
    await producer.disconnect()
    await log.close()
  }
}

async function figuresOf(log: Log, producer: Producer): Promise<Figure[]> {
  const next = eventSource()
  const { signal } = new AbortController()
  const term = await log.campaign(signal)
  const claims: number[] = []
  let writer = await log.claim(term, signal)
  for (let n = 0; n < CLAIMS; n++) {
    await writer.commit({ events: next(1) })
    const startedAt = performance.now()
    writer = await log.claim(term, signal)
    claims.push(performance.now() - startedAt)
  }
  const spaced = { ours: [] as number[], bare: [] as number[] }
  for (let n = 0; n < SPACED_COMMITS; n++) {
    const events = next(ITEMS)
    await pause()
    spaced.bare.push(await timed(() => bareTransaction(producer, events)))
    await pause()
    spaced.ours.push(await timed(() => writer.commit({ events })))
  }
  const visible = await timesToBeSeen(log, writer, next)
  const row: number[] = []
  for (let n = 0; n < COMMITS_IN_A_ROW; n++) {
    const events = next(1)
    row.push(await timed(() => writer.commit({ events })))
  }
  const ms = (name: string, values: number[]): Figure => ({ name, unit: 'ms', values })
  return [
    { ...ms('commit of 100 items, 12 topics, p50', [at(spaced.ours, 0.5)]), ...beside(at(spaced.bare, 0.5)) },
    {
      ...ms('commit of 100 items, 12 topics, p99', [at(spaced.ours, 0.99)]),
      ...beside(at(spaced.bare, 0.99)),
      goal: { atMost: at(spaced.bare, 0.99) + 25 },
    },
    ms('1,000 commits back to back, p50', [at(row, 0.5)]),
    { ...ms('1,000 commits back to back, p99', [at(row, 0.99)]), goal: { atMost: 60 } },
    ms('claim, p50', [at(claims, 0.5)]),
    ms('claim, p99', [at(claims, 0.99)]),
    ms('commit resolved to seen by a follower, p50', [at(visible, 0.5)]),
    { ...ms('commit resolved to seen by a follower, p99', [at(visible, 0.99)]), goal: { atMost: 50 } },
  ]
}

/** From the moment a commit has resolved to the moment a follower holds its event; 0 where the follower was first. */
async function timesToBeSeen(
  log: Log,
  writer: Writer,
  next: (count: number) => NewEvent[],
): Promise<number[]> {
  const ended = new AbortController()
  const seenAt = new Map<number, number>()
  const following = (async () => {
    for await (const batch of log.follow(writer.state.head.sequence, ended.signal)) {
      for (const { sequence } of batch) seenAt.set(sequence, performance.now())
    }
  })()
  const times: number[] = []
  for (let n = 0; n < SPACED_COMMITS; n++) {
    await pause()
    const [event] = await writer.commit({ events: next(1) })
    const committedAt = performance.now()
    while (event !== undefined && !seenAt.has(event.sequence)) await new Promise((go) => setImmediate(go))
    times.push(Math.max(0, (seenAt.get(event?.sequence ?? 0) ?? 0) - committedAt))
  }
  ended.abort()
  await following
  return times
}

/** The same records to the same topics, with kafkajs alone. */
async function bareTransaction(producer: Producer, events: NewEvent[]): Promise<void> {
  const placed = events.map((event, n) => ({ ...event, sequence: n + 1, epoch: 'Baseline' }))
  const book = { known: new Set(NATIVE.map((code) => `native.${code}`)), choices: new Map() }
  const { records } = placeEvents(nameTopics(placed, 'Native'), new Map(), book)
  const topicMessages = [...records].map(([topic, messages]) => ({
    topic: topicName('bare', topic),
    messages,
  }))
  const transaction = await producer.transaction()
  await transaction.sendBatch({ topicMessages, acks: -1 })
  await transaction.commit()
}

function bareProducer(brokers: readonly string[]): Producer {
  const retry = { initialRetryTime: 10, retries: 10 }
  const kafka = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING, retry })
  return kafka.producer({
    transactionalId: 'bare',
    maxInFlightRequests: 1,
    allowAutoTopicCreation: false,
    createPartitioner: () => () => 0,
  })
}

function optionsFor(brokers: readonly string[], prefix: string): KafkaLogOptions {
  const silent = () => undefined
  return {
    connection: { brokers, clientId: prefix, tls: null, sasl: null },
    topics: { prefix, replication: null, retentionMs: null, allRetentionMs: null },
    knownCodes: { fca: [], native: NATIVE },
    nativeKind: 'Native',
    clock: systemClock,
    logger: { debug: silent, info: silent, warn: silent, error: silent },
    openElections: groupElections,
  }
}

/** Events with a native category each and no other, so that the topics are few and known. */
function eventSource(): (count: number) => NewEvent[] {
  const next = syntheticEvents(1)
  return (count) =>
    next(count).map(({ sequence: _, epoch: __, ...event }) => ({
      ...event,
      data: event.data.replaceAll('"kind":"FCA"', '"kind":"RNS"'),
    }))
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}

function pause(): Promise<void> {
  return new Promise((go) => setTimeout(go, PAUSE_MS))
}

function at(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

function beside(value: number): Pick<Figure, 'baseline'> {
  return { baseline: { name: 'a bare transaction', values: [value] } }
}
