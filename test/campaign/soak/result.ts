/**
 * Judges a soak from its samples and days, and writes the result file: growth of memory over each stretch without a
 * restart, descriptors, and whether every simulated day was complete.
 */
import { renameSync, writeFileSync } from 'node:fs'
import type { SoakLog } from './bridges.ts'
import type { LoadCounts } from './load.ts'
import type { Sample } from './samples.ts'
import { floorsOf, type Point, type Slope, slopeOf } from './slope.ts'

/** Most that memory may grow after the first hour of a process. */
const MOST_MB_AN_HOUR = 1
/** What a process does in its first hour, compiling and filling its bounded buffers, says nothing of the next year. */
const WARM_MINUTES = 60
const WINDOW_MINUTES = 5
/** After a broker has come back. */
const RECONNECTED_MS = 60_000
/** Shorter stretches are not judged. */
const SHORTEST_MINUTES = 45
/** Until then a process opens what it keeps. */
const OPENING_MINUTES = 15

/** One simulated day. */
export interface SoakDay {
  date: string
  /** As the report says at its evening. */
  walk: string
  gapsLeft: number
  /** Published by the sandbox on that day, by its own list. */
  items: number
  /** Not in the log. */
  missing: string[]
  twice: string[]
  /** Left the listings before the bridge saw them. */
  vanished: number
  /** Owed to the endpoint that takes everything, and not delivered when the day was judged. */
  undelivered: number
  judgedAt: string
}

/** When a broker was stopped or killed, and for how long. */
interface BrokerStop {
  at: string
  signal: string
  seconds: number
}

/** One run on the store. */
export interface SoakRun {
  startedAt: string
  endedAt: string | null
  commit: string
  minutes: number
  restarts: { at: string; signal: string }[]
  brokerStops: BrokerStop[]
  counts: LoadCounts | null
  /** On disk, of the broker. */
  brokerMb?: number
  /** Why readers had to come back. */
  failures: Record<string, number>
  /** What must not be. */
  broken: string[]
}

/** The file's state over runs. */
export interface SoakState {
  log: SoakLog
  runs: SoakRun[]
  days: SoakDay[]
}

interface Stretch {
  process: string
  from: string
  /** Age of the process at its last sample. */
  minutes: number
  /** After the first hour, of the floors of five minutes; null where there are too few. */
  rssMbAnHour: Slope | null
  /** Of the old generation, where the samples have it. */
  heapMbAnHour: Slope | null
  rssMb: Spread
  heapMb: Spread
  /**
   * `first`, `last`: of its first half, without what it opens in the first minutes, and of its second half, the fewest of each
   * five minutes, of which a quarter is no more: connections come and go, and one look may meet a file that is being replaced.
   * Without the looks while a broker was away.
   */
  descriptors: { first: number; last: number; most: number }
  /** Of one core. */
  cpuPercent: number
  longestLoopDelayS: number
  storeMb: { first: number; last: number }
}

interface Spread {
  low: number
  median: number
  high: number
}

/** Writes the result file whole; a kill leaves the one before. */
export function writeResult(file: string, state: SoakState, samples: readonly Sample[]): void {
  const stops = state.runs.flatMap(({ brokerStops }) => brokerStops)
  const stretches = stretchesOf(samples, stops)
  const tested = stretches.filter(({ rssMbAnHour }) => rssMbAnHour !== null)
  const result = {
    node: process.version,
    log: state.log,
    goal: { mbAnHour: MOST_MB_AN_HOUR, afterMinutes: WARM_MINUTES, windowMinutes: WINDOW_MINUTES },
    minutes: Math.round(state.runs.reduce((sum, run) => sum + minutesOf(run), 0)),
    verdict: {
      days: state.days.length,
      incompleteDays: state.days.filter((day) => !isWhole(day)).map(({ date }) => date),
      growing: tested.filter((one) => isGrowing(one.rssMbAnHour) || isGrowing(one.heapMbAnHour)).map(nameOf),
      unsure: tested.filter((one) => isUnsure(one.rssMbAnHour) || isUnsure(one.heapMbAnHour)).map(nameOf),
      moreDescriptors: stretches.filter(({ descriptors: { first, last } }) => last > first).map(nameOf),
      broken: state.runs.flatMap(({ broken }) => broken),
    },
    runs: state.runs,
    days: state.days,
    stretches,
  }
  writeFileSync(`${file}.new`, `${JSON.stringify(result, round, 2)}\n`)
  renameSync(`${file}.new`, file)
}

