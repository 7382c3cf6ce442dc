/**
 * Runs many stream clients during one burst of events: creates them, starts them and waits until they expect nothing more.
 */
import { seededChance } from '../../../src/core/chance.ts'
import { parseFilter } from '../../../src/core/filter/filter-parse.ts'
import { createIssuers } from '../../../src/sandbox/market/issuers.ts'
import type { Sandbox } from '../../../src/sandbox/sandbox.ts'
import { type ApiEvent, eventually, getJson, pullAll } from '../http/api-client.ts'
import { drawFilter } from '../worlds/market-filters.ts'
import { CutReader, type ReaderCounts } from './cut-reader.ts'
import { type EpochLog, lastWanted } from './reader-verdict.ts'
import { wires } from './stream-messages.ts'

/** Of the scenario, on its own clock. */
const FLOOD_MS = 63_000
/** The first readers' cuts begin with the flood, the last come after its end. */
const CUTS_UNTIL = 1.2
/** Readers come one after the other, so many every `SLICE_MS`. */
const SLICE_READERS = 50
const SLICE_MS = 100
/** For everything to be in the log, from the moment on when the flood could be over. */
const LOG_MS = 120_000
/** The overlap re-scan after a burst runs 20 s after its last overflow, and may return items from before the log began. */
const SWEEP_MS = 25_000
/** Covers two heartbeats and a missed ping: a reader without a message for that long gets no more. */
const STILL_MS = 45_000
const LOOK_MS = 500

/** Which readers, of which flood. */
export interface FloodReaders {
  seed: number
  readers: number
  /** Of each reader. */
  cuts: number
  /** Market seconds per real second. */
  speed: number
}

/** How long the flood lasts, ms. */
export function floodMs({ speed }: FloodReaders): number {
  return FLOOD_MS / speed
}

/** Half of them read server-sent events, a quarter each subprotocol; all filters and cuts come from the seed. */
export function createReaders(run: FloodReaders, urls: readonly string[]): CutReader[] {
  const issuers = createIssuers(run.seed)
  return Array.from({ length: run.readers }, (_, at) => {
    const chance = seededChance(run.seed * 1_000_003 + at)
    const wire = at % 2 === 0 ? 'sse' : chance.pick(wires.filter((name) => name !== 'sse'))
    const cutsAtMs = Array.from({ length: run.cuts }, () => chance.next() * floodMs(run) * CUTS_UNTIL)
    const filter = parseFilter(drawFilter(issuers, chance))
    return new CutReader({ urls, wire, filter, cutsAtMs: cutsAtMs.sort((a, b) => a - b), chance })
  })
}

/** Starts them, some at a time. */
export async function startReaders(readers: readonly CutReader[]): Promise<void> {
  for (const [at, reader] of readers.entries()) {
    reader.start()
    if (at % SLICE_READERS === 0) await sleepMs(SLICE_MS)
  }
}

/** Everything that a bridge's log has now. */
export async function logNow(base: string): Promise<ApiEvent[]> {
  const look = (): Promise<ApiEvent[] | null> => orBroken(pullAll(base))
  return (await eventually(look, (events) => events !== null)) ?? []
}

/**
 * null where the connection broke: this process is so busy with its readers that a request it has begun may be too late
 * for the bridge.
 */
async function orBroken<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked
  } catch (error) {
    if (error instanceof TypeError) return null
    throw error
  }
}

/**
 * The log when the flood is over: the last that the market showed is in it, no gap is open, and nothing more came, not even
 * with the sweep that a burst leaves owed.
 */
export async function wholeLog(base: string, sandbox: Sandbox): Promise<ApiEvent[]> {
  let before = 0
  let stillSinceMs = 0
  const look = async () => {
    await sleepMs(LOOK_MS)
    // Reading everything takes capacity from the other readers.
    if (!sandbox.finished()) return null
    const status = await orBroken(getJson<{ gaps: unknown[] }>(`${base}/v1/status`))
    const events = await orBroken(pullAll(base))
    if (status === null || events === null) return null
    const last = sandbox.truth().items.at(-1)
    if (events.length > before || status.gaps.length > 0) stillSinceMs = performance.now()
    before = events.length
    const isStill = performance.now() - stillSinceMs > SWEEP_MS
    return isStill && events.some(({ id }) => id === last?.guid) ? events : null
  }
  return (await eventually(look, (events) => events !== null, FLOOD_MS + LOG_MS)) ?? []
}

/** Resolves when every reader is through its cuts and has come to the last event that it wants, or nothing comes any more. */
export async function comeToRest(readers: readonly CutReader[], log: EpochLog): Promise<void> {
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

/** The history of all readers. */
export function sumOf(readers: readonly CutReader[]): ReaderCounts {
  const sum: ReaderCounts = { cuts: 0, lives: 0, rests: 0, ends: {} }
  for (const { counts } of readers) {
    for (const name of ['cuts', 'lives', 'rests'] as const) sum[name] += counts[name]
    for (const [why, times] of Object.entries(counts.ends)) sum.ends[why] = (sum.ends[why] ?? 0) + times
  }
  return sum
}

function sleepMs(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
