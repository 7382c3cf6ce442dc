/** Tests that a market which is open on a day that the calendar calls closed is noticed, and polled as on any business day. */
import { expect, it } from 'vitest'
import { createCalendar } from '../../src/core/calendar/calendar.ts'
import { type PlanName, plans } from '../../src/core/plans.ts'
import { World } from '../support/worlds/ingest-world.ts'
import { burst, type WorldItem } from '../support/worlds/world-upstream.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** The spring holiday of 2026, a Monday, at seven in London. */
const SEVEN = Date.parse('2026-05-25T06:00:00Z')
const calendar = createCalendar()

/** 320 items, half of them at seven and half over the day. */
function dayOf(day: number): WorldItem[] {
  const startMs = SEVEN + day * DAY
  return [
    ...burst(`seven${day}`, startMs, 20_000, 160),
    ...burst(`day${day}`, startMs + MINUTE, 10 * HOUR, 160),
  ]
}

/** A week before that day, the weekend before it with one busy hour, and the day with those items. */
function playedTo(plan: PlanName, items: readonly WorldItem[]): World {
  const days = Array.from({ length: 6 }, (_, back) => back - 6)
  const before = days.filter((day) => calendar.isBusinessDay(calendar.londonDate(SEVEN + day * DAY)))
  const saturday = burst('saturday', SEVEN - 2 * DAY, HOUR, 60)
  const world = new World({
    ...{ ...plans[plan], seed: 1, startMs: SEVEN - 6 * DAY - HOUR },
    items: [...before.flatMap(dayOf), ...saturday, ...items],
  })
  world.run(SEVEN + 16 * HOUR)
  return world
}

it.each(['lite', 'advanced'] as const)(
  'an open market on a day that the calendar calls closed is polled as on a business day once it is seen: %s',
  (plan) => {
    const world = playedTo(plan, dayOf(0))
    const held = world.store.events.map(({ timeMs }, at) => ({
      timeMs,
      lateMs: (world.committedMs[at] ?? 0) - timeMs,
    }))
    const morning = held.filter(({ timeMs }) => timeMs >= SEVEN + 2 * HOUR)
    expect(Math.max(...morning.map(({ lateMs }) => lateMs))).toBeLessThan(15 * MINUTE)
    expect(world.missing()).toEqual([])
    const { openDate, closed = [0, 0] } = world.store.head.profile ?? {}
    expect(openDate).toBe('2026-05-25')
    // A day of 320 items would be learnt as what a closed day brings.
    expect(closed[0] / closed[1]).toBeLessThan(30)
  },
)

it('a busy hour of a weekend, or a holiday without news, opens no day', () => {
  const world = playedTo('lite', [])
  expect(world.store.head.profile?.openDate).toBeUndefined()
})
