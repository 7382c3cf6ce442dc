/** The delays of the newest announcements count what came late after an outage, and leave out what was looked up later. */
import { expect, test } from 'vitest'
import type { DisclosureEvent } from '../../../clients/typescript/src/messages.ts'
import { delaysOf } from '../../../src/console/page/parts/glance/delays.ts'

const NOON = Date.parse('2026-11-23T12:00:00Z')
const MINUTE_MS = 60_000

/** Published and recorded at these minutes after noon, by one clock. */
function event(publishedMinute: number, recordedMinute: number): DisclosureEvent {
  const at = (minute: number): string => new Date(NOON + minute * MINUTE_MS).toISOString()
  return {
    type: 'disclosure.published.v1',
    time: at(publishedMinute),
    recordedtime: at(recordedMinute),
  } as DisclosureEvent
}

test('what came 20 minutes late after an outage counts', () => {
  const events = [event(60, 80), event(70, 80), event(81, 81)]
  expect(delaysOf(events, 0, NOON)).toEqual({
    count: 3,
    medianMs: 10 * MINUTE_MS,
    mostMs: 20 * MINUTE_MS,
    older: 0,
  })
})

test('what was published before the log began was looked up, and does not count', () => {
  expect(delaysOf([event(-300, 1), event(-1, 1), event(2, 2)], 0, NOON)).toMatchObject({ count: 1, older: 2 })
})

test('a clock that is a little ahead is taken off before that is judged', () => {
  const aheadMs = 30_000
  expect(delaysOf([event(0.25, 1)], aheadMs, NOON)).toMatchObject({ count: 0, older: 1 })
  expect(delaysOf([event(0.75, 1)], aheadMs, NOON)).toMatchObject({ count: 1, medianMs: 45_000 })
})

test("where upstream's clock steps, as in the demo, what was here before a step does not count as late", () => {
  const hoursAhead = 8 * 60 * MINUTE_MS
  expect(delaysOf([event(0, 1), event(481, 1)], hoursAhead, NOON)).toMatchObject({ count: 1, older: 1 })
})
