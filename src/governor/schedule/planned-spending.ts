/**
 * Simulates what the poller would spend as the plan says, without sending anything: for the week that `bridge plan` shows,
 * and for the time that a restored backup knows nothing of.
 */
import type { Calendar } from '../../core/calendar/calendar.ts'
import { HOUR_MS, WEEK_MS } from '../../core/durations.ts'
import type { Purpose } from '../../core/purpose.ts'
import { atOnce, type Steps } from '../../lifecycle/slices.ts'
import { createForecaster, itemsUntil } from '../arrivals/forecast.ts'
import type { Profile } from '../arrivals/profile.ts'
import { BUCKET_MS, bucketOf, countUnits, type Ledger, type OpenLedger } from '../quota/time-buckets.ts'
import { expectedFills } from './fills.ts'
import { type PlanFigures, plannedPacing, reservedShares } from './pacing.ts'

/** From this mean interval on polls are simulated one by one; more frequent ones count as spread evenly. */
export const LEAST_MEAN_INTERVAL_MS = 5000

/** Sums of fractions are a little off: what is above a whole number by less than this is that number. */
const ROUNDING = 1e-6

/** What polls are planned from. */
export interface PlannedBy {
  plan: PlanFigures
  profile: Profile
  calendar: Calendar
}

/**
 * The moments of the polls from `fromMs` to `untilMs`, at most a week. Every burst of more than a page is filled, and re-scans
 * take their whole share as items arrive. Counts all units in `ledger`, which holds what was spent before. One step a poll: up
 * to a millisecond.
 */
export function* simulatePolls(
  { plan, profile, calendar }: PlannedBy,
  ledger: OpenLedger,
  { fromMs, untilMs }: { fromMs: number; untilMs: number },
): Steps<number[]> {
  const pacing = plannedPacing(plan, calendar)
  const forecast = createForecaster(calendar)(profile, fromMs, fromMs + WEEK_MS)
  const rescansAnItem =
    (plan.weeklyQuota * reservedShares(plan).rescans) / itemsUntil(forecast, forecast.toMs)
  const fills = expectedFills(forecast, plan.pageSize)
  const spend = (units: number, purpose: Purpose, atMs: number): void =>
    countUnits(ledger, units, purpose, atMs)
  const pollsMs: number[] = []
  let rescanned = 0
  for (let nowMs = fromMs; nowMs < Math.min(untilMs, forecast.toMs); ) {
    for (; (fills[0]?.atMs ?? Number.POSITIVE_INFINITY) <= nowMs; fills.shift()) {
      for (let unit = 0; unit < (fills[0]?.units ?? 0) && pacing.mayFill(ledger, nowMs); unit++)
        spend(1, 'fill', nowMs)
    }
    const rescans = Math.floor(rescansAnItem * itemsUntil(forecast, nowMs)) - rescanned
    spend(rescans, 'sweep', nowMs)
    rescanned += rescans
    const isPaid = pacing.mayRequest(ledger, nowMs)
    if (isPaid) {
      spend(1, 'poll', nowMs)
      pollsMs.push(nowMs)
    }
    nowMs += isPaid ? pacing.plan({ ledger, profile, nowMs, skewMs: 0 }).intervalMs : HOUR_MS
    yield
  }
  return pollsMs
}

/**
 * The ledger as if the poller had worked as planned since `sinceMs`, with the proxied requests of the plan spread evenly: for
 * a restored backup, whose ledger ends there. Only the last week is counted, because older units do not count any more.
 */
export function ledgerAfterAbsence(
  before: Ledger,
  by: PlannedBy,
  { sinceMs, nowMs }: { sinceMs: number; nowMs: number },
): Ledger {
  const ledger: OpenLedger = new Map(before)
  const fromMs = Math.max(sinceMs, nowMs - WEEK_MS)
  if (fromMs >= nowMs) return ledger
  const { meanIntervalMs } = plannedPacing(by.plan, by.calendar)
  if (meanIntervalMs < LEAST_MEAN_INTERVAL_MS) {
    const { fills, rescans } = reservedShares(by.plan)
    const unitsPerMs = 1 / meanIntervalMs / (1 - fills - rescans)
    spread(ledger, 'poll', { fromMs, nowMs }, 1 / meanIntervalMs)
    spread(ledger, 'fill', { fromMs, nowMs }, unitsPerMs * fills)
    spread(ledger, 'sweep', { fromMs, nowMs }, unitsPerMs * rescans)
  } else atOnce(simulatePolls(by, ledger, { fromMs, untilMs: nowMs }))
  spread(ledger, 'gateway', { fromMs, nowMs }, (by.plan.gatewayUnits ?? 0) / WEEK_MS)
  return ledger
}

/** Counts units spread evenly over that time, rounded up in each time bucket. */
function spread(
  ledger: OpenLedger,
  purpose: Purpose,
  { fromMs, nowMs }: { fromMs: number; nowMs: number },
  unitsPerMs: number,
): void {
  let [counted, due] = [0, 0]
  for (let atMs = fromMs; atMs < nowMs; ) {
    const endMs = Math.min(nowMs, bucketOf(atMs) + BUCKET_MS)
    due += (endMs - atMs) * unitsPerMs
    const units = Math.ceil(due - ROUNDING) - counted
    if (units > 0) countUnits(ledger, units, purpose, atMs)
    counted += units
    atMs = endMs
  }
}
