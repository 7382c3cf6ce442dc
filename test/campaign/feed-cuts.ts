/**
 * Disconnects readers of the live feed again and again during a flood of events and checks that none misses an event.
 * The readers have random filters; the bridge is killed and restarted once, and starts a new log once. Used by `npm
 * run campaign -- --feed` and, with a hundred readers, by the tests.
 */
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { peakMb } from '../../bench/support/process-usage.ts'
import { type SeededChance, seededChance } from '../../src/core/chance.ts'
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
import { heldClock } from '../support/time/held-clock.ts'

/** When it happens, in shares of the flood. */
const KILL = { from: 0.15, to: 0.35 }
const NEW_EPOCH = { from: 0.5, to: 0.7 }

/** Settings of one run. */
export interface FeedCuts extends FloodReaders {
  /** The new log begins without what was published before, so that what a reader had not taken yet cannot be had. */
  forgets: boolean
}

/** The result of one run. */
export interface FeedCutRun extends FeedCuts, ReaderVerdict {
  went: ReaderCounts
  /** Of each epoch's log, gaps among them. */
  events: number[]
  /** The most memory that the last bridge had resident, MB; null if the system does not report it. */
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
  // The flood is short: on a slow machine it would be over before the bridge has started.
  const market = heldClock()
  const sandbox = await startSandbox(
    { scenario: 'flood', plan: 'advanced', weeklyQuota: 1_000_000, seed: run.seed, speed: run.speed },
    market,
  )
  const env = bridgeEnv(sandbox, directory.path, {
    BRIDGE_UPSTREAM_PLAN: 'advanced',
    // Backfilled items are late in the log: a cursor's time does not cover them, and a new epoch may start after them.
    BRIDGE_BACKFILL: 'PT0S',
    BRIDGE_HTTP_PORT: ports.join(),
  })
  const readers: CutReader[] = []
  let bridge: BridgeProcess | null = null
  try {
    bridge = await startBridge(env)
    market.release()
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
    // The log starts empty; the process keeps its ports and settings.
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

/** Stops the bridge and reports how that failed. */
async function stopFaults(bridge: BridgeProcess): Promise<string[]> {
  const code = await bridge.stop()
  return code === 0 ? [] : [`the bridge ended with ${code}: ${bridge.stderr().slice(-2000)}`]
}

/** A position of the old epoch makes a cursor only if it has an event. */
async function hasEvents({ ready }: BridgeProcess): Promise<void> {
  await eventually(
    () => logNow(ready.http),
    (events) => events.length > 0,
  )
}

/** Reads a stopped bridge's log through a process that adds nothing to it. */
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

/** Plays this many runs with consecutive seeds from `seed` on; even ones start a new log. Calls `notify` for each. */
export async function feedCutRuns(
  runs: number,
  { notify, ...first }: Omit<FeedCuts, 'forgets'> & { notify: (run: FeedCutRun) => void },
): Promise<FeedCutReport> {
  const report: FeedCutReport = { runs: [], failed: [] }
  for (let seed = first.seed; report.runs.length < runs; seed++) {
    const run = await feedCutRun({ ...first, seed, forgets: seed % 2 === 0 })
    report.runs.push(run)
    if (run.broken.length > 0) report.failed.push(`seed ${seed}: ${run.broken.join('; ')}`)
    notify(run)
  }
  return report
}
