/**
 * What a poll teaches: Gamma–Poisson beliefs with forgetting, cell by cell of the time that the poll covers. Owns the
 * update; pure. Refuses to know where a profile is kept.
 */
import type { Calendar } from '../../core/calendar/calendar.ts'
import { expected, factorOf, type LondonDay, londonDayOf, secondIn } from './day-kind.ts'
import { type Belief, type Profile, SHARP_ITEMS, type SharpMinute, SLOT_S, slotOf } from './profile.ts'

/** What is left of a belief's weight after as much time as it is about was seen again: half in some four days. */
const KEPT = 0.85
/**
 * The same for a sharp minute from which its burst has gone: it was to bring `items` or more, and brought at most `share`
 * of them. A burst that has moved would otherwise cost a poll of each of ten mornings.
 */
const GONE = { items: 20, share: 0.1, kept: 0.3 } as const
/** A factor is one for all slots, so it is forgotten more slowly: per usual day. */
const FACTOR_KEPT = 0.9
/** Longest time that one observation teaches from: what lies longer back is left out. */
const LONGEST_MS = 3 * 86_400_000
/** Most sharp minutes; the one with the fewest items makes place. */
const MOST_SHARP = 12
/** Items of one observation within a minute that make it sharp, and how often those that its slot expects. */
const NEW_SHARP_ITEMS = 20
const NEW_SHARP_TIMES = 3
/** A new sharp minute begins with so many days of what its slot expected. */
const NEW_SHARP_DAYS = 0.5
/** Observations by which a late plan is known. */
const LAGS_KEPT = 15
/** Lags below this are the poller's own. */
const SMALLEST_LAG_MS = 60_000

/** What became visible between two moments, by upstream's clock. */
export interface Observation {
  /** When the poll before began, ms since 1970. */
  fromMs: number
  /** When this poll began. */
  toMs: number
  /** The items' own times, ms since 1970. */
  timesMs: readonly number[]
  /** True where there may have been more of them than these. */
  atLeast: boolean
}

/** Counts and exposure of one day, by cell. */
interface Tally {
  day: LondonDay
  fromS: number
  toS: number
  seconds: number[]
}

/** The profile after one more observation. */
export function learn(profile: Profile, calendar: Calendar, observation: Observation): Profile {
  const toMs = observation.toMs
  const fromMs = Math.max(observation.fromMs, toMs - LONGEST_MS)
  if (toMs <= fromMs) return profile
  const lagMs = lagOf(profile)
  const arrivals = observation.timesMs.map((timeMs) => Math.min(toMs - 1, Math.max(fromMs, timeMs + lagMs)))
  let learnt = profile
  for (let day = londonDayOf(calendar, fromMs); day.startMs < toMs; day = londonDayOf(calendar, day.endMs)) {
    const inside = arrivals.filter((ms) => ms >= day.startMs && ms < day.endMs)
    const fromS = secondIn(day, Math.max(fromMs, day.startMs))
    const toS = toMs >= day.endMs ? 86_400 : secondIn(day, toMs)
    const tally = { day, fromS, toS, seconds: inside.map((ms) => secondIn(day, ms)) }
    learnt = day.isOpen
      ? learnOpenDay(learnt, tally, observation.atLeast)
      : { ...learnt, closed: updated(learnt.closed, inside.length, (toS - fromS) / 86_400, 1) }
  }
  return { ...learnt, lagsMs: lagsAfter(profile.lagsMs, observation), learntToMs: toMs }
}

/** How much later than their own time items become visible, ms; 0 unless the latest polls agree that it is long. */
export function lagOf({ lagsMs }: Pick<Profile, 'lagsMs'>): number {
  const sorted = lagsMs.toSorted((one, other) => one - other)
  const medianMs = sorted[Math.floor(sorted.length / 2)] ?? 0
  if (sorted.length < LAGS_KEPT || medianMs < SMALLEST_LAG_MS) return 0
  return sorted[Math.floor(sorted.length * 0.75)] ?? 0
}

function lagsAfter(lagsMs: readonly number[], { fromMs, timesMs, atLeast }: Observation): readonly number[] {
  if (timesMs.length === 0 || atLeast) return lagsMs
  const newestMs = timesMs.reduce((newest, timeMs) => Math.max(newest, timeMs), 0)
  return [...lagsMs, Math.max(0, fromMs - newestMs)].slice(-LAGS_KEPT)
}

function learnOpenDay(before: Profile, tally: Tally, atLeast: boolean): Profile {
  const factor = factorOf(before, tally.day)
  const profile = { ...before, sharp: withNewSharp(before, tally) }
  const sharp = profile.sharp.map((minute) => updatedSharp(minute, tally, factor, atLeast))
  const slots = updatedSlots(profile, tally, factor, atLeast)
  const kept = sharp.filter(({ seen, days }) => sumOf(seen) / days >= SHARP_ITEMS / 4)
  const learnt = { ...profile, sharp: kept, slots: slots.slots }
  if (atLeast) return learnt
  const usual = slots.expected + expectedSharp(profile.sharp, tally)
  return withFactor(learnt, tally, usual)
}

