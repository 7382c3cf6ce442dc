import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  DAYS_KEPT,
  type DayCounts,
  type DayRecord,
  emptyDay,
  itemsOf,
  withCounts,
  withDay,
} from '../../../src/core/calendar/day-record.ts'

const names = ['polled', 'filled', 'swept', 'backfilled', 'amended', 'rejected'] as const
const dates = fc.integer({ min: 1, max: DAYS_KEPT }).map((day) => `2026-01-${String(day).padStart(2, '0')}`)
const addition = fc.record({
  date: dates,
  counts: fc.record(
    Object.fromEntries(names.map((name) => [name, fc.nat(1000)])) as Record<
      keyof DayCounts,
      fc.Arbitrary<number>
    >,
    { requiredKeys: [] },
  ),
  eodSeen: fc.boolean(),
})
type Addition = typeof addition extends fc.Arbitrary<infer A> ? A : never

function added(additions: readonly Addition[]): readonly DayRecord[] {
  return additions.reduce<readonly DayRecord[]>(
    (days, { date, counts, eodSeen }) => withDay(days, date, (day) => withCounts(day, counts, eodSeen)),
    [],
  )
}

describe('the records of the days', () => {
  it('are the same whatever the order of commits', () => {
    fc.assert(
      fc.property(
        fc
          .array(addition, { maxLength: 30 })
          .chain((all) => fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length }))),
        ([one, other]) => {
          expect(added(one)).toEqual(added(other))
        },
      ),
    )
  })

  it('lose and invent no item, and are sorted by date', () => {
    fc.assert(
      fc.property(fc.array(addition, { maxLength: 30 }), (additions) => {
        const days = added(additions)
        for (const name of names) {
          const sum = additions.reduce((total, { counts }) => total + (counts[name] ?? 0), 0)
          expect(days.reduce((total, day) => total + day[name], 0)).toBe(sum)
        }
        expect(days.map(({ date }) => date)).toEqual([...new Set(additions.map(({ date }) => date))].sort())
      }),
    )
  })

  it('keep the newest days only', () => {
    const all = Array.from({ length: 40 }, (_, index) =>
      new Date(Date.UTC(2026, 0, 1 + index)).toISOString().slice(0, 10),
    )
    const days = all.reduce<readonly DayRecord[]>((known, date) => withDay(known, date, (day) => day), [])
    expect(days.map(({ date }) => date)).toEqual(all.slice(-DAYS_KEPT))
    expect(withDay(days, '2025-12-24', (day) => day)).toEqual(days)
  })

  it('count an item with several contents once', () => {
    expect(
      itemsOf({ ...emptyDay('2026-01-05'), polled: 5, filled: 3, swept: 2, backfilled: 1, amended: 4 }),
    ).toBe(7)
  })
})
