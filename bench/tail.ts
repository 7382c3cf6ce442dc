/**
 * Measures the delay from a commit to the recent-events buffer of every other process. One process writes, two follow
 * with their own replica, and a plain kafkajs consumer is the baseline. The time runs from the commit's resolution in
 * the writer until readers of the other process can get the event, by this machine's clock.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { systemClock } from '../src/lifecycle/clock.ts'
import type { Writer } from '../src/log/events.ts'
import { openKafkaLog } from '../src/log-kafka/log.ts'
import { temporaryDirectory } from '../test/support/bridge-process.ts'
import { startCluster } from '../test/support/kafka/cluster.ts'
import { kafkaLogOptions } from '../test/support/kafka/kafka-logs.ts'
import { findRuntime } from '../test/support/kafka/runtime/find-runtime.ts'
import type { Figure } from './figures.ts'
import { syntheticEvents } from './support/synthetic-events.ts'

const CHILD = resolve(import.meta.dirname, 'support/tail-child.ts')
const COMMITS = 1_000
const RUNS = 5
/** Between two commits, ms: what one of them sets off is over before the next. */
const PAUSE_MS = 40

/** Medians and tails of the way to each process; throws where no Kafka can be run here. */
export async function tailFigures(runs: number = RUNS): Promise<Figure[]> {
  const found = await findRuntime(process.env)
  if ('missing' in found) throw new Error(found.missing)
  await using cluster = await startCluster({ runtime: found.runtime })
  const copies: number[][] = []
  const plain: number[][] = []
  for (let run = 0; run < runs; run++) {
    const [first, second, consumer] = await oneRun(cluster.brokers, `tail-${run}`)
    // The slower of both processes for each event: it is in every buffer when it is in the last one.
    copies.push((first ?? []).map((delayMs, n) => Math.max(delayMs, second?.[n] ?? 0)))
    plain.push(consumer ?? [])
  }
  const figure = (share: number): Figure => ({
    name: `commit resolved to in both replicas' buffers, p${share * 100}`,
    unit: 'ms',
    values: copies.map((delays) => at(delays, share)),
    baselines: [{ name: 'a plain kafkajs consumer', values: plain.map((delays) => at(delays, share)) }],
  })
  return [figure(0.5), { ...figure(0.99), goal: { atMost: 50 } }]
}

/** Delays of each event in each of the three processes, ms. */
async function oneRun(brokers: readonly string[], prefix: string): Promise<number[][]> {
  using one = temporaryDirectory()
  using other = temporaryDirectory()
  const log = openKafkaLog({ ...kafkaLogOptions(brokers, prefix), clock: systemClock })
  const { signal } = new AbortController()
  const writer = await log.claim(await log.campaign(signal), signal)
  const watchers = [
    watch('copy', brokers, prefix, one.path),
    watch('copy', brokers, prefix, other.path),
    watch('plain', brokers, prefix, ''),
  ]
  try {
    await Promise.all(watchers.map(({ ready }) => ready))
    const committedMs = await commitCalmly(writer)
    const seen = await Promise.all(watchers.map(({ times }) => times))
    return seen.map((times) =>
      committedMs.map((startMs, n) => Math.max(0, (times.get(n + 1) ?? Number.NaN) - startMs)),
    )
  } finally {
    for (const { child } of watchers) child.kill('SIGKILL')
    await log.close()
  }
}

/** One event a commit; when each had resolved, ms since 1970. */
async function commitCalmly(writer: Writer): Promise<number[]> {
  const next = syntheticEvents(1)
  const committedMs: number[] = []
  for (let n = 0; n < COMMITS; n++) {
    await new Promise((go) => setTimeout(go, PAUSE_MS))
    await writer.commit({ events: next(1).map(({ sequence: _, epoch: __, ...event }) => event) })
    committedMs.push(performance.timeOrigin + performance.now())
  }
  return committedMs
}

interface Watcher {
  child: ChildProcess
  ready: Promise<void>
  /** By sequence, ms since 1970. */
  times: Promise<Map<number, number>>
}

function watch(kind: 'copy' | 'plain', brokers: readonly string[], prefix: string, dataDir: string): Watcher {
  const args = [CHILD, kind, brokers.join(','), prefix, dataDir, String(COMMITS)]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const ready = Promise.withResolvers<void>()
  const times = Promise.withResolvers<Map<number, number>>()
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line === 'ready') ready.resolve()
    else times.resolve(new Map(JSON.parse(line) as [number, number][]))
  })
  child.once('exit', (code) => {
    const gone = new Error(`a process that watches ended with ${code}`)
    ready.reject(gone)
    times.reject(gone)
  })
  times.promise.catch(() => undefined)
  return { child, ready: ready.promise, times: times.promise }
}

function at(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}
