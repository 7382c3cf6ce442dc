/**
 * Updates the arrival profile, the learnt item rates by time of day, from the items that became visible between two polls.
 * It keeps Gamma–Poisson estimates for slots of five minutes, and for single seconds in minutes with a burst. Older
 * observations lose weight.
 */
import type { Calendar } from '../../core/calendar/calendar.ts'
import { DAY_MS } from '../../core/durations.ts'
import { dayFactor, daySeen, type LondonDay, londonDayOf, meanOf, secondOfDay } from './london-day.ts'
import {
  type Belief,
  BURST_ITEMS,
  type BurstMinute,
  ITEMS_A_DAY,
  type Profile,
  SLOT_S,
  slotOf,
} from './profile.ts'

/** Weight that a belief keeps after one more full observation of its time: it halves in about four days. */
const KEPT = 0.85
/**
 * The same for a burst minute that expected `items` or more and got at most `share` of them. A burst that has moved would
 * otherwise cost a poll on each of ten mornings.
 */
const GONE = { items: 20, share: 0.1, kept: 0.3 } as const
/** Weight that a weekday's factor keeps per usual day. */
const FACTOR_KEPT = 0.9
/** Longest time that one observation covers; earlier time is left out. */
const LONGEST_MS = 3 * DAY_MS
/** Most burst minutes; a new one replaces the weakest. */
const MAX_BURSTS = 12
/** A minute becomes a burst minute with this many items, if they are this multiple of what its slot expects. */
const NEW_BURST_ITEMS = 20
const NEW_BURST_FACTOR = 3
/** Initial weight of a new burst minute, in days of its slot's rate. */
const NEW_BURST_DAYS = 0.5
/** A holiday has hardly any items: so many between two polls show that it is none. Never on a weekend. */
const OPEN_ITEMS = 20
/** Items older than their observation by more are amended, listed late, or of before an outage: they open no day. */
const NEW_MS = 60_000
const WEEKDAYS = 5
/** Observations needed to conclude that the plan shows items late. */
const LAGS_KEPT = 15
/** Lags below this come from polling itself. */
const SMALLEST_LAG_MS = 60_000

/** Items that became visible between two polls; times by upstream's clock, ms since 1970. */
export interface Observation {
  /** When the previous poll began. */
  fromMs: number
  /** When this poll began. */
  toMs: number
  /** The items' own timestamps. */
  timesMs: readonly number[]
  /** True if there may have been more items than these. */
  atLeast: boolean
}

/** The part of an observation that falls on one day. */
interface DayPart {
  day: LondonDay
  /** Seconds of the day that were observed. */
  fromS: number
  toS: number
  /** Seconds of the day at which items became visible. */
  seconds: number[]
}

/** Returns the profile after one more observation. */
export function learn(profile: Profile, calendar: Calendar, observation: Observation): Profile {
  const toMs = observation.toMs
  const fromMs = Math.max(observation.fromMs, toMs - LONGEST_MS)
  if (toMs <= fromMs) return profile
  const lagMs = lagOf(profile)
  const arrivals = observation.timesMs.map((timeMs) => Math.min(toMs - 1, Math.max(fromMs, timeMs + lagMs)))
  let learned = profile
  let found = londonDayOf(calendar, fromMs)
  for (; found.startMs < toMs; found = londonDayOf(calendar, found.endMs)) {
    const { startMs, endMs } = found
    const inside = arrivals.filter((ms) => ms >= startMs && ms < endMs)
    const ofDay = observation.timesMs.filter(
      (ms) => ms >= startMs && ms < endMs && ms + lagMs >= fromMs - NEW_MS,
    )
    if (isOpenAfterAll(found, ofDay.length)) learned = { ...learned, openDate: found.date }
    const day = daySeen(learned, found)
    const fromS = secondOfDay(day, Math.max(fromMs, day.startMs))
    const toS = toMs >= day.endMs ? 86_400 : secondOfDay(day, toMs)
    const part = { day, fromS, toS, seconds: inside.map((ms) => secondOfDay(day, ms)) }
    learned = day.isOpen
      ? learnOpenDay(learned, part, observation.atLeast)
      : { ...learned, closed: updated(learned.closed, inside.length, (toS - fromS) / 86_400, 1) }
  }
  return { ...learned, lagsMs: lagsAfter(profile.lagsMs, observation), learntToMs: toMs }
}

/** True for a weekday that the calendar calls closed, where so many items came at once that the calendar is wrong. */
function isOpenAfterAll({ isOpen, weekday }: LondonDay, items: number): boolean {
  return !isOpen && weekday < WEEKDAYS && items >= OPEN_ITEMS
}

/** Delay from an item's timestamp to its visibility, ms; 0 unless most of the latest polls show a minute or more. */
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

function learnOpenDay(before: Profile, part: DayPart, atLeast: boolean): Profile {
  const factor = dayFactor(before, part.day)
  const profile = { ...before, sharp: withNewBursts(before, part) }
  const sharp = profile.sharp.map((minute) => updatedBurst(minute, part, factor, atLeast))
  const slots = updatedSlots(profile, part, factor, atLeast)
  const kept = sharp.filter(({ seen, days }) => sumOf(seen) / days >= BURST_ITEMS / 4)
  const learned = { ...profile, sharp: kept, slots: slots.slots }
  if (atLeast) return learned
  const usual = slots.expected + expectedInBursts(profile.sharp, part)
  return withFactor(learned, part, usual)
}

