/**
 * Counts spent quota units by purpose, in time buckets of five minutes (ADR 0008). `ledger.ts` computes from these counts
 * what is left of the quota.
 */
import { DAY_MS, MINUTE_MS, WEEK_MS } from '../../core/durations.ts'
import type { Purpose } from '../../core/purpose.ts'

/** Length of a time bucket, ms; the first bucket of an hour begins with it. */
export const BUCKET_MS = 5 * MINUTE_MS
/** How long a bucket is kept, ms. */
export const LEDGER_KEPT_MS = 15 * DAY_MS
/** No bucket is dropped while there are fewer: one reading of a clock that is far ahead must not wipe the ledger. */
const KEPT_BUCKETS = LEDGER_KEPT_MS / BUCKET_MS

/** Units spent, by the start of their time bucket (ms since 1970) and purpose. Holds about 15 days. */
export type Ledger = ReadonlyMap<number, Readonly<Partial<Record<Purpose, number>>>>

/** A ledger that can be counted into. */
export type OpenLedger = Map<number, Readonly<Partial<Record<Purpose, number>>>>

/** Units given back: their request never left this machine, or upstream does not count it. */
export interface Refund {
  /** The `atMs` that the units were spent with. */
  atMs: number
  units: number
  purpose: Purpose
}

/** Start of the time bucket that holds `atMs`, ms since 1970. */
export function bucketOf(atMs: number): number {
  return Math.floor(atMs / BUCKET_MS) * BUCKET_MS
}

/** Adds units to the time bucket that holds `atMs`, in the given ledger; negative ones are taken away. */
export function countUnits(ledger: OpenLedger, units: number, purpose: Purpose, atMs: number): void {
  const bucketMs = bucketOf(atMs)
  const spent = ledger.get(bucketMs) ?? {}
  ledger.set(bucketMs, { ...spent, [purpose]: (spent[purpose] ?? 0) + units })
}

/** The ledger after units were spent at `atMs`, without surplus buckets that are more than 15 days older. */
export function ledgerAfterSpend(before: Ledger, units: number, purpose: Purpose, atMs: number): Ledger {
  const oldestMs = bucketOf(atMs) - LEDGER_KEPT_MS
  const ledger = new Map(before)
  countUnits(ledger, units, purpose, atMs)
  const surplus = ledger.size - KEPT_BUCKETS
  if (surplus > 0) {
    const oldest = [...ledger.keys()].sort((one, other) => one - other).slice(0, surplus)
    for (const bucketMs of oldest) if (bucketMs <= oldestMs) ledger.delete(bucketMs)
  }
  return ledger
}

/** The ledger after refunds, never below 0 in a bucket and purpose: a count below upstream's would overspend. */
export function ledgerAfterRefunds(before: Ledger, refunds: readonly Refund[]): Ledger {
  if (refunds.length === 0) return before
  const ledger = new Map(before)
  for (const { atMs, units, purpose } of refunds) {
    const spent = ledger.get(bucketOf(atMs))?.[purpose] ?? 0
    if (spent > 0) countUnits(ledger, -Math.min(spent, units), purpose, atMs)
  }
  return ledger
}

/** That our clock was set back by `backMs`, to `nowMs` (ms since 1970). */
export interface ClockSetBack {
  nowMs: number
  backMs: number
}

/**
 * The ledger after our clock was set back: what was counted at times that have not come yet was spent that much earlier, and
 * no later than now. The next time bucket is left alone: units may have been counted into it since.
 */
export function ledgerSetBack(before: Ledger, { nowMs, backMs }: ClockSetBack): Ledger {
  const present = bucketOf(nowMs)
  const isToCome = (bucketMs: number): boolean => bucketMs > present + BUCKET_MS
  if (![...before.keys()].some(isToCome)) return before
  const ledger: OpenLedger = new Map()
  for (const [bucketMs, units] of before) {
    // From the end of the bucket: its units may have been the last of it.
    const spentMs = bucketOf(bucketMs + BUCKET_MS - 1 - backMs)
    // Out of the week lies only what another clock had counted, fast by less: its time is not known.
    const placeMs = spentMs < nowMs - WEEK_MS ? present : Math.min(spentMs, present)
    const atMs = isToCome(bucketMs) ? placeMs : bucketMs
    for (const [purpose, spent] of Object.entries(units)) countUnits(ledger, spent, purpose as Purpose, atMs)
  }
  return ledger
}
