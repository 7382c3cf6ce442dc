/** Tests the gaps of stops of days and weeks: read day by day, and not given up for a page cursor that is useless by then. */
import { expect, it } from 'vitest'
import { seededChance } from '../../src/core/chance.ts'
import { plans } from '../../src/core/plans.ts'
import { classifyStatus } from '../../src/upstream/outcome.ts'
import { type FreeItem, FreeUpstream } from '../support/worlds/broken/free-upstream.ts'
import { World } from '../support/worlds/ingest-world.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** A Tuesday. */
const SEVEN = Date.parse('2026-01-06T07:00:00Z')

it.each(['free', 'lite'] as const)(
  'a gap of three weeks ago is read from its first page before it is given up, on %s',
  (plan) => {
    const items: FreeItem[] = Array.from({ length: 300 }, (_, number) => {
      const timeMs = SEVEN + Math.floor(number / 10) * 1000
      return { guid: `i${number}`, timeMs, content: '', fromMs: timeMs + 300, toMs: Number.POSITIVE_INFINITY }
    })
    const honest = new FreeUpstream(items, {}, seededChance(1))
    const givenMs = new Map<string, number>()
    const [stopMs, backMs] = [SEVEN + 2 * DAY, SEVEN + 23 * DAY]
    const world: World = new World({
      ...{ ...plans[plan], seed: 1, startMs: SEVEN - HOUR, items: [] },
      fails: ({ pageCursor }, _requests, nowMs) => {
        if (pageCursor === undefined) return undefined
        if (nowMs < stopMs) return classifyStatus(500, null, '')
        const isOld = nowMs - (givenMs.get(pageCursor) ?? 0) > HOUR
        return isOld ? classifyStatus(400, null, '') : undefined
      },
      strange: (_page, query) => {
        const page = honest.page(query, world.nowMs)
        if (typeof page.nextCursor === 'string') givenMs.set(page.nextCursor, world.nowMs)
        return page
      },
    })
    world.run(stopMs)
    expect(world.openGaps.length).toBeGreaterThan(0)
    world.stop()
    world.run(backMs)
    world.start()
    world.run(backMs + 2 * DAY)
    const held = new Set(world.store.events.map(({ id }) => id))
    expect(items.filter(({ guid }) => !held.has(guid)).map(({ guid }) => guid)).toEqual([])
    expect(world.openGaps).toEqual([])
  },
)

it('a gap of a weekend that is read day by day is filled, although the items of its poll lie in one of these days', () => {
  const friday = SEVEN + 3 * DAY
  const items: FreeItem[] = [0, 1, 2, 3, 6].flatMap((day) =>
    Array.from({ length: 120 }, (_, number) => {
      const timeMs = SEVEN + day * DAY + number * 5 * MINUTE
      const guid = `${day}-${number}`
      return { guid, timeMs, content: guid, fromMs: timeMs + 300, toMs: Number.POSITIVE_INFINITY }
    }),
  )
  const honest = new FreeUpstream(items, {}, seededChance(1))
  const [stopMs, backMs] = [friday + 2 * HOUR, friday + 3 * DAY - HOUR / 2]
  const world: World = new World({
    ...{ ...plans.lite, seed: 1, startMs: SEVEN - HOUR, items: [] },
    fails: ({ fromMs }, _requests, nowMs) =>
      fromMs !== undefined && nowMs > backMs && nowMs < backMs + 10 * MINUTE
        ? classifyStatus(500, null, '')
        : undefined,
    strange: (_page, query) => honest.page(query, world.nowMs),
  })
  world.run(stopMs)
  world.stop()
  world.run(backMs)
  world.start()
  world.run(backMs + MINUTE)
  expect(world.openGaps).toHaveLength(1)
  world.run(backMs + 2 * HOUR)
  expect(world.openGaps).toEqual([])
})
