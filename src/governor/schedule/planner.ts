/**
 * When the next poll is due: budgets from ledger and plan, the pace that they pay, the place that the pace gives. Owns how
 * many units polls may have until when, under both readings of "weekly". Pure. Refuses to spend and to wait.
 */
import { DAY_MS, HOUR_MS, WEEK_MS } from '../../core/durations.ts'
import { itemsUntil, type Outlook, type OutlookOf, rootsUntil } from '../arrivals/forecast.ts'
import type { Profile } from '../arrivals/profile.ts'
import { COUNTED_MS, type QuotaReset, quotaAt, unitsOf } from '../quota/ledger.ts'
import { BUCKET_MS, type Ledger } from '../quota/time-buckets.ts'
import { type ExpectedFill, expectedFills, MOST_FILL_SHARE } from './fills.ts'
import { asPlaced, byRule } from './poll-rounding.ts'
import { nextPollInMs } from './poll-scheduler.ts'
import { type Budget, paceOf, pollsUntil } from './rate-solver.ts'

/** However little is expected: so long a silence would look like a dead poller. */
const LONGEST_INTERVAL_MS = 6 * HOUR_MS
/** Nothing is published on closed days: an hour of them counts so much of an hour of silence. */
const CLOSED_HOUR = 0.5
/** Of the week's pace, the least that is kept up where few units are left for now: others come back spell by spell. */
const LEAST_PACE = 0.45
/** Polls that a closed day takes because no interval is longer than the longest; it shares them with the days around it. */
const CLOSED_DAY_POLLS = 1.5
/** Of the polls that a day is expected to take beyond the √ rule's, those that are kept for it: some are not placed. */
const PLACED_SHARE = 0.5
/** Horizons at which a rolling quota is looked at, besides the ends of the bursts that are expected. */
const HORIZONS_MS = [
  ...[1, 3, 6].map((hours) => hours * HOUR_MS),
  ...[1, 2, 3, 4, 5, 6, 7].map((days) => days * DAY_MS),
]
/** A burst's fill is paid for by so long after it. */
const FILLED_MS = 60_000
/** Of a rolling quota, the least that a plan of a week leaves: room for a changed profile and for the dearest spell. */
const ROLLING_REST = 0.02
/** The next dearest spell may be so much dearer than the last. */
const DEAREST_MARGIN = 1.1
/** Fills and sweeps are expected to take what they took in the last week and so much more. */
const FILL_MARGIN = 1.05
const SWEEP_MARGIN = 1.25
/** Sweeps that took so much of their share would have taken more. */
const STARVED = 0.9

/** What the planner needs of a plan. */
export interface PlannedQuota {
  weeklyQuota: number
  quotaReset: QuotaReset
  pageSize: number
  /** Of the weekly quota, what fills and sweeps are expected to take before a week was seen. */
  walkShares: { fills: number; sweeps: number }
  /** Least time between two polls, ms. */
  shortestMs: number
}

/** What is known when a poll is planned. */
export interface Situation {
  ledger: Ledger
  profile: Profile
  /** Our clock, ms since 1970. */
  nowMs: number
  /** Upstream's clock minus ours, ms. */
  skewMs: number
}

/** What the planner sees from one moment on. */
export interface Prospect {
  /** By upstream's clock. */
  outlook: Outlook
  /** Polls a second = pace × √(items a second). */
  pace: number
}

/**
 * True where the quota pays for the plan's full rate all week long, so that nothing needs to be planned: the polls of a
 * week and of the time that the ledger's spells may count too long.
 */
export function paysFullRate({ weeklyQuota, walkShares, shortestMs }: PlannedQuota): boolean {
  const share = 1 - walkShares.fills - walkShares.sweeps - ROLLING_REST
  return weeklyQuota * share >= (WEEK_MS + BUCKET_MS + COUNTED_MS) / shortestMs
}

