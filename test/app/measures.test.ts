import { expect, test } from 'vitest'
import { countDays } from '../../src/app/measures.ts'

test('a day counts once: with an open gap as that, whatever became of its re-read', () => {
  const counts = countDays([
    { walk: 'complete', gapsLeft: 0 },
    { walk: 'complete', gapsLeft: 1 },
    { walk: 'failed', gapsLeft: 2 },
    { walk: 'failed', gapsLeft: 0 },
    { walk: 'missed', gapsLeft: 0 },
  ])
  expect(counts).toMatchObject({ complete: 1, gaps_left: 2, failed: 1, missed: 1, none: 0 })
  expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(5)
})
