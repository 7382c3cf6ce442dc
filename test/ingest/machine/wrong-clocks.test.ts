/** Tests that a wrong clock, ours or upstream's `Date`, delays nothing where the items of the day before are still listed. */
import { describe, expect, it } from 'vitest'
import { type PlanName, plans } from '../../../src/core/plans.ts'
import {
  earliestPresentMs,
  observePoll,
  observeTimes,
  presentMs,
} from '../../../src/ingest/machine/present.ts'
import {
  type FetchedItem,
  initialState,
  type ReadPage,
  type StepContext,
} from '../../../src/ingest/machine/state.ts'
import { ingestConfig } from '../../support/worlds/ingest-config.ts'
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

function played(
  plan: PlanName,
  options: Partial<WorldOptions> = {},
  more: readonly WorldItem[] = [],
  listed = dayBefore,
): World {
  const items = [...listed, ...days, ...more]
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

  it.each([3 * HOUR, -3 * HOUR])(
    'hides no item that is listed behind the cursor: Date by %d ms',
    (dateOffMs) => {
      const behind = [1.5, 3, 5, 7, 8, 9, 9.5].map((hours, index) => {
        const timeMs = SEVEN + hours * HOUR
        const visibleMs = timeMs + (index % 2 === 0 ? 20 * MINUTE : 2 * HOUR)
        return { guid: `behind-${hours}`, timeMs, visibleMs, content: `${hours}` }
      })
      for (const plan of ['lite', 'advanced'] as const) {
        const held = played(plan, { dateOffMs }, behind).store.events.map(({ id }) => id)
        expect(behind.filter(({ guid }) => !held.includes(guid))).toEqual([])
      }
    },
  )

  it.each([
    { dateOffMs: 270 * DAY },
    { dateOffMs: -270 * DAY },
    { clockOffMs: 270 * DAY },
    { clockOffMs: -270 * DAY },
  ])('keeps no day from being reconciled: $dateOffMs, $clockOffMs ms', (options) => {
    const behind = [3, 5, 8].map((hours) => {
      const timeMs = SEVEN + hours * HOUR
      return { guid: `behind-${hours}`, timeMs, visibleMs: timeMs + 3 * HOUR, content: `${hours}` }
    })
    const held = played('advanced', options, behind, []).store.events.map(({ id }) => id)
    expect(behind.filter(({ guid }) => !held.includes(guid))).toEqual([])
  })

  it('does not reconcile days of before the start: a Date that is eight days behind for two minutes', () => {
    const startMs = SEVEN + HOUR
    const dateOffMs = (trueMs: number): number =>
      trueMs > startMs + HOUR && trueMs < startMs + HOUR + 2 * MINUTE ? -8 * DAY : 0
    const before = [-5, -4, -1].flatMap((back) => burst(`before${back}`, SEVEN + back * DAY, HOUR, 20))
    const world = played('advanced', { startMs, dateOffMs }, before, [])
    expect(world.store.events.filter(({ id }) => id.startsWith('before-'))).toEqual([])
  })

  it.each([270 * DAY, -270 * DAY])('keeps nothing from being backfilled: Date by %d ms', (dateOffMs) => {
    const world = played('advanced', { dateOffMs, backfillMs: 2 * DAY })
    expect(world.missing()).toEqual([])
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
    const restarts = { crashes: 0.003, faultsUntilMs: SEVEN + 2 * DAY }
    const world = played('lite', { dateOffMs: -3 * HOUR, ...restarts })
    expect(world.claimsMs.length).toBeGreaterThan(5)
    expect(meanMs(delaysMs(world))).toBeLessThan(1.2 * meanMs(delaysMs(played('lite', restarts))))
  })

  it('does not put off the poll that was planned by the other', () => {
    const options = { startMs: SEVEN - 8 * MINUTE, dateOffMs: -9 * MINUTE }
    const [, second] = played('free', options).polls
    expect(second?.atMs).toBeLessThan(SEVEN + MINUTE)
  })

  it('does not let an item that is stamped ahead hide others while two servers send it in turn', () => {
    const ahead = burst('ahead', SEVEN + 3 * HOUR, 60_000, 1).map((item) => ({
      ...item,
      timeMs: item.timeMs + HOUR,
    }))
    const dateOffMs = (trueMs: number): number => (Math.floor(trueMs / (7 * MINUTE)) % 2) * 3 * HOUR
    for (const plan of ['free', 'lite'] as const) {
      const world = played(plan, { dateOffMs }, ahead)
      expect(delaysMs(world).filter(Number.isNaN)).toEqual([])
      expect(world.missing().filter(({ guid }) => !guid.startsWith('old'))).toEqual([])
    }
  })

  it('is not taken for right by the first items of a day, which are stamped an hour ahead', () => {
    const batch = burst('batch', SEVEN - 5 * MINUTE, 1000, 5).map((item) => ({
      ...item,
      timeMs: item.timeMs + HOUR,
    }))
    for (const options of [{ clockOffMs: HOUR }, { dateOffMs: HOUR }]) {
      const world = played('lite', options, batch)
      expect(world.missing().filter(({ guid }) => !guid.startsWith('old'))).toEqual([])
    }
  })
})

