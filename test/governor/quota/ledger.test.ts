import fc from 'fast-check'
import { expect, test } from 'vitest'
import { HOUR_MS, WEEK_MS } from '../../../src/core/durations.ts'
import { type Purpose, purposes } from '../../../src/core/purpose.ts'
import { type QuotaReset, quotaAt, spentOn } from '../../../src/governor/quota/ledger.ts'
import {
  BUCKET_MS,
  bucketOf,
  countUnits,
  type Ledger,
  type OpenLedger,
} from '../../../src/governor/quota/time-buckets.ts'
import { playWeeks } from '../../support/worlds/governed-weeks.ts'

/** A unit recorded this long before the end of the week may arrive after it. */
const ARRIVAL_MS = 60_000
/** A fixed week starts this much later on our clock. */
const BEHIND_MS = 2_000
const MONDAY_MS = Date.UTC(2026, 5, 1)

interface Spend {
  atMs: number
  purpose: Purpose
}

/** The ledger as the log's writer counts it, by time bucket. */
function ledgerOf(spends: Spend[]): Ledger {
  const ledger: OpenLedger = new Map()
  for (const { atMs, purpose } of spends) countUnits(ledger, 1, purpose, atMs)
  return ledger
}

const LIMIT = 100
const nowMs = fc.integer({ min: MONDAY_MS, max: MONDAY_MS + 2 * WEEK_MS })
/** Spends of the fifteen days before; counted back from now, so that the edges of the week are hit. */
const spendsBefore = fc.array(
  fc.record({
    agoMs: fc.oneof(
      fc.nat(15 * 24 * HOUR_MS),
      fc.integer({ min: WEEK_MS - 2 * BUCKET_MS, max: WEEK_MS + 2 * BUCKET_MS }),
    ),
    purpose: fc.constantFrom(...purposes),
  }),
  { maxLength: 120 },
)
const fixed = fc.nat(7 * 24 * 60 - 1).map((minutesAfterMonday): QuotaReset => ({ minutesAfterMonday }))

/** Upstream's own count under that reading, to the millisecond. */
function truth(spends: Spend[], reset: QuotaReset, now: number): number {
  const startMs = reset === 'rolling' ? now - WEEK_MS : lastReset(reset.minutesAfterMonday, now)
  return spends.filter(({ atMs }) => atMs > startMs || (reset !== 'rolling' && atMs === startMs)).length
}

/** Counted forward from a Monday long ago, minute by weekly minute. */
function lastReset(minutesAfterMonday: number, now: number): number {
  let atMs = Date.UTC(2020, 0, 6) + minutesAfterMonday * 60_000
  while (atMs + WEEK_MS <= now) atMs += WEEK_MS
  return atMs
}

for (const [name, resets] of [
  ['rolling', fc.constant<QuotaReset>('rolling')],
  ['fixed', fixed],
] as const) {
  test(`${name}: our count is never below upstream's, and at most one time bucket and a minute above it`, () => {
    fc.assert(
      fc.property(nowMs, spendsBefore, resets, (now, drawn, reset) => {
        const spends = drawn.map(({ agoMs, purpose }) => ({ atMs: now - agoMs, purpose }))
        const quota = quotaAt(ledgerOf(spends), LIMIT, reset, now)
        const startMs = reset === 'rolling' ? now - WEEK_MS : lastReset(reset.minutesAfterMonday, now)
        const isOldWeek = reset !== 'rolling' && now < startMs + BEHIND_MS
        const edgeMs = isOldWeek ? startMs - WEEK_MS : startMs
        const edge = spends.filter(({ atMs }) => atMs > edgeMs - BUCKET_MS - ARRIVAL_MS).length
        expect(quota.used).toBeGreaterThanOrEqual(truth(spends, reset, now))
        expect(quota.used).toBeLessThanOrEqual(edge)
        expect(quota.remaining).toBe(Math.max(0, LIMIT - quota.used))
        expect(quota.limit).toBe(LIMIT)
      }),
    )
  })

  test(`${name}: the reset is at most a week, a time bucket and a minute ahead, and frees all units outside the buckets at its edge`, () => {
    fc.assert(
      fc.property(nowMs, spendsBefore, resets, (now, drawn, reset) => {
        const spends = drawn.map(({ agoMs, purpose }) => ({ atMs: now - agoMs, purpose }))
        const ledger = ledgerOf(spends)
        const before = quotaAt(ledger, LIMIT, reset, now)
        expect(before.resetMs).toBeGreaterThan(now)
        expect(before.resetMs).toBeLessThanOrEqual(now + WEEK_MS + BUCKET_MS + ARRIVAL_MS)
        const after = quotaAt(ledger, LIMIT, reset, before.resetMs)
        // A bucket that holds the reset, or ended within the minute before it, still counts in full afterwards.
        const edges = [before.resetMs, before.resetMs - BEHIND_MS - ARRIVAL_MS].map(bucketOf)
        if (before.used > 0 && !edges.some((bucketMs) => ledger.has(bucketMs)))
          expect(after.used).toBeLessThan(before.used)
      }),
    )
  })
}

