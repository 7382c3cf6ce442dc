/**
 * Computes how much of the weekly upstream quota is left, from the ledger of units spent. The quota covers either any seven
 * days (rolling) or a week that resets at a fixed moment.
 */
import { DAY_MS, WEEK_MS } from '../../core/durations.ts'
import { type Purpose, purposes } from '../../core/purpose.ts'
import { BUCKET_MS, type Ledger } from './time-buckets.ts'

/**
 * Longest time between counting a unit in the ledger, before its request leaves, and upstream counting it on arrival, by
 * its own clock. A request is given up after 10 s.
 */
const ARRIVAL_MS = 60_000
/** A unit counts for a week and at most this much longer, from the start of its time bucket. */
export const COUNTED_MS = BUCKET_MS + ARRIVAL_MS
/** A fixed week begins this much later here, because upstream's clock may be behind ours. */
const BEHIND_MS = 2_000

/** `rolling`: the units of any seven days; else a weekly moment, as minutes after Monday 00:00 UTC. */
export type QuotaReset = 'rolling' | { minutesAfterMonday: number }

/** The weekly quota at a moment. */
export interface Quota {
  limit: number
  used: number
  /** Never negative. */
  remaining: number
  /** When units come free again, ms since 1970: just after the fixed reset, or when the oldest time bucket leaves the week. */
  resetMs: number
}

/**
 * The quota at `nowMs`. A time bucket that is only partly inside the week, or ended within a minute before it, counts in
 * full, so the count is never too low. `counted`: the purposes that draw on the quota, or on a share of it.
 */
export function quotaAt(
  ledger: Ledger,
  limit: number,
  reset: QuotaReset,
  nowMs: number,
  counted: readonly Purpose[] = purposes,
): Quota {
  const startMs = weekStartMs(reset, nowMs)
  let used = 0
  let oldestMs = nowMs
  for (const [bucketMs, units] of ledger) {
    if (bucketMs + COUNTED_MS <= startMs) continue
    const spent = unitsOf(units, counted)
    if (spent === 0) continue
    used += spent
    oldestMs = Math.min(oldestMs, bucketMs)
  }
  const resetMs = reset === 'rolling' ? oldestMs + COUNTED_MS + WEEK_MS : startMs + WEEK_MS + BEHIND_MS
  return { limit, used, remaining: Math.max(0, limit - used), resetMs }
}

/** Units spent in the last seven days on any of these purposes, as `quotaAt` counts a rolling week. */
export function spentOn(ledger: Ledger, purposes: readonly Purpose[], nowMs: number): number {
  return spentSince(ledger, purposes, nowMs - WEEK_MS - ARRIVAL_MS)
}

/** Units spent on any of these purposes since the start of the time bucket that contains `sinceMs`. */
export function spentSince(ledger: Ledger, purposes: readonly Purpose[], sinceMs: number): number {
  let spent = 0
  for (const [bucketMs, units] of ledger) {
    if (bucketMs + BUCKET_MS <= sinceMs) continue
    for (const purpose of purposes) spent += units[purpose] ?? 0
  }
  return spent
}

/** The ledger as if nothing had been spent on that purpose. */
export function ledgerWithout(ledger: Ledger, purpose: Purpose): Ledger {
  return new Map([...ledger].map(([bucketMs, { [purpose]: _, ...others }]) => [bucketMs, others] as const))
}

function weekStartMs(reset: QuotaReset, nowMs: number): number {
  if (reset === 'rolling') return nowMs - WEEK_MS
  /** 1970-01-05 was a Monday. */
  const anchorMs = 4 * DAY_MS + reset.minutesAfterMonday * 60_000
  const sinceAnchorMs = nowMs - BEHIND_MS - anchorMs
  return anchorMs + Math.floor(sinceAnchorMs / WEEK_MS) * WEEK_MS
}

/** Units of one time bucket of the ledger. */
export function unitsOf(
  units: Partial<Record<Purpose, number>>,
  counted: readonly Purpose[] = purposes,
): number {
  let sum = 0
  // A bucket holds one or two purposes, fewer than are counted: this runs for each bucket of a week at each decision.
  for (const purpose in units) {
    if (counted === purposes || counted.includes(purpose as Purpose)) sum += units[purpose as Purpose] ?? 0
  }
  return sum
}
