/** Tests that a wrong clock, ours or upstream's `Date`, delays nothing where the items of the day before are still listed. */
import { describe, expect, it } from 'vitest'
import { type PlanName, plans } from '../../../src/core/plans.ts'
import { World, type WorldOptions } from '../../support/worlds/ingest-world.ts'
import { burst, type WorldItem } from '../../support/worlds/world-upstream.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const SEVEN = Date.parse('2026-01-06T07:00:00Z')

/** Two business days of 480 items, each second a busy hour's. */
const days: readonly WorldItem[] = [0, DAY].flatMap((dayMs) => [
  ...burst(`m${dayMs}`, SEVEN + dayMs, 20_000, 160),
  ...burst(`d${dayMs}`, SEVEN + dayMs + MINUTE, 10 * HOUR, 320),
])
/** They do not show the present. */
const dayBefore = burst('old', SEVEN - DAY, 10 * HOUR, 30)

function played(plan: PlanName, options: Partial<WorldOptions> = {}, more: readonly WorldItem[] = []): World {
  const items = [...dayBefore, ...days, ...more]
  const world = new World({ ...plans[plan], seed: 1, startMs: SEVEN - 10 * MINUTE, items, ...options })
  world.run(SEVEN + 2 * DAY)
  return world
}

/** Times from visible to held of the two days' items, ms. */
function delaysMs(world: World): number[] {
  const heldMs = new Map(
    world.store.events.map(({ id }, index) => [id, world.committedMs[index] ?? Number.NaN]),
  )
  return days.map(({ guid, visibleMs }) => (heldMs.get(guid) ?? Number.NaN) - visibleMs)
}

function meanMs(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

describe('a wrong clock', () => {
  const plansPlayed = ['free', 'lite', 'advanced'] as const
  const usual = new Map(plansPlayed.map((plan) => [plan, delaysMs(played(plan))]))
  const offs = [-3 * HOUR, -20 * MINUTE, 20 * MINUTE, 3 * HOUR]
  const cases = plansPlayed.flatMap((plan) =>
    offs.flatMap((ms) => [
      [plan, 'ours', ms / MINUTE, { clockOffMs: ms }] as const,
      [plan, "upstream's", ms / MINUTE, { dateOffMs: ms }] as const,
    ]),
  )

  it.each(cases)('delays nothing on %s: %s by %d minutes', (plan, _whose, _minutes, options) => {
    const delays = delaysMs(played(plan, options))
    expect(meanMs(delays)).toBeLessThan(1.1 * meanMs(usual.get(plan) ?? []))
    expect(Math.max(...delays)).toBeLessThan(1.25 * Math.max(...(usual.get(plan) ?? [])))
  })

  it('is not taken for right by items that are stamped ahead of the other', () => {
    const usualMs = meanMs(usual.get('lite') ?? [])
    const stamped = burst('ahead', SEVEN + HOUR, 8 * HOUR, 60).map((item, index) => ({
      ...item,
      timeMs: item.timeMs + (index % 7) * 29 * MINUTE,
    }))
    for (const options of [{ clockOffMs: 3 * HOUR }, { dateOffMs: 3 * HOUR }]) {
      const delays = delaysMs(played('lite', options, stamped))
      expect(meanMs(delays)).toBeLessThan(1.2 * usualMs)
    }
  })

  it('is found again after each restart', () => {
    const options: Partial<WorldOptions> = { dateOffMs: -3 * HOUR, crashes: 0.01 }
    const delays = delaysMs(played('lite', options))
    expect(meanMs(delays)).toBeLessThan(1.2 * meanMs(delaysMs(played('lite', { crashes: 0.01 }))))
  })

  it('does not put off the poll that was planned', () => {
    for (const options of [{ clockOffMs: 3 * HOUR }, { dateOffMs: 3 * HOUR }, { dateOffMs: -3 * HOUR }]) {
      const { polls } = played('free', options)
      polls.slice(1).forEach(({ atMs }, index) => {
        const before = polls[index]
        expect(atMs - (before?.atMs ?? 0)).toBeLessThan(1.5 * (before?.plannedMs ?? 0) + 30_000)
      })
    }
  })
})
