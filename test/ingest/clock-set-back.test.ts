/** Tests that our own clock, once it was days fast and is put right, leaves no quota unit counted in the future. */
import { describe, expect, it } from 'vitest'
import { plans } from '../../src/core/plans.ts'
import { World } from '../support/worlds/ingest-world.ts'
import { burst } from '../support/worlds/world-upstream.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** A Monday. */
const SEVEN = Date.parse('2026-01-12T07:00:00Z')
const OFF_MS = 10 * DAY

/** A world of business days whose host is fast until Wednesday evening. */
function fastWorld(offMs = OFF_MS, dateOffMs = 0): World {
  const items = [0, 1, 2, 3].flatMap((day) => burst(`d${day}`, SEVEN + day * DAY, 10 * HOUR, 60))
  const options = { items, clockOffMs: offMs, dateOffMs, isShared: false }
  const world = new World({ ...plans.lite, seed: 1, startMs: SEVEN - HOUR, ...options })
  world.run(SEVEN + 2 * DAY + 13 * HOUR)
  world.options.clockOffMs = 0
  return world
}

const unitsIn = (world: World, sinceMs = 0): number =>
  [...world.store.ledger]
    .filter(([bucketMs]) => bucketMs > sinceMs)
    .flatMap(([, units]) => Object.values(units))
    .reduce((sum, n) => sum + n, 0)
const bucketsAhead = (world: World): number[] =>
  [...world.store.ledger.keys()].filter((bucketMs) => bucketMs > world.nowMs + 5 * MINUTE)

/** Longest time between two polls of Thursday's business hours, ms. */
function longestSilence({ polls }: World): number {
  const fromMs = SEVEN + 3 * DAY
  const within = polls.map(({ atMs }) => atMs).filter((ms) => ms >= fromMs && ms <= fromMs + 10 * HOUR)
  const times = [fromMs, ...within, fromMs + 10 * HOUR]
  return Math.max(...times.map((ms, index) => ms - (times[index - 1] ?? ms)))
}

describe('our clock is put right after days ten days fast', () => {
  it.each([
    { when: 'while it runs', happen: () => {} },
    { when: 'before a restart', happen: (world: World) => world.crash() },
    {
      when: 'while it is stopped for some hours',
      happen: (world: World) => {
        world.stop()
        world.run(world.nowMs + 4 * HOUR)
        world.start()
      },
    },
  ])('and polls go on at their pace: $when', ({ happen }) => {
    const world = fastWorld()
    happen(world)
    world.run(world.nowMs + 2 * HOUR)
    expect(bucketsAhead(world)).toEqual([])
    expect(unitsIn(world)).toBe(world.requests.length)
    world.run(SEVEN + 4 * DAY - HOUR)
    expect(longestSilence(world)).toBeLessThan(15 * MINUTE)
    expect(world.missing()).toEqual([])
  })

  it('and the ledger that was set back is what the next process reads', () => {
    const world = fastWorld()
    world.run(world.nowMs + 2 * HOUR)
    const before = unitsIn(world)
    world.crash()
    world.run(world.nowMs + MINUTE)
    expect(bucketsAhead(world)).toEqual([])
    expect(unitsIn(world)).toBeGreaterThanOrEqual(before)
  })
})

describe('our clock is right, and only for minutes set back by a month', () => {
  it.each([
    { when: 'while it runs', happen: () => {} },
    { when: 'at a restart', happen: (world: World) => world.crash() },
  ])('and every unit of the week still counts: $when', ({ happen }) => {
    const world = fastWorld(0)
    const before = unitsIn(world)
    world.options.clockOffMs = -30 * DAY
    happen(world)
    world.run(world.nowMs + 2 * MINUTE)
    world.options.clockOffMs = 0
    world.run(world.nowMs + 2 * MINUTE)
    expect(unitsIn(world, world.nowMs - 7 * DAY)).toBeGreaterThanOrEqual(before)
  })

  it('and also where upstream sends a Date that is days slow, and items have shown that ours is right', () => {
    const world = fastWorld(0, -4 * DAY)
    const bucketsBefore = [...world.store.ledger.keys()]
    world.options.clockOffMs = -20 * HOUR
    world.run(world.nowMs + 30 * MINUTE)
    world.options.clockOffMs = 0
    world.run(world.nowMs + 30 * MINUTE)
    expect([...world.store.ledger.keys()]).toEqual(expect.arrayContaining(bucketsBefore))
  })
})
