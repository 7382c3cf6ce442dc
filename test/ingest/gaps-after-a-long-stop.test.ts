/** Tests that a gap is not given up for a page cursor that a long stop has made useless. */
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