const EVENING = SEVEN + 15 * HOUR

function contextOf(skewMs: number): StepContext {
  const state = { ...initialState(), hasDate: true, skewMs }
  return { state, nowMs: EVENING, config: ingestConfig(), actions: [] }
}

it('items that fit only one of two clocks show that it is right', () => {
  const times = Array.from({ length: 15 }, (_, index) => EVENING + 3 * DAY - index * MINUTE)
  expect(earliestPresentMs(contextOf(3 * DAY))).toBe(EVENING)
  const context = contextOf(3 * DAY)
  observeTimes(context, times)
  expect(earliestPresentMs(context, times)).toBe(EVENING + 3 * DAY)
})

it('items that are stamped ahead of both clocks never do, however many of a page they are', () => {
  const ahead = Array.from({ length: 25 }, (_, index) => EVENING + (2500 + index) * 365 * DAY)
  const usual = Array.from({ length: 24 }, (_, index) => EVENING - (6 * 60 + index) * MINUTE)
  const context = contextOf(3 * DAY)
  observeTimes(context, [...ahead, ...usual])
  expect(earliestPresentMs(context, [...ahead, ...usual])).toBe(EVENING)
})

const EMPTY_PAGE: ReadPage = {
  ...{ fresh: [], guids: [], times: [], count: 0, keys: [], duplicates: 0, rejected: [], warnings: [] },
  ...{ nextCursor: null, latestCursor: null, hasMore: false },
}

describe('without a Date', () => {
  const without = (): StepContext => {
    const context = contextOf(0)
    context.state.hasDate = false
    return context
  }
  /** A poll that lists one item, whose stamp is ahead of our clock by so much. */
  const poll = (context: StepContext, leadMs: number): void => {
    const timeMs = context.nowMs + leadMs
    const fresh = [{ disclosure: { timeMs } } as FetchedItem]
    observePoll(context, { ...EMPTY_PAGE, times: [timeMs], fresh }, MINUTE)
  }

  it('new items of several polls that agree show the present, our clock being three hours slow', () => {
    const context = without()
    for (const seconds of [50, 20, 70, 10, 40]) poll(context, 3 * HOUR - seconds * 1000)
    const aheadMs = presentMs(context) - context.nowMs
    expect(aheadMs).toBeGreaterThanOrEqual(3 * HOUR - 70_000)
    expect(aheadMs).toBeLessThanOrEqual(3 * HOUR)
  })

  it('items of one source that are all stamped an hour ahead do not, among others that are not', () => {
    const context = without()
    for (let round = 0; round < 6; round++) {
      for (const leadMs of [-50_000, -20_000, -5000]) poll(context, leadMs)
      poll(context, HOUR - 30_000)
      expect(presentMs(context)).toBe(context.nowMs)
    }
  })

  it('items that are stamped ahead, each by another time, do not', () => {
    const context = without()
    for (const hours of [4, 5, 6, 7, 8, 9]) poll(context, hours * HOUR)
    expect(presentMs(context)).toBe(context.nowMs)
  })
})
