/**
 * Readers of the live feed with random filters, cut again and again during a flood, while the bridge is killed and started
 * again once, and once begins its log afresh. Owns one such run and the sum over several. Used by
 * `npm run campaign -- --feed` and, with a hundred readers, by the tests.
 */
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { peakMb } from '../../bench/support/process-usage.ts'
import { type SeededChance, seededChance } from '../../src/core/chance.ts'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { type BridgeProcess, bridgeEnv, startBridge, temporaryDirectory } from '../support/bridge-process.ts'
import { type ApiEvent, eventually } from '../support/http/api-client.ts'
import { freePorts } from '../support/kafka/runtime/ports.ts'
import type { CutReader, ReaderCounts } from '../support/streams/cut-reader.ts'
import {
  comeToRest,
  createReaders,
  type FloodReaders,
  floodMs,
  logNow,
  startReaders,
  sumOf,
  wholeLog,
} from '../support/streams/flood-readers.ts'
import { epochLog, judgeReaders, type ReaderVerdict } from '../support/streams/reader-verdict.ts'

/** When it happens, in shares of the flood. */
const KILL = { from: 0.15, to: 0.35 }
const NEW_EPOCH = { from: 0.5, to: 0.7 }

/** Which run. */
export interface FeedCuts extends FloodReaders {
  /** The new log begins without what was published before, so that what a reader had not taken yet cannot be had. */
  forgets: boolean
}

/** How it went. */
export interface FeedCutRun extends FeedCuts, ReaderVerdict {
  went: ReaderCounts
  /** Of each epoch's log, gaps among them. */
  events: number[]
  /** The most memory that the last bridge had resident, MB; null where the system does not tell. */
  peakMb: number | null
  seconds: number
}

/** One run, to the end of the last reader. */
export async function feedCutRun(run: FeedCuts): Promise<FeedCutRun> {
  const beganMs = performance.now()
  const chance = seededChance(run.seed)
  const lengthMs = floodMs(run)
  using directory = temporaryDirectory()
  const ports = await freePorts(1)
  const sandbox = await startSandbox(
    { scenario: 'flood', plan: 'advanced', weeklyQuota: 1_000_000, seed: run.seed, speed: run.speed },
    { clock: systemClock },
  )
  const env = bridgeEnv(sandbox, directory.path, {
    BRIDGE_UPSTREAM_PLAN: 'advanced',
    // What a backfill finds stands late in the log: a cursor's time says nothing of it, and a new epoch may begin behind it.
    BRIDGE_BACKFILL: 'PT0S',
    BRIDGE_HTTP_PORT: ports.join(),
  })
  const readers: CutReader[] = []
  let bridge: BridgeProcess | null = null
  try {
    bridge = await startBridge(env)
    await hasEvents(bridge)
    const killAtMs = performance.now() + lengthMs * share(chance, KILL)
    const newEpochAtMs = performance.now() + lengthMs * share(chance, NEW_EPOCH)
    readers.push(...createReaders(run, [bridge.ready.http]))
    await startReaders(readers)
    await sleepMs(killAtMs - performance.now())
    await bridge.stop('SIGKILL')
    bridge = await startBridge(env)
    await sleepMs(newEpochAtMs - performance.now())
    const faults = await stopFaults(bridge)
    const old = await logOf(env)
    // The log begins afresh; where the process works stays.
    for (const name of readdirSync(directory.path)) rmSync(join(directory.path, name), { recursive: true })
    bridge = await startBridge(run.forgets ? env : { ...env, BRIDGE_BACKFILL: 'P2D' })
    const logs = [epochLog(old), epochLog(await wholeLog(bridge.ready.http, sandbox))]
    await comeToRest(readers, logs[1] ?? epochLog([]))
    for (const reader of readers) reader.stop()
    const verdict = judgeReaders(readers, logs)
    const peak = process.platform === 'linux' ? Math.round(peakMb(bridge.pid)) : null
    verdict.broken.push(...faults, ...(await stopFaults(bridge)))
    const events = logs.map((log) => log.events.length)
    const seconds = Math.round((performance.now() - beganMs) / 1000)
    return { ...run, went: sumOf(readers), events, peakMb: peak, seconds, ...verdict }
  } finally {
    for (const reader of readers) reader.stop()
    await bridge?.stop('SIGKILL')
    await sandbox.close()
  }
}

function share(chance: SeededChance, { from, to }: { from: number; to: number }): number {
  return from + chance.next() * (to - from)
}

/** Asks the bridge to stop, and tells how that went wrong. */
async function stopFaults(bridge: BridgeProcess): Promise<string[]> {
  const code = await bridge.stop()
  return code === 0 ? [] : [`the bridge ended with ${code}: ${bridge.stderr().slice(-2000)}`]
}

/** A place of the old epoch is worth a cursor only where there is an event. */
async function hasEvents({ ready }: BridgeProcess): Promise<void> {
  await eventually(
    () => logNow(ready.http),
    (events) => events.length > 0,
  )
}

/** What a stopped bridge's log holds, told by a process that adds nothing to it. */
async function logOf(env: Record<string, string>): Promise<ApiEvent[]> {
  const bridge = await startBridge({ ...env, BRIDGE_HTTP_PORT: '0', BRIDGE_ROLES: 'api' })
  try {
    return await logNow(bridge.ready.http)
  } finally {
    await bridge.stop()
  }
}

function sleepMs(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** Several runs. */
export interface FeedCutReport {
  runs: FeedCutRun[]
  failed: string[]
}

/** So many runs, each with a seed of its own from `seed` on, the even ones forgetful; `tell` hears of each. */
export async function feedCutRuns(
  runs: number,
  { tell, ...first }: Omit<FeedCuts, 'forgets'> & { tell: (run: FeedCutRun) => void },
): Promise<FeedCutReport> {
  const report: FeedCutReport = { runs: [], failed: [] }
  for (let seed = first.seed; report.runs.length < runs; seed++) {
    const run = await feedCutRun({ ...first, seed, forgets: seed % 2 === 0 })
    report.runs.push(run)
    if (run.broken.length > 0) report.failed.push(`seed ${seed}: ${run.broken.join('; ')}`)
    tell(run)
  }
  return report
}
