/**
 * Ingests the same mornings through this product and through a plain poller and compares losses: `npm run bench --
 * ingest`. The baseline is `plain-poller.ts`, in both its readings of `hasMore`; each program is killed once in the
 * first burst. The sandbox's own record is compared with what a `read_committed` reader finds.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { bridgeEnv } from '../test/support/bridge-process.ts'
import { createTopic, kafkaClient, uniqueName } from '../test/support/kafka/clients.ts'
import { startCluster } from '../test/support/kafka/cluster.ts'
import { findRuntime } from '../test/support/kafka/runtime/find-runtime.ts'
import { quantile } from './figures.ts'
import { type Morning, runMorning, type Subject, WEEKLY_QUOTA } from './support/morning.ts'

/** Each morning is killed at another time within its first burst. */
const MORNINGS = [
  { seed: 1, killAfterMs: 8_000 },
  { seed: 2, killAfterMs: 9_500 },
  { seed: 3, killAfterMs: 11_000 },
]
const POLL_MS = 5_000
const PAGE_SIZE = 100

type Make = (brokers: readonly string[], folder: string) => Promise<Subject>

const programs: readonly (readonly [name: string, make: Make])[] = [
  ['disclosure-bridge', bridge],
  ['plain poller', (brokers, folder) => plainPoller(brokers, folder, 'again')],
  ['plain poller that pages', (brokers, folder) => plainPoller(brokers, folder, 'walk')],
]

/** The table, a line each. Throws where no Kafka can be run here. */
export async function ingestTable(): Promise<string[]> {
  const found = await findRuntime(process.env)
  if ('missing' in found) throw new Error(found.missing)
  await using cluster = await startCluster({ runtime: found.runtime })
  const rows: string[][] = []
  for (const [name, make] of programs) {
    const mornings: Morning[] = []
    for (const plan of MORNINGS) {
      const folder = mkdtempSync(join(tmpdir(), 'bridge-bench-'))
      try {
        mornings.push(await runMorning(await make(cluster.brokers, folder), plan))
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    }
    rows.push(rowOf(name, mornings))
  }
  const head = ['', 'items', 'lost', 'doubled', 'delay p50', 'p99', 'max', 'units', 'peak memory']
  return [
    `${MORNINGS.length} mornings (scenario morning-short, plan advanced, ${WEEKLY_QUOTA} units a week),`,
    `kill -9 in the first burst, restarted at once; ${found.runtime.description}`,
    '',
    ...aligned([head, ...rows]),
    '',
    'Sums over the mornings; delay of what came, from visible upstream to read by a plain read_committed consumer;',
    'units of the quota; resident memory of the largest life.',
  ]
}

/** The product as one process, as `bridge run` starts it. */
async function bridge(brokers: readonly string[], folder: string): Promise<Subject> {
  const prefix = uniqueName('ingest')
  return {
    brokers,
    topic: `${prefix}.all`,
    start: (upstream) =>
      child('src/main.ts', ['run'], folder, {
        ...bridgeEnv(upstream, folder),
        BRIDGE_KAFKA_BROKERS: brokers.join(','),
        BRIDGE_TOPIC_PREFIX: prefix,
        BRIDGE_UPSTREAM_PLAN: 'advanced',
        BRIDGE_UPSTREAM_WEEKLY_QUOTA: String(WEEKLY_QUOTA),
      }),
  }
}

async function plainPoller(
  brokers: readonly string[],
  folder: string,
  overflow: 'again' | 'walk',
): Promise<Subject> {
  const topic = await createTopic(kafkaClient(brokers))
  return {
    brokers,
    topic,
    start: ({ url, key }) =>
      child('bench/baselines/plain-poller.ts', [], folder, {
        UPSTREAM_URL: url,
        UPSTREAM_KEY: key,
        PAGE_SIZE: String(PAGE_SIZE),
        POLL_MS: String(POLL_MS),
        KAFKA_BROKERS: brokers.join(','),
        TOPIC: topic,
        STATE_FILE: join(folder, 'state'),
        OVERFLOW: overflow,
      }),
  }
}

function child(file: string, args: string[], cwd: string, env: Record<string, string>): ChildProcess {
  const { PATH = '', HOME = '' } = process.env
  const script = resolve(import.meta.dirname, '..', file)
  return spawn(process.execPath, [script, ...args], { cwd, env: { PATH, HOME, ...env }, stdio: 'ignore' })
}

function rowOf(name: string, mornings: readonly Morning[]): string[] {
  const total = (of: (morning: Morning) => number): string =>
    String(mornings.reduce((sum, morning) => sum + of(morning), 0))
  const delays = mornings.flatMap(({ delaysMs }) => delaysMs)
  const delayAt = (share: number): string =>
    delays.length === 0 ? '–' : `${(quantile(delays, share) / 1000).toFixed(1)} s`
  return [
    name,
    total(({ shown }) => shown),
    total(({ lost }) => lost),
    total(({ doubled }) => doubled),
    delayAt(0.5),
    delayAt(0.99),
    delayAt(1),
    total(({ units }) => units),
    `${Math.max(...mornings.map(({ peakMb }) => peakMb)).toFixed(0)} MB`,
  ]
}

function aligned(rows: string[][]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows.map((row) =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  '),
  )
}
