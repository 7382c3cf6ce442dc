import { expect, test } from 'vitest'
import { RecentSends } from '../../../src/streams/fanout/recent-sends.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

test('streams are counted over batches of different filters, apart by tenant', () => {
  const clock = createManualClock()
  const sends = new RecentSends(clock)
  const nowMs = clock.now()
  const [all, some] = [[1, 2, 3], [2]]
  sends.note('desk', 'e', all, nowMs + 1)
  sends.note('desk', 'e', all, nowMs + 4)
  sends.note('other', 'e', all, nowMs + 2)
  sends.note('desk', 'e', some, nowMs + 3)
  expect(sends.of('desk', 'e', 2, nowMs)).toEqual({ streams: 3, firstMs: nowMs + 1, lastMs: nowMs + 4 })
  expect(sends.of('desk', 'e', 3, nowMs)).toMatchObject({ streams: 2 })
  expect(sends.of('other', 'e', 2, nowMs)).toMatchObject({ streams: 1 })
  expect(sends.of(null, 'e', 2, nowMs)).toMatchObject({ streams: 4 })
  expect(sends.of('desk', 'f', 2, nowMs)).toMatchObject({ streams: 0 })
})

test('of events from before the process, and of those that made room for newer ones, nothing is said', () => {
  const clock = createManualClock()
  const sends = new RecentSends(clock)
  const nowMs = clock.now()
  expect(sends.of('desk', 'e', 1, nowMs - 1)).toBeNull()
  for (let sequence = 1; sequence <= 1001; sequence += 1)
    sends.note('desk', 'e', [sequence], nowMs + sequence)
  expect(sends.of('desk', 'e', 1, nowMs)).toBeNull()
  expect(sends.of('desk', 'e', 2, nowMs + 2)).toMatchObject({ streams: 1 })
})
