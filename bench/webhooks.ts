/**
 * Measures webhook deliveries: `npm run bench -- webhooks`. Figures are CPU and delay of a delivery on the embedded
 * log and on Kafka, alone and in batches, the effect of endpoints that hang, refuse or drip on the others, and the cost of the address
 * guard. Baselines are a plain loop and BullMQ on Redis. Sender and receivers each run on their own core.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { ALL, topicName } from '../src/log-kafka/topics/topics.ts'
import { checkAddresses } from '../src/webhooks/address/guard.ts'
import { judgeUrl } from '../src/webhooks/address/judge-url.ts'
import { addressRules } from '../src/webhooks/address/rules.ts'
import { startCluster } from '../test/support/kafka/cluster.ts'
import { findRuntime } from '../test/support/kafka/runtime/find-runtime.ts'
import type { KafkaRuntime } from '../test/support/kafka/runtime/runtime.ts'
import { type Figure, formatFigure, median } from './figures.ts'
import { commitTimes } from './support/commit-times.ts'
import {
  type Burst,
  came,
  items,
  many,
  measure,
  register,
  startSender,
  startSink,
} from './support/webhook-bench.ts'
import {
  type BurstOverRedis,
  type BurstSize,
  burstThroughBullmq,
  burstThroughLoop,
  hasRedis,
  NO_REDIS,
} from './webhook-baselines.ts'
import { retryFigures } from './webhook-retries.ts'

const RUNS = 5
const FULL: BurstSize = { events: 500, endpoints: 1000 }
/** Of the topics, as a bridge names them by default. */
const SHIPPED_PREFIX = 'disclosures'
/** `maxBatch` of the endpoints that take batches. */
const BATCHED = 50
/** Endpoints of a usual customer. */
const FEW = 10
/** Endpoints of the run with unhealthy ones: a fifth hangs, a tenth returns 500, a twentieth drips. */
const MIXED = 100
const MANNERS = [...many('hang', 20), ...many('fail', 10), ...many('drip', 5), ...many('ok', 65)]
const TRICKLED = 200
/** Between two events of a trickle. */
const TRICKLE_PAUSE_MS = 100
const GUARDED = 200_000

/** The lines to print. */
export async function webhookLines(runs: number = RUNS): Promise<string[]> {
  const found = await findRuntime(process.env)
  if ('missing' in found) throw new Error(found.missing)
  const redis = hasRedis()
  const all: Runs = {
    bridge: [],
    batched: [],
    kafka: [],
    plain: [],
    bullmq: [],
    few: [],
    healthy: [],
    mixed: [],
    guardMicros: [],
  }
  for (let run = 1; run <= runs; run++) {
    all.bridge.push(await burstThroughBridge(run))
    all.batched.push(await burstThroughBridge(run, {}, { maxBatch: BATCHED }))
    all.kafka.push(await burstOnKafka(run, found.runtime))
    // Half of a run would be theirs, and what they take is far from what is judged.
    if (run === 1) all.plain.push(await burstThroughLoop(run, FULL))
    if (run === 1 && redis) all.bullmq.push(await burstThroughBullmq(run, FULL))
    all.few.push(await trickle(run, many('ok', FEW)))
    all.healthy.push(await trickle(run, many('ok', MIXED)))
    all.mixed.push(await trickle(run, MANNERS))
    all.guardMicros.push(await guardMicros())
  }
  const bullmq = redis ? bullmqFigures(all.bullmq).map(formatFigure) : [NO_REDIS]
  const rest = [...batchFigures(all), ...otherFigures(all), ...(await retryFigures(runs, found.runtime))].map(
    formatFigure,
  )
  return [...burstFigures(all).map(formatFigure), ...bullmq, ...rest]
}

/** A burst through the product. */
interface BurstOfBridge extends Burst {
  /** How often it lost its shards, and with them what was under way, which comes again. */
  shardsLost: number
}

/** A burst whose commits are known. */
interface BurstOnKafka extends BurstOfBridge {
  /** Of the endpoint that waited longest for its first event: from that event's commit, ms. */
  slowestFirstCommittedMs: number
}

