/** Weeks of usual days on an honest upstream: polls go on through each business day, whatever the week began with. */
import { describe, expect, it } from 'vitest'
import { GAP_GIVEN_UP, isGap } from '../../src/core/event.ts'
import { type PlanName, plans } from '../../src/core/plans.ts'
import { createBusinessDays } from '../../src/governor/arrivals/day-shape.ts'
import { firstProfile } from '../../src/governor/arrivals/profile.ts'
import { World, type WorldOptions } from '../support/worlds/ingest-world.ts'
import type { WorldItem } from '../support/worlds/world-upstream.ts'

const SECOND = 1000
const HOUR = 3600 * SECOND
const DAY = 24 * HOUR
/** The clocks of London go forward on this day. */
const SPRING = Date.parse('2026-03-29T01:00:00Z')
const TUESDAY = Date.parse('2026-02-03T06:00:00Z')

/** Business days of so many items from the day of `fromMs` on, as the shipped profile spreads them over a day. */
function businessDays(fromMs: number, days: number, itemsADay: number): WorldItem[] {
  const shape = createBusinessDays()(firstProfile())
  const [endsS, items] = [Array.from(shape.endsS), Array.from(shape.items)]
  const total = items.at(-1) ?? 0
  const moments = Array.from({ length: itemsADay }, (_, index) => {
    const place = items.findIndex((sum) => sum >= ((index + 0.5) * total) / itemsADay)
    const [from, to] = [items[place - 1] ?? 0, items[place] ?? 0]
    const share = (((index + 0.5) * total) / itemsADay - from) / (to - from)
    const startS = endsS[place - 1] ?? 0
    return Math.floor(startS + share * ((endsS[place] ?? 0) - startS)) * SECOND
  })
  return Array.from({ length: days }, (_, day) => {
    const dateMs = Math.floor(fromMs / DAY) * DAY + day * DAY
    if ([0, 6].includes(new Date(dateMs).getUTCDay())) return []
    const midnightMs = dateMs - (dateMs < SPRING ? 0 : HOUR)
    return moments.map((ofDayMs, index) => {
      const name = `${day}-${index}`
      const timeMs = midnightMs + ofDayMs
      return { guid: name, timeMs, visibleMs: timeMs + 300, content: name }
    })
  }).flat()
}

function played(plan: PlanName, startMs: number, days: number, options: Partial<WorldOptions>): World {
  const world = new World({ ...plans[plan], seed: 1, startMs, items: [], ...options })
  world.run(startMs + days * DAY)
  return world
}

/** The longest time from visible to held of an item that became visible after a moment, ms. */
function longestDelay({ store, committedMs }: World, items: readonly WorldItem[], sinceMs: number): number {
  const heldMs = new Map(store.events.map(({ id }, index) => [id, committedMs[index] ?? 0]))
  const delays = items
    .filter(({ visibleMs }) => visibleMs > sinceMs)
    .map(({ guid, visibleMs }) => (heldMs.get(guid) ?? Number.POSITIVE_INFINITY) - visibleMs)
  return Math.max(...delays)
}

describe('the smallest plan', () => {
  it('has units for each day of its first week', () => {
    const items = businessDays(TUESDAY - DAY, 9, 1900)
    const world = played('free', TUESDAY, 9, { items, backfillMs: DAY })
    expect(longestDelay(world, items, TUESDAY)).toBeLessThan(10 * HOUR)
  })

  it('has units for the bursts of the week in which the clocks go forward', () => {
    const startMs = Date.parse('2026-03-16T05:00:00Z')
    const items = businessDays(startMs, 20, 2100)
    const world = played('free', startMs, 21, { items, backfillMs: DAY })
    expect(longestDelay(world, items, startMs + 8 * DAY)).toBeLessThan(12 * HOUR)
  })
})

describe('a plan that pays for re-scans, but not for all of them', () => {
  it('opens no gap for one that is over budget', () => {
    const startMs = Date.parse('2026-01-05T05:00:00Z')
    const items = businessDays(startMs, 12, 1900)
    const world = played('lite', startMs, 12, { items })
    const postponed = world.reports.filter(({ event }) => event === 'page_scan.postponed')
    expect(postponed.length).toBeGreaterThan(0)
    expect(world.store.events.filter(({ type }) => isGap(type))).toEqual([])
    expect(longestDelay(world, items, startMs)).toBeLessThan(8 * HOUR)
  })
})

describe('a backfill that is too dear', () => {
  it('leaves the other half of the quota to the first week', () => {
    const items = businessDays(TUESDAY - 40 * DAY, 47, 200)
    const world = played('free', TUESDAY, 7, { items, backfillMs: 40 * DAY })
    const [gap] = world.openGaps
    expect(gap?.cause).toBe('outage')
    const ofTheGap = world.requests.filter(
      ({ atMs, query }) => atMs > TUESDAY + HOUR && (query.fromMs ?? TUESDAY) < TUESDAY - DAY,
    )
    expect(ofTheGap).toEqual([])
    expect(longestDelay(world, items, TUESDAY)).toBeLessThan(8 * HOUR)
  })

  it('is read in the weeks after the first one', () => {
    const items = businessDays(TUESDAY - 8 * DAY, 33, 1750)
    const world = played('free', TUESDAY, 22, { items, backfillMs: 8 * DAY })
    expect(world.store.events.filter(({ type }) => type === GAP_GIVEN_UP)).toEqual([])
    const held = new Set(world.store.events.map(({ id }) => id))
    const ofBackfill = items.filter(({ timeMs }) => timeMs >= TUESDAY - 8 * DAY && timeMs < TUESDAY)
    expect(ofBackfill.length).toBeGreaterThan(8000)
    const missing = ofBackfill.filter(({ guid }) => !held.has(guid))
    expect(missing).toEqual([])
  })
})
