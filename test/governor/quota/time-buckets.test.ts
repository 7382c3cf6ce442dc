/** Tests how long the ledger keeps its time buckets. `test/log/conformance.ts` tests that a spend is durable. */
import { expect, test } from 'vitest'
import { DAY_MS } from '../../../src/core/durations.ts'
import {
  BUCKET_MS,
  type Ledger,
  ledgerAfterSpend,
  ledgerSetBack,
} from '../../../src/governor/quota/time-buckets.ts'
import { START_MS } from '../../log/samples.ts'

/** Time buckets of fifteen days. */
const KEPT = (15 * DAY_MS) / BUCKET_MS

/** A ledger with a unit in each of this many time buckets, the last of which ends at the start. */
function spent(buckets: number): Ledger {
  const beginMs = START_MS - buckets * BUCKET_MS
  return new Map(Array.from({ length: buckets }, (_, n) => [beginMs + n * BUCKET_MS, { poll: 1 }]))
}
const spending = (ledger: Ledger, ...times: number[]): Ledger =>
  times.reduce((before, atMs) => ledgerAfterSpend(before, 1, 'poll', atMs), ledger)
const buckets = (ledger: Ledger): number[] => [...ledger.keys()].toSorted((one, other) => one - other)

test('the ledger keeps fifteen days of time buckets and drops the oldest beyond that', () => {
  const before = spent(KEPT)
  expect(buckets(spending(before, START_MS - 1))).toEqual(buckets(before))
  expect(buckets(spending(before, START_MS))).toEqual([...buckets(before).slice(1), START_MS])
  expect(buckets(spending(spent(KEPT + 9), START_MS))).toEqual([...buckets(before).slice(1), START_MS])
  expect(spending(spent(10), START_MS + 90 * DAY_MS).size).toBe(11)
})

test('a clock jump forwards drops only the oldest time buckets; a jump back drops none that still count', () => {
  const before = spent(KEPT)
  const aheadMs = START_MS + 40 * DAY_MS
  const ahead = spending(before, aheadMs, aheadMs + BUCKET_MS)
  expect(buckets(ahead)).toEqual([...buckets(before).slice(2), aheadMs, aheadMs + BUCKET_MS])
  const back = spending(ahead, START_MS, START_MS + BUCKET_MS)
  expect(buckets(back)).toEqual([
    ...buckets(before).slice(2),
    ...[START_MS, START_MS + BUCKET_MS, aheadMs, aheadMs + BUCKET_MS],
  ])
})

test('units of times that have not come yet are counted as much earlier as the clock was set back, and none is lost', () => {
  const nowMs = START_MS + 2 * BUCKET_MS
  const ahead = [2, 3, 50, 51].map((buckets) => START_MS + 10 * DAY_MS + buckets * BUCKET_MS)
  const before = spending(spent(3), ...ahead, START_MS + 10 * DAY_MS - 90 * BUCKET_MS)
  const after = ledgerSetBack(before, { nowMs, backMs: 10 * DAY_MS })
  expect(Object.fromEntries(after)).toEqual({
    [START_MS - 90 * BUCKET_MS]: { poll: 1 },
    ...Object.fromEntries([-3, -2, -1].map((buckets) => [START_MS + buckets * BUCKET_MS, { poll: 1 }])),
    // Three of them would still lie ahead: no unit was spent later than now.
    [nowMs]: { poll: 4 },
  })
})

test('a clock that is set back within a time bucket or two leaves the ledger as it is', () => {
  const before = spending(spent(3), START_MS, START_MS + BUCKET_MS)
  expect(ledgerSetBack(before, { nowMs: START_MS + 1, backMs: BUCKET_MS })).toBe(before)
})