/** How long a run took, or has taken so far. */
function minutesOf({ startedAt, endedAt }: SoakRun): number {
  return ((endedAt === null ? Date.now() : Date.parse(endedAt)) - Date.parse(startedAt)) / 60_000
}

/** True where nothing is wrong with the day. */
export function isWhole({ walk, gapsLeft, missing, twice, undelivered }: SoakDay): boolean {
  return walk === 'complete' && gapsLeft + missing.length + twice.length + undelivered === 0
}

/** Growth that is surely above the goal. */
function isGrowing(slope: Slope | null): boolean {
  return slope !== null && slope.low > MOST_MB_AN_HOUR
}

/** The interval holds the goal. */
function isUnsure(slope: Slope | null): boolean {
  return slope !== null && slope.low <= MOST_MB_AN_HOUR && slope.high > MOST_MB_AN_HOUR
}

const nameOf = ({ process, from }: Stretch): string => `${process} from ${from}`

/** Each life of a process that was long enough. */
function stretchesOf(samples: readonly Sample[], stops: readonly BrokerStop[]): Stretch[] {
  const lives = Map.groupBy(samples, ({ name, pid, atMs, age }) => `${name} ${pid} ${startOf(atMs, age)}`)
  return [...lives.values()].flatMap((life) => {
    const [first, last] = [life[0], life.at(-1)]
    if (first === undefined || last === undefined || last.age < SHORTEST_MINUTES) return []
    const warm = life.filter(({ age }) => age >= WARM_MINUTES)
    const growth = (figure: (sample: Sample) => number): Slope | null => {
      const floors = windowFloors(warm, figure)
      return slopeOf(floors.map(({ x, y }) => ({ x: x / 60, y })))
    }
    const middle = (OPENING_MINUTES + last.age) / 2
    const descriptorsOf = (some: readonly Sample[]): number => {
      const connected = some.filter(({ atMs }) => !stops.some((stop) => isDuring(stop, atMs)))
      const floors = windowFloors(connected, ({ descriptors }) => descriptors)
      return placed(
        floors.map(({ y }) => y),
        0.25,
      )
    }
    return {
      process: first.name,
      from: new Date(first.atMs).toISOString(),
      minutes: last.age,
      rssMbAnHour: growth(({ rssMb }) => rssMb),
      heapMbAnHour: growth(({ heapMb, oldMb = heapMb }) => oldMb),
      rssMb: spreadOf(life.map(({ rssMb }) => rssMb)),
      heapMb: spreadOf(life.map(({ heapMb }) => heapMb)),
      descriptors: {
        first: descriptorsOf(life.filter(({ age }) => age >= OPENING_MINUTES && age < middle)),
        last: descriptorsOf(life.filter(({ age }) => age >= middle)),
        most: Math.max(...life.map(({ descriptors }) => descriptors)),
      },
      cpuPercent: ((last.cpuS - first.cpuS) / (last.atMs - first.atMs)) * 100_000,
      longestLoopDelayS: last.loopS,
      storeMb: { first: first.storeMb, last: last.storeMb },
    }
  })
}

/** True while the broker is away, and until its clients have connected again. */
function isDuring({ at, seconds }: BrokerStop, atMs: number): boolean {
  const sinceMs = atMs - Date.parse(at)
  return sinceMs >= 0 && sinceMs < seconds * 1000 + RECONNECTED_MS
}

/** The least of that figure in each window, by the minutes of the process's life. */
function windowFloors(samples: readonly Sample[], figure: (sample: Sample) => number): Point[] {
  return floorsOf(
    samples.map((sample) => ({ x: sample.age, y: figure(sample) })),
    WINDOW_MINUTES,
  )
}

/** The same for all samples of a process: a pid may be given again. */
function startOf(atMs: number, age: number): number {
  return Math.round((atMs - age * 60_000) / 10_000)
}

function spreadOf(values: readonly number[]): Spread {
  return { low: placed(values, 0), median: placed(values, 0.5), high: placed(values, 1) }
}

/** The value of which that share is no more. */
function placed(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right)
  return sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN
}

/** Two decimals are more than is known. */
function round(_key: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value) ? Math.round(value * 100) / 100 : value
}
