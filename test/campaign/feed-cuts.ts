/**
 * Readers of the live feed with random filters, cut again and again during a flood, while the bridge is killed and started
 * again once, and once begins its log afresh. Owns one such run and the sum over several. Used by
 * `npm run campaign -- --feed` and, with a hundred readers, by the tests.
 */
import { readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type SeededChance, seededChance } from '../../src/core/chance.ts'
import { parseFilter } from '../../src/core/filter-parse.ts'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { createIssuers } from '../../src/sandbox/issuers.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { type ApiEvent, eventually, getJson, pullAll } from '../support/api-client.ts'
import { type BridgeProcess, bridgeEnv, startBridge, temporaryDirectory } from '../support/bridge-process.ts'
import { CutReader, type ReaderCounts } from '../support/cut-reader.ts'
import { drawFilter } from '../support/market-filters.ts'
import {
  type EpochLog,
  epochLog,
  judgeReaders,
  lastWanted,
  type ReaderVerdict,
} from '../support/reader-verdict.ts'
import { wires } from '../support/stream-messages.ts'

/** Of the scenario, on its own clock. */
const FLOOD_MS = 63_000
/** When it happens, in shares of the flood. */
const KILL = { from: 0.15, to: 0.35 }
const NEW_EPOCH = { from: 0.5, to: 0.7 }
/** The first readers' cuts begin with the flood, the last come behind its end. */
const CUTS_UNTIL = 1.2
/** Readers come one after the other, so many a second. */
const READERS_A_SECOND = 500
/** For everything to be in the log once the flood is over. */
const LOG_MS = 120_000
/** Two heartbeats and a missed ping lie in it: whoever got nothing for so long gets nothing more. */
const STILL_MS = 45_000
const LOOK_MS = 500
/** Ports below those that the system gives to outgoing connections: none of the readers can take the bridge's. */
const PORTS = { from: 20_000, to: 30_000 }

/** Which run. */
export interface FeedCuts {
  seed: number
  readers: number
  /** Of each reader. */
  cuts: number
  /** Market seconds a second. */
  speed: number
  /** The new log begins without what was published before, so that what a reader had not taken yet cannot be had. */
  forgets: boolean
}

/** How it went. */
export interface FeedCutRun extends FeedCuts, ReaderVerdict {
  went: ReaderCounts
  /** Of each epoch's log, gaps among them. */
  events: number[]
  seconds: number
}

/** One run, to the end of the last reader. */
export async function feedCutRun(run: FeedCuts): Promise<FeedCutRun> {
  const beganMs = performance.now()
  const chance = seededChance(run.seed)
  const lengthMs = FLOOD_MS / run.speed
  using directory = temporaryDirectory()
  const port = await freePort(chance)
  const sandbox = await startSandbox(
    { scenario: 'flood', plan: 'advanced', weeklyQuota: 1_000_000, seed: run.seed, speed: run.speed },
    { clock: systemClock },
  )
  const env = bridgeEnv(sandbox, directory.path, {
    BRIDGE_UPSTREAM_PLAN: 'advanced',
    BRIDGE_BACKFILL: 'P2D',
    BRIDGE_HTTP_PORT: String(port),
  })
  const readers: CutReader[] = []
  let bridge: BridgeProcess | null = null
  try {
    bridge = await startBridge(env)
    await hasEvents(bridge)
    const killAtMs = performance.now() + lengthMs * share(chance, KILL)
    const newEpochAtMs = performance.now() + lengthMs * share(chance, NEW_EPOCH)
    readers.push(...createReaders(run, bridge.ready.http, lengthMs))
    for (const [at, reader] of readers.entries()) {
      reader.start()
      if (at % (READERS_A_SECOND / 10) === 0) await sleepMs(100)
    }
    await sleepMs(killAtMs - performance.now())
    await bridge.stop('SIGKILL')
    bridge = await startBridge(env)
    await sleepMs(newEpochAtMs - performance.now())
    await bridge.stop()
    const old = await logOf(env)
    // The log begins afresh; where the process works stays.
    for (const name of readdirSync(directory.path)) rmSync(join(directory.path, name), { recursive: true })
    bridge = await startBridge(run.forgets ? { ...env, BRIDGE_BACKFILL: 'PT0S' } : env)
    const logs = [epochLog(old), epochLog(await wholeLog(bridge.ready.http, sandbox))]
    await comeToRest(readers, logs[1] ?? epochLog([]))
    for (const reader of readers) reader.stop()
    const verdict = judgeReaders(readers, logs)
    const code = await bridge.stop()
    if (code !== 0) verdict.broken.push(`the bridge ended with ${code}: ${bridge.stderr().slice(-2000)}`)
    const events = logs.map((log) => log.events.length)
    const seconds = Math.round((performance.now() - beganMs) / 1000)
    return { ...run, went: sumOf(readers), events, seconds, ...verdict }
  } finally {
    for (const reader of readers) reader.stop()
    await bridge?.stop('SIGKILL')
    await sandbox.close()
  }
}