function updatedSlots(
  { slots, sharp }: Profile,
  { fromS, toS, seconds }: Tally,
  factor: number,
  atLeast: boolean,
): { slots: Belief[]; expected: number } {
  const next = [...slots]
  const sharpMinutes = new Set(sharp.map(({ minuteOfDay }) => minuteOfDay))
  let usual = 0
  for (let slot = Math.floor(fromS / SLOT_S); slot * SLOT_S < toS; slot++) {
    const belief = slots[slot]
    if (belief === undefined) break
    const startS = slot * SLOT_S
    const minutes = [0, 60, 120, 180, 240].filter((offset) => !sharpMinutes.has((startS + offset) / 60))
    if (minutes.length === 0) continue
    const exposedS = minutes.reduce(
      (sum, offset) => sum + overlap(fromS, toS, startS + offset, startS + offset + 60),
      0,
    )
    const mine = seconds.filter(
      (second) => second >= startS && second < startS + SLOT_S && !sharpMinutes.has(Math.floor(second / 60)),
    ).length
    const over = exposedS / SLOT_S
    usual += expected(belief) * over
    const seen = atLeast ? Math.max(mine, expected(belief) * over * factor) : mine
    next[slot] = updated(belief, seen, over * factor, exposedS / (minutes.length * 60))
  }
  return { slots: next, expected: usual }
}

function updatedSharp(minute: SharpMinute, tally: Tally, factor: number, atLeast: boolean): SharpMinute {
  const startS = minute.minuteOfDay * 60
  const share = overlap(tally.fromS, tally.toS, startS, startS + 60) / 60
  if (share === 0) return minute
  const counts = new Map<number, number>()
  for (const second of tally.seconds) {
    const place = Math.floor(second) - startS
    if (place >= 0 && place < 60) counts.set(place, (counts.get(place) ?? 0) + 1)
  }
  const came = sumOf([...counts.values()])
  const awaited = expectedIn(minute, tally) * factor
  const isGone = !atLeast && awaited >= GONE.items && came <= awaited * GONE.share
  const kept = (isGone ? GONE.kept : KEPT) ** share
  const seen = minute.seen.map((items, place) => {
    const counted = counts.get(place) ?? 0
    const exposed = overlap(tally.fromS, tally.toS, startS + place, startS + place + 1)
    const usual = (items / minute.days) * exposed * factor
    return rounded(items * kept + (atLeast ? Math.max(counted, usual) : counted))
  })
  return { ...minute, seen, days: rounded(minute.days * kept + share * factor) }
}

function expectedSharp(sharp: readonly SharpMinute[], tally: Tally): number {
  return sumOf(sharp.map((minute) => expectedIn(minute, tally)))
}

/** What the minute brings of a usual day within the tally's seconds. */
function expectedIn({ minuteOfDay, seen, days }: SharpMinute, { fromS, toS }: Tally): number {
  const startS = minuteOfDay * 60
  if (overlap(fromS, toS, startS, startS + 60) === 0) return 0
  return sumOf(
    seen.map((items, place) => (items / days) * overlap(fromS, toS, startS + place, startS + place + 1)),
  )
}

/** Minutes that brought far more than their slot expects are told apart from it. */
function withNewSharp({ sharp, slots }: Profile, { seconds }: Tally): readonly SharpMinute[] {
  if (seconds.length < NEW_SHARP_ITEMS) return sharp
  const counts = new Map<number, number>()
  for (const second of seconds) {
    const minute = Math.floor(second / 60)
    counts.set(minute, (counts.get(minute) ?? 0) + 1)
  }
  const known = new Set(sharp.map(({ minuteOfDay }) => minuteOfDay))
  const fresh: SharpMinute[] = []
  for (const [minuteOfDay, items] of counts) {
    const each = (expected(slots[slotOf(minuteOfDay)] ?? [0, 1]) * 60) / SLOT_S
    if (known.has(minuteOfDay) || items < NEW_SHARP_ITEMS || items < NEW_SHARP_TIMES * each) continue
    const seen = new Array<number>(60).fill(rounded((each / 60) * NEW_SHARP_DAYS))
    fresh.push({ minuteOfDay, days: NEW_SHARP_DAYS, seen })
  }
  const place = Math.max(0, MOST_SHARP - fresh.length)
  const strongest = sharp.toSorted(
    (one, other) => sumOf(other.seen) / other.days - sumOf(one.seen) / one.days,
  )
  return [...strongest.slice(0, place), ...fresh.slice(0, MOST_SHARP)].sort(
    (one, other) => one.minuteOfDay - other.minuteOfDay,
  )
}

function withFactor(profile: Profile, { day, seconds }: Tally, usual: number): Profile {
  const items = seconds.length
  const kept = FACTOR_KEPT ** (usual / 1900)
  const grown = ([seen, over]: Belief): Belief => [rounded(seen * kept + items), rounded(over * kept + usual)]
  if (!day.isMonthFirst) {
    return {
      ...profile,
      weekdays: profile.weekdays.map((belief, weekday) => (weekday === day.weekday ? grown(belief) : belief)),
    }
  }
  const weekday = expected(profile.weekdays[day.weekday] ?? [1, 1])
  const [seen, over] = profile.monthFirst
  return { ...profile, monthFirst: [rounded(seen * kept + items), rounded(over * kept + usual * weekday)] }
}

/** `over` is added to the belief's weight after `share` of a forgetting. */
function updated([seen, weight]: Belief, items: number, over: number, share: number): Belief {
  const kept = KEPT ** share
  return [rounded(seen * kept + items), Math.max(0.001, rounded(weight * kept + over))]
}

function overlap(fromS: number, toS: number, startS: number, endS: number): number {
  return Math.max(0, Math.min(toS, endS) - Math.max(fromS, startS))
}

function sumOf(items: readonly number[]): number {
  return items.reduce((sum, each) => sum + each, 0)
}

/** So that a profile stays small as text. */
function rounded(value: number): number {
  return Math.round(value * 10_000) / 10_000
}
