/** Tests that polls notice a cursor that leads to nothing new although its page lists items. */
import { expect, it } from 'vitest'
import { seededChance } from '../../src/core/chance.ts'
import { plans } from '../../src/core/plans.ts'
import { type FreeItem, FreeUpstream } from '../support/worlds/broken/free-upstream.ts'
import { World } from '../support/worlds/ingest-world.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
/** A Tuesday. */
const SEVEN = Date.parse('2026-01-06T07:00:00Z')
const STILL = { fromMs: SEVEN + 2 * HOUR, toMs: SEVEN + 8 * HOUR }

function itemOf(guid: string, timeMs: number, fromMs = timeMs + 300): FreeItem {
  return { guid, timeMs, content: guid, fromMs, toMs: Number.POSITIVE_INFINITY }
}

it.each([
  ['free', 45],
  ['lite', 25],
  ['enterprise', 25],
] as const)(
  'a replica for cursors that stands still, behind an item that is stamped ahead, blinds no poll for long: %s',
  (plan, minutes) => {
    const items = Array.from({ length: 160 }, (_, number) =>
      itemOf(`usual-${number}`, SEVEN + number * 3.75 * MINUTE),
    )
    // Its cursor is not taken before its time: every poll lists the items behind the cursor before it.
    const ahead = itemOf('ahead', SEVEN + 11 * HOUR, SEVEN + HOUR)
    const honest = new FreeUpstream([...items, ahead], {}, seededChance(1))
    const world: World = new World({
      ...{ ...plans[plan], seed: 1, startMs: SEVEN - 20 * MINUTE, items: [] },
      strange: (_page, query) => {
        const { nowMs } = world
        const isStill = query.sinceCursor !== undefined && nowMs > STILL.fromMs && nowMs < STILL.toMs
        const page = honest.page(query, nowMs)
        if (!isStill) return page
        const rankOf = new Map(
          honest.entries
            .filter(({ item }) => item.fromMs <= STILL.fromMs)
            .map(({ text, rank }) => [text, rank]),
        )
        const listed = page.items.filter(({ text }) => rankOf.has(text))
        const rank = rankOf.get(listed[0]?.text ?? '')
        const latestCursor = rank === undefined ? (query.sinceCursor ?? null) : `${rank}@${nowMs}`
        return { ...page, items: listed, hasMore: false, latestCursor }
      },
    })
    world.run(SEVEN + 11 * HOUR)
    const heldMs = new Map(world.store.events.map(({ data }, at) => [data, world.committedMs[at] ?? 0]))
    const lateMs = honest.entries.map(
      ({ text, item }) => (heldMs.get(text) ?? Number.POSITIVE_INFINITY) - item.fromMs,
    )
    expect(Math.max(...lateMs)).toBeLessThan(minutes * MINUTE)
  },
)
