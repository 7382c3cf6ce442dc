/** Tests that clocks which are some minutes wrong cost no items and few units, whatever upstream's cursors follow. */
import { describe, expect, it } from 'vitest'
import { seededChance } from '../../src/core/chance.ts'
import { type PlanName, plans } from '../../src/core/plans.ts'
import { FreeUpstream } from '../support/worlds/broken/free-upstream.ts'
import { World, type WorldOptions } from '../support/worlds/ingest-world.ts'
import { burst, type WorldItem } from '../support/worlds/world-upstream.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const SEVEN = Date.parse('2026-01-06T07:00:00Z')

const days = (items: number): WorldItem[] =>
  [0, DAY].flatMap((dayMs) => [
    ...burst(`m${dayMs}`, SEVEN + dayMs, 20_000, 160),
    ...burst(`d${dayMs}`, SEVEN + dayMs + MINUTE, 10 * HOUR, items),
  ])

function played(plan: PlanName, items: WorldItem[], options: Partial<WorldOptions> = {}): World {
  const world = new World({ ...plans[plan], seed: 1, startMs: SEVEN - 10 * MINUTE, items, ...options })
  world.run(SEVEN + 2 * DAY)
  return world
}

/** Plays against an upstream whose cursors follow insertion; the guids of the items that are not published. */
function playedByInsertion(
  plan: PlanName,
  items: readonly WorldItem[],
  options: Partial<WorldOptions> = {},
): { world: World; missing: string[] } {
  const free = items.map(({ guid, timeMs, visibleMs, content }) => ({
    ...{ guid, timeMs, content },
    ...{ fromMs: visibleMs, toMs: Number.POSITIVE_INFINITY },
  }))
  const upstream = new FreeUpstream(free, { cursors: 'insertion' }, seededChance(1))
  const world: World = new World({
    ...{ ...plans[plan], seed: 1, startMs: SEVEN - 10 * MINUTE, items: [] },
    ...options,
    strange: (_page, query) => upstream.page(query, world.nowMs),
  })
  world.run(SEVEN + 2 * DAY)
  const held = new Set(world.store.events.map(({ id }) => id))
  return { world, missing: items.map(({ guid }) => guid).filter((guid) => !held.has(guid)) }
}

describe('clocks that are minutes wrong', () => {
  it.each([
    ['Date nine minutes slow', { dateOffMs: -9 * MINUTE }],
    ['Date two minutes slow', { dateOffMs: -2 * MINUTE }],
    ['Date half a minute slow', { dateOffMs: -MINUTE / 2 }],
    ['our clock two minutes fast', { clockOffMs: 2 * MINUTE }],
  ])('lose no item that is listed late where cursors follow insertion: %s', (_name, options) => {
    const items = days(600)
    for (const [index, item] of items.entries()) {
      if (index % 12 === 1) item.visibleMs += (1 + (index % 13)) * MINUTE
    }
    expect(playedByInsertion('free', items, options).missing).toEqual([])
  })

  it.each([
    ['both five minutes slow', { clockOffMs: -5 * MINUTE, dateOffMs: -5 * MINUTE }],
    ['ours five minutes slow, Date two', { clockOffMs: -5 * MINUTE, dateOffMs: -2 * MINUTE }],
  ])('cost few units where every item is stamped after them: %s', (_name, options) => {
    for (const plan of ['free', 'advanced'] as const) {
      const usual = played(plan, days(320))
      const world = played(plan, days(320), options)
      expect(world.missing()).toEqual([])
      expect(world.requests.length).toBeLessThan(1.45 * usual.requests.length)
    }
  })
})

describe('the time of a cursor', () => {
  it('of older items than the stream has makes no fill publish them', () => {
    const yesterday = burst('old', SEVEN - DAY, 11 * HOUR + 20 * MINUTE, 480)
    const world = played('free', [...yesterday, ...days(320)])
    expect(world.store.events.filter(({ id }) => id.startsWith('old'))).toEqual([])
    expect(world.store.events.length).toBeGreaterThan(900)
  })

  it('does not go back with a lone old item, for which a fill would read a whole day', () => {
    const lone = { guid: 'lone', timeMs: SEVEN, visibleMs: SEVEN + 2 * DAY - 4 * HOUR, content: 'lone' }
    const { world } = playedByInsertion('advanced', [...days(600), lone])
    expect(world.store.events.at(-1)?.id).toBe('lone')
    expect(world.store.head.cursorTimeMs).toBeGreaterThan(SEVEN + DAY)
  })
})
