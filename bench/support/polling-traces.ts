/**
 * Provides the times at which items became visible, for the polling simulation: modelled weeks, weeks of the sandbox's
 * market, either shifted by an hour, and traces from a file.
 */
import { createCalendar } from '../../src/core/calendar/calendar.ts'
import { intensity } from '../../src/core/calendar/intensity.ts'
import { type SeededChance, seededChance } from '../../src/core/chance.ts'
import { DAY_MS, HOUR_MS } from '../../src/core/durations.ts'
import { createIssuers } from '../../src/sandbox/market/issuers.ts'
import { normalDay } from '../../src/sandbox/market/scenario.ts'

const ITEMS_A_DAY = 1900
/** The total of a day differs by so much, as a share (2,100 to 2,710 were counted where 2,280 are usual). */
const DAY_SPREAD = 0.07
const MONTH_FIRST_FACTOR = 1.19
/** On such a share of days the first burst pauses, until one of these seconds of its minute. */
const PAUSE_SHARE = 0.25
const PAUSES_S = [12, 22, 26]
const CLOSED_ITEMS = 2

/** Items in the order in which they became visible; ms since 1970. */
export interface Trace {
  name: string
  startMs: number
  endMs: number
  /** When each became visible, rising. */
  visibleMs: number[]
  /** Added to the times of visibility to get the items' own: −900,000 on a plan that shows them 15 minutes late. */
  stampOffMs: number
  /** By how much the usual day is moved, ms: where its bursts are. */
  shiftMs: number
}

const calendar = createCalendar()

/** Days from `startMs` on whose counts and seconds are drawn by the model. */
export function modelTrace(seed: number, startMs: number, days: number): Trace {
  const chance = seededChance(seed)
  let month = ''
  return traceOf('model', startMs, days, (date) => {
    if (!calendar.isBusinessDay(date)) return scatter(chance, 0, 86_400, drawn(chance, CLOSED_ITEMS))
    const isFirst = date.slice(0, 7) !== month && month !== ''
    month = date.slice(0, 7)
    const spread = 1 + DAY_SPREAD * normal(chance)
    return modelDay(chance, ITEMS_A_DAY * spread * (isFirst ? MONTH_FIRST_FACTOR : 1))
  })
}

/** Days of the sandbox's market, as `bridge sandbox` publishes them. */
export function sandboxTrace(seed: number, startMs: number, days: number): Trace {
  const market = { seed, issuers: createIssuers(seed) }
  return traceOf('sandbox', startMs, days, (date) => {
    if (!calendar.isBusinessDay(date)) return []
    const midnightMs = calendar.momentMs(date, 0)
    return normalDay(market, date).flatMap(({ kind, atMs }) =>
      kind === 'publish' ? [(atMs - midnightMs) / 1000] : [],
    )
  })
}

/** The same trace with every item so much later. */
export function shifted(trace: Trace, name: string, shiftMs: number): Trace {
  return { ...trace, name, visibleMs: trace.visibleMs.map((ms) => ms + shiftMs), shiftMs }
}

/**
 * The trace of a file with the lines `date,london_time,count`, a header among them or not.
 * @throws Error naming the first line that cannot be read
 */
export function fileTrace(name: string, text: string): Trace {
  const visibleMs: number[] = []
  text.split(/\r?\n/).forEach((line, index) => {
    if (line.trim() === '' || (index === 0 && /date/i.test(line))) return
    const [, date, hour, minute, second = '0', count] =
      /^(\d{4}-\d\d-\d\d),(\d\d):(\d\d)(?::(\d\d(?:\.\d+)?))?,(\d+)\s*$/.exec(line) ?? []
    if (date === undefined || Number.isNaN(Date.parse(date))) {
      throw new Error(
        `${name}, line ${index + 1}: expected date,london_time,count, as 2026-06-01,07:00:03,12`,
      )
    }
    const atMs = calendar.momentMs(date, Number(hour) * 60 + Number(minute)) + Number(second) * 1000
    for (let item = 0; item < Number(count); item++) visibleMs.push(atMs)
  })
  visibleMs.sort((one, other) => one - other)
  const [firstMs] = visibleMs
  const lastMs = visibleMs.at(-1)
  if (firstMs === undefined || lastMs === undefined) throw new Error(`${name}: no lines with items`)
  const startMs = calendar.momentMs(calendar.londonDate(firstMs), 0)
  const days = Math.floor((lastMs - startMs) / DAY_MS) + 1
  return { name, startMs, endMs: startMs + days * DAY_MS, visibleMs, stampOffMs: 0, shiftMs: 0 }
}

function traceOf(name: string, startMs: number, days: number, secondsOf: (date: string) => number[]): Trace {
  const visibleMs: number[] = []
  for (let day = 0; day < days; day++) {
    const date = calendar.londonDate(startMs + day * DAY_MS + 12 * HOUR_MS)
    const midnightMs = calendar.momentMs(date, 0)
    for (const second of secondsOf(date)) visibleMs.push(Math.floor(midnightMs + second * 1000))
  }
  visibleMs.sort((one, other) => one - other)
  return { name, startMs, endMs: startMs + days * DAY_MS, visibleMs, stampOffMs: 0, shiftMs: 0 }
}

function modelDay(chance: SeededChance, items: number): number[] {
  const total = intensity.reduce((sum, [, , share]) => sum + share, 0)
  return intensity.flatMap(([start, end, share]) => {
    const count = drawn(chance, (items * share) / total)
    if (start === 420) return firstBurst(chance, count)
    if (start === 430) return scatter(chance, 430 * 60 + 1, 9, count)
    return scatter(chance, start * 60, (end - start) * 60, count)
  })
}

/** The start slips by 1 to 5 s; on some days half of it comes after a pause. */
function firstBurst(chance: SeededChance, count: number): number[] {
  const startS = 420 * 60 + chance.between(1, 5)
  const paused = chance.yes(PAUSE_SHARE) ? Math.floor(count / 2) : 0
  const afterS = 420 * 60 + chance.pick(PAUSES_S)
  return [...scatter(chance, startS, 8, count - paused), ...scatter(chance, afterS, 8, paused)]
}

function scatter(chance: SeededChance, startS: number, lastsS: number, count: number): number[] {
  return Array.from({ length: count }, () => startS + chance.next() * lastsS)
}

/** A Poisson draw; for large means a rounded normal one. */
function drawn(chance: SeededChance, mean: number): number {
  if (mean > 30) return Math.max(0, Math.round(mean + Math.sqrt(mean) * normal(chance)))
  let count = 0
  for (let rest = Math.exp(-mean), product = chance.next(); product > rest; product *= chance.next()) count++
  return count
}

/** The sum of twelve draws: as good as normal within three deviations. */
function normal(chance: SeededChance): number {
  return Array.from({ length: 12 }, () => chance.next()).reduce((sum, each) => sum + each, -6)
}