/** All that was measured, run by run. */
interface Runs extends Record<'plain' | 'few' | 'healthy' | 'mixed', Burst[]> {
  bridge: BurstOfBridge[]
  /** To endpoints that take batches. */
  batched: BurstOfBridge[]
  kafka: BurstOnKafka[]
  /** None where there is no Redis. */
  bullmq: BurstOverRedis[]
  /** Of the address guard, for one attempt. */
  guardMicros: number[]
}

const seconds = ({ firstHeldMs, lastMs }: Burst): number => (lastMs - firstHeldMs) / 1000
const micros = ({ cpuMicros, received }: Burst): number => cpuMicros / received
const microsWithRedis = (burst: BurstOverRedis): number =>
  micros(burst) + burst.redisCpuMicros / burst.received

/** The product on both logs, beside what others would write. */
function burstFigures({ bridge, kafka, plain, bullmq }: Runs): Figure[] {
  const beside = (values: number[], ofBullmq: { name: string; values: number[] }[]): Partial<Figure> => ({
    baselines: [{ name: 'a plain loop', values }, ...(bullmq.length > 0 ? ofBullmq : [])],
  })
  const burst = (name: string, bursts: readonly BurstOfBridge[], longestSeconds: number): Figure[] => [
    {
      ...outcome(name, bursts),
      goal: { atMost: longestSeconds },
      ...beside(plain.map(seconds), [{ name: 'BullMQ', values: bullmq.map(seconds) }]),
    },
    {
      name: `${name}: CPU of the sender for a delivery`,
      unit: 'µs',
      values: bursts.map(micros),
      ...(bursts === bridge && { goal: { atMost: 110 } }),
      ...beside(plain.map(micros), [
        { name: "BullMQ's worker", values: bullmq.map(micros) },
        { name: 'BullMQ with Redis', values: bullmq.map(microsWithRedis) },
      ]),
    },
    ...firsts(name, bursts),
    {
      name: `${name}: repeated deliveries`,
      unit: '',
      values: bursts.map(({ repeats }) => repeats),
    },
    {
      name: `${name}: times shards were lost`,
      unit: '',
      values: bursts.map(({ shardsLost }) => shardsLost),
    },
    { name: `${name}: peak memory`, unit: 'MB', values: bursts.map(({ peakMb }) => peakMb) },
  ]
  return [...burst('embedded', bridge, 60), ...burst('Kafka', kafka, 150)]
}

/** The goal counts from the commit. Where the log does not keep its time, from before it: when the event was held. */
function firsts(name: string, bursts: readonly Burst[]): Figure[] {
  const committed = bursts.filter((burst): burst is BurstOnKafka => 'slowestFirstCommittedMs' in burst)
  const goal = { atMost: 1000 }
  if (committed.length === 0) return [{ ...firstDelivery(name, bursts), goal }]
  const values = committed.map(({ slowestFirstCommittedMs }) => slowestFirstCommittedMs)
  return [
    { name: `${name}: first delivery of every endpoint, from commit`, unit: 'ms', values, goal },
    firstDelivery(name, bursts),
  ]
}

function bullmqFigures(bursts: readonly BurstOverRedis[]): Figure[] {
  return [
    outcome('BullMQ', bursts),
    { name: 'BullMQ: CPU of the worker for a delivery', unit: 'µs', values: bursts.map(micros) },
    { name: 'BullMQ: CPU with that of Redis', unit: 'µs', values: bursts.map(microsWithRedis) },
    firstDelivery('BullMQ', bursts),
    { name: 'BullMQ: peak memory of the worker', unit: 'MB', values: bursts.map(({ peakMb }) => peakMb) },
    {
      name: 'BullMQ: peak memory of Redis',
      unit: 'MB',
      values: bursts.map(({ redisPeakMb }) => redisPeakMb),
    },
  ]
}

/** Batches beside single events. */
function batchFigures({ bridge, batched }: Runs): Figure[] {
  const name = `embedded, maxBatch ${BATCHED}`
  const beside = (values: number[]) => ({ baselines: [{ name: 'one event a request', values }] })
  return [
    { ...outcome(name, batched), ...beside(bridge.map(seconds)) },
    {
      name: `${name}: CPU of the sender for an event`,
      unit: 'µs',
      values: batched.map(micros),
      ...beside(bridge.map(micros)),
    },
    { name: `${name}: repeated events`, unit: '', values: batched.map(({ repeats }) => repeats) },
  ]
}

