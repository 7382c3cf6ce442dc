/**
 * `npm run bench -- webhooks`: what a delivery costs and how long it takes, through a process of the product on the embedded
 * log and on Kafka, beside a plain loop in a process of its own; what endpoints that hang, refuse and drip do to the others;
 * what the address guard takes. Sender and receivers have a core each. Owns the runs and the goals.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { checkAddresses } from '../src/webhooks/address/guard.ts'
import { judgeUrl } from '../src/webhooks/address/judge-url.ts'
import { addressRules } from '../src/webhooks/address/rules.ts'
import { ADMIN_TOKEN } from '../test/support/bridge-process.ts'
import { startCluster } from '../test/support/kafka/cluster.ts'
import { findRuntime } from '../test/support/kafka/find-runtime.ts'
import type { KafkaRuntime } from '../test/support/kafka/runtime.ts'
import { type Figure, formatFigure, median } from './figures.ts'
import { cpuSeconds, peakMb } from './support/process-usage.ts'
import {
  came,
  items,
  many,
  pin,
  register,
  SENDER_CORE,
  type Sink,
  startSender,
  startSink,
} from './support/webhook-bench.ts'
import type { SinkReport } from './support/webhook-sink.ts'
import { retryFigures } from './webhook-retries.ts'

const RUNS = 3
const ENDPOINTS = 1000
const EVENTS = 500
/** Endpoints of a usual desk. */
const FEW = 10
/** Endpoints of the run with ill ones, and their manners: a fifth hangs, a tenth refuses, a twentieth drips. */
const MIXED = 100
const MANNERS = [...many('hang', 20), ...many('fail', 10), ...many('drip', 5), ...many('ok', 65)]
const TRICKLED = 200
/** Between two events of a trickle. */
const TRICKLE_PAUSE_MS = 100
const REST_MS = 3_000
const GUARDED = 200_000

/** The lines to print. */
export async function webhookLines(runs: number = RUNS): Promise<string[]> {
  const found = await findRuntime(process.env)
  if ('missing' in found) throw new Error(found.missing)
  const all: Runs = { bridge: [], kafka: [], plain: [], few: [], healthy: [], mixed: [], guardMicros: [] }
  for (let run = 1; run <= runs; run++) {
    all.bridge.push(await burstThroughBridge(run))
    all.kafka.push(await burstOnKafka(run, found.runtime))
    all.plain.push(await burstThroughLoop(run))
    all.few.push(await trickle(run, many('ok', FEW)))
    all.healthy.push(await trickle(run, many('ok', MIXED)))
    all.mixed.push(await trickle(run, MANNERS))
    all.guardMicros.push(await guardMicros())
  }
  return [...figuresOf(all), ...(await retryFigures(runs, found.runtime))].map(formatFigure)
}

/** What became of one burst. */
interface Burst extends SinkReport {
  cpuMicros: number
  peakMb: number
}

/** All that was measured, run by run. */
interface Runs extends Record<'bridge' | 'kafka' | 'plain' | 'few' | 'healthy' | 'mixed', Burst[]> {
  /** Of the address guard, for one attempt. */
  guardMicros: number[]
}

function figuresOf({ bridge, kafka, plain, few, healthy, mixed, guardMicros }: Runs): Figure[] {
  const seconds = ({ firstHeldMs, lastMs }: Burst): number => (lastMs - firstHeldMs) / 1000
  const micros = ({ cpuMicros, received }: Burst): number => cpuMicros / received
  const burst = (name: string, bursts: readonly Burst[], longestSeconds: number): Figure[] => [
    {
      name: `${name}: ${EVENTS} events to ${ENDPOINTS} endpoints`,
      unit: 's',
      values: bursts.map(seconds),
      goal: { atMost: longestSeconds },
      baseline: { name: 'a plain loop', values: plain.map(seconds) },
    },
    {
      name: `${name}: CPU of the sender for a delivery`,
      unit: 'µs',
      values: bursts.map(micros),
      ...(bursts === bridge && { goal: { atMost: 110 } }),
      baseline: { name: 'a plain loop', values: plain.map(micros) },
    },
    {
      name: `${name}: first delivery of every endpoint`,
      unit: 'ms',
      values: bursts.map(({ slowestFirstMs }) => slowestFirstMs),
      goal: { atMost: 1000 },
    },
    { name: `${name}: peak memory`, unit: 'MB', values: bursts.map((one) => one.peakMb) },
  ]
  return [
    ...burst('embedded', bridge, 60),
    ...burst('Kafka', kafka, 150),
    {
      name: `${FEW} endpoints: held to received, p99`,
      unit: 'ms',
      values: few.map(({ p99 }) => p99),
      goal: { atMost: 150 },
    },
    {
      name: `${MIXED} endpoints, a third of them ill: healthy p99`,
      unit: 'ms',
      values: mixed.map(({ p99 }) => p99),
      baseline: { name: 'that of all healthy', values: healthy.map(({ p99 }) => p99) },
    },
    {
      name: 'address guard, an attempt',
      unit: 'µs',
      values: guardMicros,
      goal: { atMost: 0.02 * median(bridge.map(micros)) },
    },
  ]
}

/** What the guard takes for an attempt at a name whose two answers are held, as they are within five seconds. */
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

/** All events at once, to endpoints that all answer; through a bridge with such settings besides. */
async function burstThroughBridge(seed: number, extra: Record<string, string> = {}): Promise<Burst> {
  await using stack = new AsyncDisposableStack()
  const sink = stack.use(await startSink())
  const { bridge, sandbox } = await startSender(stack, seed, extra)
  await register(bridge, sink, many('ok', ENDPOINTS))
  return await measure(bridge.pid, sink, async () => {
    sandbox.publish(items(seed, EVENTS))
    await came(sink, EVENTS * ENDPOINTS)
  })
}

async function burstOnKafka(seed: number, runtime: KafkaRuntime): Promise<Burst> {
  await using cluster = await startCluster({ runtime })
  return await burstThroughBridge(seed, { BRIDGE_KAFKA_BROKERS: cluster.brokers.join(',') })
}

/** The same through the plain loop, which follows a bridge without endpoints. */
async function burstThroughLoop(seed: number): Promise<Burst> {
  await using stack = new AsyncDisposableStack()
  const sink = stack.use(await startSink())
  const { bridge, sandbox, directory } = await startSender(stack, seed)
  const list = join(directory, 'endpoints')
  writeFileSync(
    list,
    many('ok', ENDPOINTS)
      .map((manner, place) => `${sink.url}/${manner}/${place}`)
      .join('\n'),
  )
  const loop = spawn(process.execPath, [join(import.meta.dirname, 'plain-webhooks.ts')], {
    env: { ...process.env, BRIDGE_URL: bridge.ready.http, BRIDGE_TOKEN: ADMIN_TOKEN, ENDPOINTS: list },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  stack.defer(() => void loop.kill('SIGKILL'))
  await once(loop.stdout, 'data')
  pin(loop.pid ?? 0, SENDER_CORE)
  return await measure(loop.pid ?? 0, sink, async () => {
    sandbox.publish(items(seed, EVENTS))
    await came(sink, EVENTS * ENDPOINTS)
  })
}

/** Events one by one, to endpoints of these manners; what counts is when they are with those that answer. */
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

async function measure(pid: number, sink: Sink, work: () => Promise<void>): Promise<Burst> {
  await wait(REST_MS)
  await sink.report()
  const before = cpuSeconds(pid)
  await work()
  const cpuMicros = (cpuSeconds(pid) - before) * 1e6
  return { ...(await sink.report()), cpuMicros, peakMb: peakMb(pid) }
}