/** The outlook over the next week, or from another moment, and the pace that the budgets pay now. */
export function prospect(quota: PlannedQuota, outlookOf: OutlookOf, situation: Situation): Prospect {
  const { profile, nowMs, skewMs } = situation
  const upstreamMs = nowMs + skewMs
  const ahead = outlookOf(profile, upstreamMs, upstreamMs + WEEK_MS)
  const spent = spentSpells(situation.ledger, nowMs)
  const fills = fillsAhead(quota, ahead, spent, nowMs)
  const budgets = budgetsOf(quota, ahead, fills, spent, situation)
  const most = 1000 / quota.shortestMs
  const longest = LEAST_PACE * paceOf(ahead, budgets.slice(-1), most)
  return { outlook: ahead, pace: Math.max(paceOf(ahead, budgets, most), longest) }
}

/** From one poll to the next, ms. */
export function pollIntervalMs(quota: PlannedQuota, { outlook: ahead, pace }: Prospect): number {
  const { pageSize, shortestMs } = quota
  const longestMs = Math.max(shortestMs, longestSilenceMs(ahead))
  return nextPollInMs(ahead, { pace, pageSize, shortestMs, longestMs })
}

/** How long nothing needs to be polled from the outlook's start on. */
function longestSilenceMs({ fromMs, days }: Outlook): number {
  let left = LONGEST_INTERVAL_MS
  let atMs = fromMs
  for (const { day } of days) {
    const weight = day.isOpen ? 1 : CLOSED_HOUR
    const lasts = (day.endMs - atMs) * weight
    if (lasts >= left) return atMs - fromMs + left / weight
    left -= lasts
    atMs = day.endMs
  }
  return atMs - fromMs
}

/** Polls that the pace makes in the time from the prospect's start on. */
export function pollsWithin(
  quota: PlannedQuota,
  { outlook: ahead, pace }: Prospect,
  lastsMs: number,
): number {
  const untilMs = ahead.fromMs + lastsMs
  const byPace = pollsUntil(ahead, pace, untilMs, 1000 / quota.shortestMs)
  return asPlaced(byPace, openDays(ahead, untilMs)) + closedDayPolls(ahead, untilMs)
}

function budgetsOf(
  quota: PlannedQuota,
  ahead: Outlook,
  fills: readonly ExpectedFill[],
  spent: SpentSpells,
  { ledger, nowMs, skewMs }: Situation,
): Budget[] {
  const { weeklyQuota, quotaReset } = quota
  const itemsAWeek = itemsUntil(ahead, ahead.toMs)
  const sweeps = sweepsAWeek(quota, spent, nowMs)
  const filledAWeek = fills.reduce((sum, { units }) => sum + units, 0)
  const rest =
    quotaReset === 'rolling' ? Math.max(weeklyQuota * ROLLING_REST, DEAREST_MARGIN * dearestSpell(spent)) : 0
  const usual = weeklyQuota - filledAWeek - sweeps - rest - closedDayPolls(ahead, ahead.toMs)
  const days = ahead.days.filter(({ day }) => day.isOpen).length
  const extraAWeek = PLACED_SHARE * (usual - byRule(usual, days))
  const budget = (untilMs: number, units: number): Budget => {
    const counted = countedAt(spent, untilMs)
    const filled = fills.reduce((sum, { atMs, units }) => (atMs <= untilMs + skewMs ? sum + units : sum), 0)
    const filling = Math.min(filled, weeklyQuota * MOST_FILL_SHARE - counted.fills)
    const wanted = (sweeps * itemsUntil(ahead, untilMs + skewMs)) / itemsAWeek
    const sweeping = Math.min(wanted, weeklyQuota * quota.walkShares.sweeps - counted.sweeps)
    const kept = Math.max(0, filling) + Math.max(0, sweeping) + closedDayPolls(ahead, untilMs + skewMs)
    const extra = (extraAWeek * itemsUntil(ahead, untilMs + skewMs)) / itemsAWeek
    return { untilMs: untilMs + skewMs, polls: Math.max(0, units - kept - extra) }
  }
  if (quotaReset !== 'rolling') {
    const { remaining, resetMs } = quotaAt(ledger, weeklyQuota, quotaReset, nowMs)
    return [budget(resetMs, remaining)]
  }
  const horizonsMs = [
    ...HORIZONS_MS.map((horizonMs) => nowMs + horizonMs),
    ...fills.map(({ atMs }) => atMs - skewMs + FILLED_MS).filter((atMs) => atMs < nowMs + WEEK_MS),
  ]
  // Until the end of the week every spell that comes back is known; then the dearest one is late.
  return horizonsMs.map((untilMs) => {
    const left = weeklyQuota - countedAt(spent, untilMs).units
    return budget(untilMs, untilMs < nowMs + WEEK_MS ? left : left - rest)
  })
}

