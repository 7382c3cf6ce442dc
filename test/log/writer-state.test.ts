/** How long the ledger remembers. What every adapter makes of a spend: the suite in `conformance.ts`. */
import { expect, test } from 'vitest'
import type { WriterState } from '../../src/log/log.ts'
import { SPELL_MS } from '../../src/log/time-buckets.ts'
import { afterSpend, unusedState } from '../../src/log/writer-state.ts'
import { START_MS } from '../log/samples.ts'

const DAY_MS = 24 * 3_600_000
/** Spells of fifteen days. */
const KEPT = (15 * DAY_MS) / SPELL_MS

/** A state with a unit in each of so many spells, the last of which ends at the start. */
function spent(spells: number): WriterState {
  const beginMs = START_MS - spells * SPELL_MS
  const ledger = new Map(Array.from({ length: spells }, (_, n) => [beginMs + n * SPELL_MS, { poll: 1 }]))
  return { ...unusedState('AAAAAAAA'), ledger }
}
const spending = (state: WriterState, ...times: number[]): WriterState =>
  times.reduce((before, atMs) => afterSpend(before, 1, 'poll', atMs), state)
const spells = ({ ledger }: WriterState): number[] => [...ledger.keys()].toSorted((one, other) => one - other)

test('the ledger drops the oldest spells where it has more than fifteen days have', () => {
  const before = spent(KEPT)
  expect(spells(spending(before, START_MS - 1))).toEqual(spells(before))
  expect(spells(spending(before, START_MS))).toEqual([...spells(before).slice(1), START_MS])
  expect(spells(spending(spent(KEPT + 9), START_MS))).toEqual([...spells(before).slice(1), START_MS])
  expect(spending(spent(10), START_MS + 90 * DAY_MS).ledger.size).toBe(11)
})

test('a clock that is far ahead costs the ledger its oldest spells alone; set back, it costs none that count', () => {
  const before = spent(KEPT)
  const aheadMs = START_MS + 40 * DAY_MS
  const ahead = spending(before, aheadMs, aheadMs + SPELL_MS)
  expect(spells(ahead)).toEqual([...spells(before).slice(2), aheadMs, aheadMs + SPELL_MS])
  const back = spending(ahead, START_MS, START_MS + SPELL_MS)
  expect(spells(back)).toEqual([
    ...spells(before).slice(2),
    ...[START_MS, START_MS + SPELL_MS, aheadMs, aheadMs + SPELL_MS],
  ])
})
