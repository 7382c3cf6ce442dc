/**
 * Computes what the leader's figures mean for one London day: items expected, units spent and polls planned, slot by slot.
 * Every time is by upstream's clock; the ledger, which counts by the leader's clock, is shifted by whole slots.
 */
import type { Calendar } from '../../core/calendar/calendar.ts'
import { SECOND_MS } from '../../core/durations.ts'
import { createForecaster, itemsUntil } from '../../governor/arrivals/forecast.ts'
import type { LondonDay } from '../../governor/arrivals/london-day.ts'
import { quotaAt } from '../../governor/quota/ledger.ts'
import { LEDGER_KEPT_MS, type OpenLedger } from '../../governor/quota/time-buckets.ts'
import { plannedPacing } from '../../governor/schedule/pacing.ts'
import { LEAST_MEAN_INTERVAL_MS, simulatePolls } from '../../governor/schedule/planned-spending.ts'
import type { LeaderQuota } from '../../http/schemas/leader-quota-schema.ts'
import type { Steps } from '../../lifecycle/slices.ts'
import { SLOT_MS } from './london-day.ts'

/** One slot of a day. null: not known, or not planned yet. */
export interface DaySlot {
  startMs: number
  expected: number
  units: Readonly<Record<string, number>> | null
  planned: number | null
}

/** The polls that are planned for the rest of a day. */
export interface PlannedPolls {
  fromMs: number
  toMs: number
  /** The moments of the polls; empty where they come every few seconds. */
  pollsMs: readonly number[]
  polls: number
  /** Where polls come every few seconds: their interval, seconds. */
  everySeconds: number | null
  /**
   * Units of the whole quota left at the end, those kept for fund requests too. Where polls come every few seconds, without
   * what fills and re-scans will take.
   */
  remaining: number
}

/** Upstream's present when the figures were made, ms since 1970. */
export function presentMsOf({ asOf, upstreamAheadMs }: LeaderQuota): number {
  return Date.parse(asOf) + (upstreamAheadMs ?? 0)
}

/** The slots of the day, with the polls that `planned` has. */
export function daySlots(
  figures: LeaderQuota,
  calendar: Calendar,
  day: LondonDay,
  planned: PlannedPolls | null,
): DaySlot[] {
  const presentMs = presentMsOf(figures)
  const forecast = createForecaster(calendar)(figures.profile, day.startMs, day.endMs)
  const spent = shiftedLedger(figures)
  const slots: DaySlot[] = []
  for (let startMs = day.startMs; startMs < day.endMs; startMs += SLOT_MS) {
    const endMs = startMs + SLOT_MS
    const isCounted = startMs <= presentMs && endMs > presentMs - LEDGER_KEPT_MS
    slots.push({
      startMs,
      expected: itemsUntil(forecast, endMs) - itemsUntil(forecast, startMs),
      units: isCounted ? (spent.get(startMs) ?? {}) : null,
      planned: planned === null ? null : plannedIn(planned, startMs, endMs),
    })
  }
  return slots
}

/** The polls that are planned from upstream's present to the end of the day; null where it is over, or not the next one. */
export function* plannedPollsOf(
  figures: LeaderQuota,
  calendar: Calendar,
  day: LondonDay,
): Steps<PlannedPolls | null> {
  const { plan, profile, nextPoll } = figures
  const presentMs = presentMsOf(figures)
  const tomorrow = calendar.londonDate(calendar.momentMs(calendar.londonDate(presentMs), 36 * 60))
  if (presentMs >= day.endMs || day.date > tomorrow) return null
  const ledger = shiftedLedger(figures)
  const nextMs = nextPoll === null ? presentMs : Date.parse(nextPoll) + (figures.upstreamAheadMs ?? 0)
  const [fromMs, toMs] = [Math.max(presentMs, day.startMs), day.endMs]
  const { meanIntervalMs } = plannedPacing(plan, calendar)
  if (meanIntervalMs < LEAST_MEAN_INTERVAL_MS) {
    const polls = Math.floor((toMs - fromMs) / meanIntervalMs)
    const { remaining } = quotaAt(ledger, plan.weeklyQuota, plan.quotaReset, presentMs)
    const [pollsMs, everySeconds] = [[], meanIntervalMs / SECOND_MS]
    return { fromMs, toMs, pollsMs, polls, everySeconds, remaining: Math.max(0, remaining - polls) }
  }
  const simulated = { fromMs: Math.max(presentMs, nextMs), untilMs: toMs }
  const pollsMs = (yield* simulatePolls({ plan, profile, calendar }, ledger, simulated)).filter(
    (ms) => ms >= fromMs,
  )
  const { remaining } = quotaAt(ledger, plan.weeklyQuota, plan.quotaReset, toMs)
  return { fromMs, toMs, pollsMs, polls: pollsMs.length, everySeconds: null, remaining }
}

function plannedIn(planned: PlannedPolls, startMs: number, endMs: number): number | null {
  const { fromMs, pollsMs, everySeconds } = planned
  if (endMs <= fromMs) return null
  if (everySeconds === null) return pollsMs.filter((ms) => ms >= startMs && ms < endMs).length
  return Math.round((endMs - Math.max(startMs, fromMs)) / SECOND_MS / everySeconds)
}

/** The ledger by upstream's clock, to a slot. */
function shiftedLedger({ ledger, upstreamAheadMs }: LeaderQuota): OpenLedger {
  const slots = Math.round((upstreamAheadMs ?? 0) / SLOT_MS)
  return new Map(ledger.map(([bucketMs, units]) => [bucketMs + slots * SLOT_MS, units]))
}