function closedDayPolls({ fromMs, days }: Outlook, untilMs: number): number {
  return days.reduce((sum, { day }) => {
    if (day.isOpen) return sum
    const insideMs = Math.max(0, Math.min(untilMs, day.endMs) - Math.max(fromMs, day.startMs))
    return sum + (CLOSED_DAY_POLLS * insideMs) / (day.endMs - day.startMs)
  }, 0)
}

/** Open days until a moment, by what the √ rule polls in them. */
function openDays(ahead: Outlook, untilMs: number): number {
  const open = ahead.days.filter(({ day }) => day.isOpen)
  const roots = open.reduce(
    (sum, { shape, factor }) => sum + (shape.roots[shape.roots.length - 1] ?? 0) * Math.sqrt(factor),
    0,
  )
  return roots === 0 ? 0 : (rootsUntil(ahead, untilMs) * open.length) / roots
}

/** A spell of the ledger, added up. */
interface SpentSpell {
  /** When its units come back, of a rolling week; ms since 1970. */
  backMs: number
  units: number
  fills: number
  sweeps: number
}

/** What a rolling week knows, and whether a whole one is known. */
interface SpentSpells {
  spells: readonly SpentSpell[]
  isWhole: boolean
}

function spentSpells(ledger: Ledger, nowMs: number): SpentSpells {
  const spells: SpentSpell[] = []
  let isWhole = false
  for (const [spellMs, spent] of ledger) {
    const backMs = spellMs + COUNTED_MS + WEEK_MS
    if (spellMs <= nowMs - WEEK_MS) isWhole = true
    if (backMs <= nowMs) continue
    spells.push({ backMs, units: unitsOf(spent), fills: spent.fill ?? 0, sweeps: spent.sweep ?? 0 })
  }
  return { spells, isWhole }
}

/** What has been spent by now and will still count at that moment, in a rolling week. */
function countedAt({ spells }: SpentSpells, atMs: number): Omit<SpentSpell, 'backMs'> {
  let [units, fills, sweeps] = [0, 0, 0]
  for (const spell of spells) {
    if (spell.backMs <= atMs) continue
    units += spell.units
    fills += spell.fills
    sweeps += spell.sweeps
  }
  return { units, fills, sweeps }
}

/** A unit comes back when its whole spell has left the week: at most as many are late as the dearest spell has. */
function dearestSpell({ spells }: SpentSpells): number {
  return spells.reduce((most, { units }) => Math.max(most, units), 0)
}

/**
 * What fills will take, as they come with the bursts that the profile expects: in a week all that is sure to overflow, and
 * what the last one has shown where it is known.
 */
function fillsAhead(
  { pageSize, weeklyQuota, walkShares }: PlannedQuota,
  ahead: Outlook,
  spent: SpentSpells,
  nowMs: number,
): ExpectedFill[] {
  const polls = weeklyQuota * (1 - walkShares.fills - walkShares.sweeps)
  const fills = expectedFills(ahead, { pageSize, pace: polls / rootsUntil(ahead, ahead.toMs) })
  const all = fills.reduce((sum, { units }) => sum + units, 0)
  const sure = fills.reduce((sum, { units, isSure }) => (isSure ? sum + units : sum), 0)
  const shown = spent.isWhole ? countedAt(spent, nowMs + HOUR_MS).fills : all
  const scale = (FILL_MARGIN * Math.max(sure, shown)) / all
  return fills.map((fill) => ({ ...fill, units: fill.units * scale }))
}

/** Units that sweeps would take in a week: their share, or what a whole week has shown. */
function sweepsAWeek({ weeklyQuota, walkShares }: PlannedQuota, spent: SpentSpells, nowMs: number): number {
  const most = weeklyQuota * walkShares.sweeps
  if (!spent.isWhole) return most
  const { sweeps } = countedAt(spent, nowMs)
  return sweeps > most * STARVED ? most : Math.min(most, sweeps * SWEEP_MARGIN)
}