test('a fixed reset frees all units two seconds after its minute, not before', () => {
  const reset = { minutesAfterMonday: 24 * 60 + 30 }
  const resetMs = MONDAY_MS + 24 * HOUR_MS + 30 * 60_000
  const ledger = ledgerOf(
    Array.from({ length: 7 }, () => ({ atMs: resetMs - 5 * HOUR_MS, purpose: 'poll' as const })),
  )
  expect(quotaAt(ledger, LIMIT, reset, resetMs + BEHIND_MS - 1)).toMatchObject({
    used: 7,
    resetMs: resetMs + BEHIND_MS,
  })
  expect(quotaAt(ledger, LIMIT, reset, resetMs + BEHIND_MS).used).toBe(0)
})

test('spending above the limit leaves zero units, never a negative number', () => {
  const spends = Array.from({ length: LIMIT + 5 }, () => ({ atMs: MONDAY_MS, purpose: 'fill' as const }))
  expect(quotaAt(ledgerOf(spends), LIMIT, 'rolling', MONDAY_MS)).toMatchObject({
    used: LIMIT + 5,
    remaining: 0,
  })
})

test('refunded units no longer count', () => {
  const ledger: Ledger = new Map([[MONDAY_MS, { poll: 3, fill: 0 }]])
  expect(quotaAt(ledger, LIMIT, 'rolling', MONDAY_MS).used).toBe(3)
  const refunded: Ledger = new Map([[MONDAY_MS, { poll: 0 }]])
  expect(quotaAt(refunded, LIMIT, 'rolling', MONDAY_MS).used).toBe(0)
})

test('spending by purpose counts only those purposes within the last seven days', () => {
  fc.assert(
    fc.property(nowMs, spendsBefore, fc.subarray([...purposes]), (now, drawn, selected) => {
      const spends = drawn.map(({ agoMs, purpose }) => ({ atMs: now - agoMs, purpose }))
      const own = spends.filter(({ purpose }) => selected.includes(purpose))
      expect(spentOn(ledgerOf(spends), selected, now)).toBe(
        quotaAt(ledgerOf(own), LIMIT, 'rolling', now).used,
      )
    }),
  )
})

test('a unit recorded just before its time bucket ends counts as long as upstream counts it', () => {
  const spentMs = MONDAY_MS + HOUR_MS - 1
  const ledger = ledgerOf([{ atMs: spentMs, purpose: 'poll' }])
  const arrivedMs = spentMs + 9_000
  expect(quotaAt(ledger, LIMIT, 'rolling', arrivedMs + WEEK_MS).used).toBe(1)
  const reset = { minutesAfterMonday: 60 }
  expect(quotaAt(ledger, LIMIT, reset, arrivedMs).used).toBe(1)
})

/** The same over 10,000 weeks: `npm run campaign -- --weeks 10000`. */
test('weeks of crashes at any moment never exceed the plan, and our count is never below upstream’s', () => {
  for (const seed of [1, 2, 4, 5, 6, 7, 8, 9]) {
    const { kills, throttled, quotaRefused, below, unitsOver, usedMost } = playWeeks(seed, 2, seed % 3 > 0)
    expect({ seed, throttled, quotaRefused, below }).toEqual({
      seed,
      throttled: 0,
      quotaRefused: 0,
      below: 0,
    })
    expect(unitsOver).toBeGreaterThanOrEqual(0)
    // One request is in flight when a process dies; without crashes the counts are equal.
    expect(unitsOver).toBeLessThanOrEqual(kills)
    expect(usedMost).toBeLessThanOrEqual(1)
  }
})
