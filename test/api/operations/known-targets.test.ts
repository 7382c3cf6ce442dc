/** Tests what a node knows of the gaps and days that orders can be about. */
import { expect, test } from 'vitest'
import { knownTargets } from '../../../src/api/operations/known-targets.ts'
import type { DayReport, WalkReport } from '../../../src/archive/days.ts'

const NO_DAYS = { last: () => null }
const NO_GAPS = () => ({ gaps: null })

test('open gaps are those of the leader’s report; a list that may be cut short says nothing', () => {
  const openGaps = (gaps: { id: string }[] | null) =>
    knownTargets({ status: () => ({ gaps }), days: NO_DAYS }).openGaps()
  expect(openGaps([{ id: 'mk1' }, { id: 'mk2' }])).toEqual(['mk1', 'mk2'])
  expect(openGaps([])).toEqual([])
  expect(openGaps(null)).toBeNull()
  expect(openGaps(Array.from({ length: 1000 }, (_, index) => ({ id: `${index}` })))).toBeNull()
})

test('days that can be read again are the last five whose releases are over', () => {
  const walks: [string, WalkReport][] = [
    ['2026-05-22', 'whole'],
    ['2026-05-25', 'missed'],
    ['2026-05-26', 'failed'],
    ['2026-05-27', 'unpaid'],
    ['2026-05-28', 'whole'],
    ['2026-05-29', 'owed'],
    ['2026-05-30', 'none'],
    ['2026-05-31', 'none'],
    ['2026-06-01', 'not_due'],
  ]
  const reports = walks.map(([date, walk]) => ({ date, walk }) as DayReport)
  const last = (count: number) => reports.slice(-count)
  expect(knownTargets({ status: NO_GAPS, days: { last } }).days()).toEqual([
    '2026-05-25',
    '2026-05-26',
    '2026-05-27',
    '2026-05-28',
    '2026-05-29',
  ])
  expect(knownTargets({ status: NO_GAPS, days: NO_DAYS }).days()).toBeNull()
})
