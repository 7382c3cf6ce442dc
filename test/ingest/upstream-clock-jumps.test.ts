/** Tests that polls see on when upstream's own clock, which dates its answers and stamps its items, was ahead for a while. */
import { describe, expect, it } from 'vitest'
import { seededChance } from '../../src/core/chance.ts'
import { type PlanName, plans } from '../../src/core/plans.ts'
import { FreeUpstream } from '../support/worlds/broken/free-upstream.ts'
import { World } from '../support/worlds/ingest-world.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const SEVEN = Date.parse('2026-01-06T07:00:00Z')
const TEN = SEVEN + 3 * HOUR
const EACH_MS = 30_000

/** How upstream's clock goes: ahead by `aheadMs` from ten o'clock for `lastsMs`. */
interface Jump {
  plan: PlanName
  aheadMs: number
  lastsMs: number
}

/** An item every half a minute until four o'clock, and how late each was held, ms. */
function delaysMs(
  { plan, aheadMs, lastsMs }: Jump,
  cursors: 'time' | 'insertion',
): { late: number[]; requests: number } {
  const offAt = (atMs: number): number => (atMs >= TEN && atMs < TEN + lastsMs ? aheadMs : 0)
  const items = Array.from({ length: (9 * HOUR) / EACH_MS }, (_, number) => {
    const fromMs = SEVEN + number * EACH_MS
    const timeMs = Math.floor((fromMs + offAt(fromMs)) / 1000) * 1000
    return { guid: `i${number}`, content: '', timeMs, fromMs, toMs: Number.POSITIVE_INFINITY }
  })
  const upstream = new FreeUpstream(items, { cursors }, seededChance(1))
  const world: World = new World({
    ...{ ...plans[plan], seed: 1, startMs: SEVEN - 10 * MINUTE, items: [] },
    dateOffMs: offAt,
    strange: (_page, query) => upstream.page(query, world.nowMs),
  })
  world.run(SEVEN + 9 * HOUR)
  const heldMs = new Map(world.store.events.map(({ id }, at) => [id, world.committedMs[at] ?? Number.NaN]))
  const late = items
    .filter(({ fromMs }) => fromMs < SEVEN + 8 * HOUR)
    .map(({ guid, fromMs }) => (heldMs.get(guid) ?? Number.POSITIVE_INFINITY) - fromMs)
  return { late, requests: world.requests.length }
}

const jumps = [
  { plan: 'free', lastsMs: 40 * MINUTE },
  { plan: 'lite', lastsMs: 20 * MINUTE },
  { plan: 'advanced', lastsMs: 10 * MINUTE },
  { plan: 'ultimate', lastsMs: 10 * MINUTE },
] as const

describe.each(['time', 'insertion'] as const)(
  'a clock of upstream that was ahead, cursors by %s',
  (cursors) => {
    const cases = jumps.flatMap((jump) => [HOUR, 3 * HOUR].map((aheadMs) => ({ ...jump, aheadMs })))

    it.each(cases)('makes no item later than usual: $plan, $aheadMs ms', (jump) => {
      const usual = delaysMs({ ...jump, aheadMs: 0 }, cursors)
      const { late, requests } = delaysMs(jump, cursors)
      expect(Math.max(...late)).toBeLessThan(1.5 * Math.max(...usual.late))
      // Two fills: where the clock goes ahead, and where it is set back.
      expect(requests).toBeLessThan(1.2 * usual.requests + 30)
    })
  },
)