function updatedSlots(
  { slots, sharp }: Profile,
  { fromS, toS, seconds }: DayPart,
  factor: number,
  atLeast: boolean,
): { slots: Belief[]; expected: number } {
  const next = [...slots]
  const burstMinutes = new Set(sharp.map(({ minuteOfDay }) => minuteOfDay))
  let usual = 0
  for (let slot = Math.floor(fromS / SLOT_S); slot * SLOT_S < toS; slot++) {
    const belief = slots[slot]
    if (belief === undefined) break
    const startS = slot * SLOT_S
    const minutes = [0, 60, 120, 180, 240].filter((offset) => !burstMinutes.has((startS + offset) / 60))
    if (minutes.length === 0) continue
    const exposedS = minutes.reduce(
      (sum, offset) => sum + overlap(fromS, toS, startS + offset, startS + offset + 60),
      0,
    )
    const mine = seconds.filter(
      (second) => second >= startS && second < startS + SLOT_S && !burstMinutes.has(Math.floor(second / 60)),
    ).length
    const over = exposedS / SLOT_S
    usual += meanOf(belief) * over
    const seen = atLeast ? Math.max(mine, meanOf(belief) * over * factor) : mine
    next[slot] = updated(belief, seen, over * factor, exposedS / (minutes.length * 60))
  }
  return { slots: next, expected: usual }
}

function updatedBurst(minute: BurstMinute, part: DayPart, factor: number, atLeast: boolean): BurstMinute {
  const startS = minute.minuteOfDay * 60
  const share = overlap(part.fromS, part.toS, startS, startS + 60) / 60
  if (share === 0) return minute
  const counts = new Map<number, number>()
  for (const second of part.seconds) {
    const place = Math.floor(second) - startS
    if (place >= 0 && place < 60) counts.set(place, (counts.get(place) ?? 0) + 1)
  }
  const came = sumOf([...counts.values()])
  const due = expectedIn(minute, part) * factor
  const isGone = !atLeast && due >= GONE.items && came <= due * GONE.share
  const kept = (isGone ? GONE.kept : KEPT) ** share
  const seen = minute.seen.map((items, place) => {
    const counted = counts.get(place) ?? 0
    const exposed = overlap(part.fromS, part.toS, startS + place, startS + place + 1)
    const usual = (items / minute.days) * exposed * factor
    return rounded(items * kept + (atLeast ? Math.max(counted, usual) : counted))
  })
  return { ...minute, seen, days: rounded(minute.days * kept + share * factor) }
}

function expectedInBursts(sharp: readonly BurstMinute[], part: DayPart): number {
  return sumOf(sharp.map((minute) => expectedIn(minute, part)))
}

/** Items that the minute expects on a usual day within the observed seconds. */
function expectedIn({ minuteOfDay, seen, days }: BurstMinute, { fromS, toS }: DayPart): number {
  const startS = minuteOfDay * 60
  if (overlap(fromS, toS, startS, startS + 60) === 0) return 0
  return sumOf(
    seen.map((items, place) => (items / days) * overlap(fromS, toS, startS + place, startS + place + 1)),
  )
}

/** Adds burst minutes for minutes that got far more items than their slot expects. */
function withNewBursts({ sharp, slots }: Profile, { seconds }: DayPart): readonly BurstMinute[] {
  if (seconds.length < NEW_BURST_ITEMS) return sharp
  const counts = new Map<number, number>()
  for (const second of seconds) {
    const minute = Math.floor(second / 60)
    counts.set(minute, (counts.get(minute) ?? 0) + 1)
  }
  const known = new Set(sharp.map(({ minuteOfDay }) => minuteOfDay))
  const added: BurstMinute[] = []
  for (const [minuteOfDay, items] of counts) {
    const each = (meanOf(slots[slotOf(minuteOfDay)] ?? [0, 1]) * 60) / SLOT_S
    if (known.has(minuteOfDay) || items < NEW_BURST_ITEMS || items < NEW_BURST_FACTOR * each) continue
    const seen = new Array<number>(60).fill(rounded((each / 60) * NEW_BURST_DAYS))
    added.push({ minuteOfDay, days: NEW_BURST_DAYS, seen })
  }
  const place = Math.max(0, MAX_BURSTS - added.length)
  const strongest = sharp.toSorted(
    (one, other) => sumOf(other.seen) / other.days - sumOf(one.seen) / one.days,
  )
  return [...strongest.slice(0, place), ...added.slice(0, MAX_BURSTS)].sort(
    (one, other) => one.minuteOfDay - other.minuteOfDay,
  )
}

function withFactor(profile: Profile, { day, seconds }: DayPart, usual: number): Profile {
  const items = seconds.length
  const kept = FACTOR_KEPT ** (usual / ITEMS_A_DAY)
  const grown = ([seen, over]: Belief): Belief => [rounded(seen * kept + items), rounded(over * kept + usual)]
  if (!day.isMonthFirst) {
    return {
      ...profile,
      weekdays: profile.weekdays.map((belief, weekday) => (weekday === day.weekday ? grown(belief) : belief)),
    }
  }
  const weekday = meanOf(profile.weekdays[day.weekday] ?? [1, 1])
  const [seen, over] = profile.monthFirst
  return { ...profile, monthFirst: [rounded(seen * kept + items), rounded(over * kept + usual * weekday)] }
}

/** Adds items and exposure after forgetting for `share` of a full observation. */
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

/** Keeps the stored profile small. */
function rounded(value: number): number {
  return Math.round(value * 10_000) / 10_000
}