function outcome(name: string, bursts: readonly Burst[]): Figure {
  return {
    name: `${name}: ${FULL.events} events to ${FULL.endpoints} endpoints`,
    unit: 's',
    values: bursts.map(seconds),
  }
}

function firstDelivery(name: string, bursts: readonly Burst[]): Figure {
  return {
    name: `${name}: first delivery of every endpoint, from held`,
    unit: 'ms',
    values: bursts.map(({ slowestFirstMs }) => slowestFirstMs),
  }
}

function otherFigures({ bridge, few, healthy, mixed, guardMicros }: Runs): Figure[] {
  return [
    {
      name: `${FEW} endpoints: held to received, p99`,
      unit: 'ms',
      values: few.map(({ p99 }) => p99),
      goal: { atMost: 150 },
    },
    {
      name: `${MIXED} endpoints, a third of them unhealthy: healthy p99`,
      unit: 'ms',
      values: mixed.map(({ p99 }) => p99),
      baselines: [{ name: 'that of all healthy', values: healthy.map(({ p99 }) => p99) }],
    },
    {
      name: 'address guard, per attempt',
      unit: 'µs',
      values: guardMicros,
      goal: { atMost: 0.02 * median(bridge.map(micros)) },
    },
  ]
}

/** Time of the address guard per attempt at a name whose two DNS answers are cached, as they are for five seconds. */
async function guardMicros(): Promise<number> {
  const rules = addressRules({ allowNets: [], allowHttp: false, ports: [443] })
  const verdict = judgeUrl('https://hooks.example.com/in', rules)
  if (verdict.kind === 'refused') throw new Error(verdict.message)
  const answers = ['93.184.216.34', '2606:2800:220:1:248:1893:25c8:1946']
  const began = process.cpuUsage()
  for (let count = 0; count < GUARDED; count++)
    await checkAddresses(verdict.target, rules, async () => answers)
  const { user, system } = process.cpuUsage(began)
  return (user + system) / GUARDED
}

/** Sends all events at once to endpoints that all respond, through a bridge with these extra settings. */
async function burstThroughBridge(
  seed: number,
  extra: Record<string, string> = {},
  members: object = {},
): Promise<BurstOfBridge> {
  await using stack = new AsyncDisposableStack()
  const sink = stack.use(await startSink())
  const { bridge, sandbox } = await startSender(stack, seed, extra)
  await register(bridge, sink, many('ok', FULL.endpoints), members)
  const burst = await measure(bridge.pid, sink, async () => {
    sandbox.publish(items(seed, FULL.events))
    await came(sink, FULL.events * FULL.endpoints)
  })
  return { ...burst, shardsLost: bridge.stderr().split('"event":"shards.lost"').length - 1 }
}

async function burstOnKafka(seed: number, runtime: KafkaRuntime): Promise<BurstOnKafka> {
  await using cluster = await startCluster({ runtime })
  const [node] = cluster.nodes
  if (node === undefined) throw new Error('no broker has started')
  const burst = await burstThroughBridge(seed, { BRIDGE_KAFKA_BROKERS: cluster.brokers.join(',') })
  const committedMs = await commitTimes(node.logFolder, topicName(SHIPPED_PREFIX, ALL))
  const waits = burst.firsts.map(({ sequence, receivedMs }) => {
    const sinceMs = committedMs.get(sequence)
    if (sinceMs === undefined) throw new Error(`event ${sequence} was delivered and is not committed`)
    return receivedMs - sinceMs
  })
  return { ...burst, slowestFirstCommittedMs: Math.max(...waits) }
}

/** Sends events one by one to endpoints of these behaviours; measures arrival at those that respond. */
async function trickle(seed: number, manners: readonly string[]): Promise<Burst> {
  await using stack = new AsyncDisposableStack()
  const sink = stack.use(await startSink())
  const { bridge, sandbox } = await startSender(stack, seed)
  await register(bridge, sink, manners)
  const all = items(seed, TRICKLED)
  const healthy = manners.filter((manner) => manner === 'ok').length
  return await measure(bridge.pid, sink, async () => {
    for (const item of all) {
      sandbox.publish([item])
      await wait(TRICKLE_PAUSE_MS)
    }
    await came(sink, TRICKLED * healthy)
  })
}