function share(chance: SeededChance, { from, to }: { from: number; to: number }): number {
  return from + chance.next() * (to - from)
}

/** Half of them read server-sent events, a quarter each subprotocol. */
function createReaders(run: FeedCuts, url: string, lengthMs: number): CutReader[] {
  const issuers = createIssuers(run.seed)
  return Array.from({ length: run.readers }, (_, at) => {
    const chance = seededChance(run.seed * 1_000_003 + at)
    const wire = at % 2 === 0 ? 'sse' : chance.pick(wires.filter((name) => name !== 'sse'))
    const cutsAtMs = Array.from({ length: run.cuts }, () => chance.next() * lengthMs * CUTS_UNTIL)
    const filter = parseFilter(drawFilter(issuers, chance))
    return new CutReader({ url, wire, filter, cutsAtMs: cutsAtMs.sort((a, b) => a - b), chance })
  })
}

/** A place of the old epoch is worth a cursor only where there is an event. */
async function hasEvents({ ready }: BridgeProcess): Promise<void> {
  await eventually(
    () => pullAll(ready.http),
    (events) => events.length > 0,
  )
}

/** What a stopped bridge's log holds, told by a process that adds nothing to it. */
async function logOf(env: Record<string, string>): Promise<ApiEvent[]> {
  const bridge = await startBridge({ ...env, BRIDGE_HTTP_PORT: '0', BRIDGE_ROLES: 'api' })
  try {
    return await pullAll(bridge.ready.http)
  } finally {
    await bridge.stop()
  }
}

/** The log when the flood is over: the last that the market showed is in it, no gap is open, and nothing more came. */
async function wholeLog(base: string, sandbox: Sandbox): Promise<ApiEvent[]> {
  let before = 0
  const look = async () => {
    await sleepMs(LOOK_MS)
    // Reading everything takes from the bridge what it serves its readers with.
    if (!sandbox.finished()) return null
    const { gaps } = await getJson<{ gaps: unknown[] }>(`${base}/v1/status`)
    const events = await pullAll(base)
    const last = sandbox.truth().items.at(-1)
    const isWhole =
      events.length === before && gaps.length === 0 && events.some(({ id }) => id === last?.guid)
    before = events.length
    return isWhole ? events : null
  }
  return (await eventually(look, (events) => events !== null, FLOOD_MS + LOG_MS)) ?? []
}

/** Resolves when every reader is through its cuts and has come to the last event that it wants, or nothing comes any more. */
async function comeToRest(readers: readonly CutReader[], log: EpochLog): Promise<void> {
  const ends = readers.map((reader) => ({ reader, last: lastWanted(log, reader.options.filter) }))
  const isThere = ({ reader: { taken, isThroughCuts }, last }: (typeof ends)[number]): boolean => {
    const at = taken.at(-1)
    return isThroughCuts && (last === 0 || (at?.epoch === log.epoch && at.sequence >= last))
  }
  const came = (): number => readers.reduce((sum, { taken, counts }) => sum + taken.length + counts.cuts, 0)
  let before = came()
  for (let stillMs = 0; stillMs < STILL_MS && !ends.every(isThere); stillMs += LOOK_MS) {
    await sleepMs(LOOK_MS)
    if (came() > before) stillMs = 0
    before = came()
  }
}

function sumOf(readers: readonly CutReader[]): ReaderCounts {
  const sum: ReaderCounts = { cuts: 0, lives: 0, rests: 0, ends: {} }
  for (const { counts } of readers) {
    for (const name of ['cuts', 'lives', 'rests'] as const) sum[name] += counts[name]
    for (const [why, times] of Object.entries(counts.ends)) sum.ends[why] = (sum.ends[why] ?? 0) + times
  }
  return sum
}

async function freePort(chance: SeededChance): Promise<number> {
  for (;;) {
    const port = chance.between(PORTS.from, PORTS.to)
    const server = createServer()
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false))
      server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
    })
    if (isFree) return port
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
