/** Tests that the reconciliation of a day is as new as it says: after an interruption, and where it was ordered meanwhile. */
import { expect, it } from 'vitest'
import { seededChance } from '../../src/core/chance.ts'
import { plans } from '../../src/core/plans.ts'
import type { UpstreamListQuery } from '../../src/upstream/list-parameters.ts'
import { classifyStatus } from '../../src/upstream/outcome.ts'
import { type FreeItem, FreeUpstream } from '../support/worlds/broken/free-upstream.ts'
import { World, type WorldOptions } from '../support/worlds/ingest-world.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** A Tuesday. */
const SEVEN = Date.parse('2026-01-06T07:00:00Z')
const DUE = SEVEN + 12 * HOUR
const FAILED = classifyStatus(500, null, '')

/** 240 items a day for two days, and five of the afternoon of the first that are listed at another time. */
function itemsListedLate(listedMs: number): FreeItem[] {
  const itemOf = (guid: string, timeMs: number, fromMs: number): FreeItem => {
    return { guid, timeMs, content: guid, fromMs, toMs: Number.POSITIVE_INFINITY }
  }
  const usual = [0, 1].flatMap((day) =>
    Array.from({ length: 240 }, (_, number) => {
      const timeMs = SEVEN + day * DAY + number * 2.5 * MINUTE
      return itemOf(`${day}-${number}`, timeMs, timeMs + 300)
    }),
  )
  const late = Array.from({ length: 5 }, (_, number) => {
    return itemOf(`late-${number}`, SEVEN + 9.5 * HOUR + number * MINUTE, listedMs)
  })
  return [...usual, ...late]
}

function worldWith(items: readonly FreeItem[], options: Partial<WorldOptions>) {
  const honest = new FreeUpstream(items, {}, seededChance(1))
  const world: World = new World({
    ...{ ...plans.advanced, seed: 1, startMs: SEVEN - DAY, items: [] },
    strange: (_page, query) => honest.page(query, world.nowMs),
    ...options,
  })
  const missing = (): string[] => {
    const held = new Set(world.store.events.map(({ data }) => data))
    return honest.entries.filter(({ text }) => !held.has(text)).map(({ item }) => item.guid)
  }
  return { world, missing }
}

it('a reconciliation that broke off begins with its first page an hour later: what came meanwhile is on pages it had read', () => {
  const items = itemsListedLate(SEVEN + DAY + 3 * HOUR)
  const { world, missing } = worldWith(items, {
    fails: ({ pageCursor }, _requests, nowMs) =>
      pageCursor !== undefined && nowMs > DUE - MINUTE && nowMs < SEVEN + DAY ? FAILED : undefined,
  })
  world.run(DUE + 14 * MINUTE)
  world.stop()
  world.run(SEVEN + DAY + 23 * HOUR)
  world.start()
  world.run(SEVEN + 2 * DAY + 6 * HOUR)
  expect(missing()).toEqual([])
})

/** Pages of a day take 14 s each. */
const isOfDay = ({ fromMs = 0, toMs = fromMs }: UpstreamListQuery): boolean => toMs - fromMs > 20 * HOUR
const latencyOf = (query: UpstreamListQuery): number => (isOfDay(query) ? 14 * SECOND : 80)

it('a day that is ordered while it is read is read once more, after that', () => {
  const before = worldWith(itemsListedLate(Number.POSITIVE_INFINITY), { latencyOf }).world
  before.run(DUE + HOUR)
  const beganMs = before.requestsMs[before.requests.findIndex(({ query }) => isOfDay(query))] ?? 0
  const { world, missing } = worldWith(itemsListedLate(beganMs + 20 * SECOND), { latencyOf })
  world.run(beganMs + 25 * SECOND)
  world.feed({ type: 'ordered', order: { what: 'day', date: '2026-01-06' }, nowMs: world.nowMs })
  world.run(SEVEN + 2 * DAY)
  expect(missing()).toEqual([])
})

/** Items of every eleven minutes until 18:20, those of them that count, listed so much later. */
function itemsLateBy(lateMs: number, counts: (offMs: number) => boolean = () => true): FreeItem[] {
  const offsMs = Array.from({ length: 60 }, (_, number) => number * 11 * MINUTE + 5 * MINUTE).filter(counts)
  return [0, 1].flatMap((day) =>
    offsMs.map((offMs) => {
      const timeMs = SEVEN + day * DAY + offMs
      const guid = `behind-${day}-${offMs}`
      return { guid, timeMs, content: guid, fromMs: timeMs + lateMs, toMs: Number.POSITIVE_INFINITY }
    }),
  )
}

it.each(['lite', 'advanced'] as const)(
  'a day whose reading finds items that polls should have shown is read until no more of them come: %s',
  (plan) => {
    const items = [...itemsListedLate(0).slice(0, 480), ...itemsLateBy(5 * HOUR)]
    const { world, missing } = worldWith(items, { ...plans[plan] })
    world.run(SEVEN + 2 * DAY)
    expect(missing()).toEqual([])
    const { walk } = world.store.head.days.find(({ date }) => date === '2026-01-06') ?? {}
    expect(walk).toMatchObject({ state: 'whole' })
    expect(walk).not.toHaveProperty('retryMs')
  },
)

it.each(['lite', 'advanced'] as const)('a day without such items is read once: %s', (plan) => {
  const { world } = worldWith(itemsListedLate(0).slice(0, 480), { ...plans[plan] })
  world.run(SEVEN + 2 * DAY)
  const firstPages = world.requests.filter(
    ({ query }) => isOfDay(query) && query.pageCursor === undefined && query.toMs !== undefined,
  )
  expect(firstPages).toHaveLength(2)
})

it('a lull among the late items does not end the readings of a day', () => {
  const late = itemsLateBy(5 * HOUR, (offMs) => offMs < 3 * HOUR || offMs > 9.3 * HOUR)
  const { world, missing } = worldWith([...itemsListedLate(0).slice(0, 480), ...late], { ...plans.lite })
  world.run(SEVEN + 3 * DAY)
  expect(missing()).toEqual([])
})

it('what a reading found late counts although its last page, which has none of it, failed', () => {
  const late = itemsLateBy(5 * HOUR, (offMs) => offMs > 5 * HOUR)
  const pages: string[] = []
  const { world, missing } = worldWith([...itemsListedLate(0).slice(0, 480), ...late], {
    fails: (query, _requests, nowMs) => {
      const { pageCursor } = query
      const isNow = nowMs > DUE - MINUTE && nowMs < DUE + 5 * MINUTE
      if (!isNow || !isOfDay(query) || pageCursor === undefined) return undefined
      if (!pages.includes(pageCursor)) pages.push(pageCursor)
      return pages.indexOf(pageCursor) === 1 ? FAILED : undefined
    },
  })
  world.run(SEVEN + 3 * DAY)
  const postponed = world.reports.filter(({ event }) => event === 'page_scan.postponed')
  expect(postponed.map(({ fields }) => fields.kind)).toContain('daily_reconciliation')
  expect(missing()).toEqual([])
})

it('items that an open gap covers are not late', () => {
  const { world } = worldWith(itemsListedLate(0).slice(0, 480), {
    ...plans.lite,
    // Down for hours; then no page of the gap is answered until shortly before the day is read.
    fails: (query, _requests, nowMs) => {
      const isPage = query.pageCursor !== undefined || (query.toMs !== undefined && !isOfDay(query))
      return isPage && nowMs > SEVEN && nowMs < DUE - 2 * MINUTE ? FAILED : undefined
    },
  })
  world.run(SEVEN + 2 * HOUR)
  world.stop()
  world.run(SEVEN + 6 * HOUR)
  world.start()
  world.run(SEVEN + DAY)
  expect(world.store.head.days.find(({ date }) => date === '2026-01-06')?.walk).toMatchObject({
    state: 'whole',
  })
  const firstPages = world.requests.filter(
    ({ query }) => isOfDay(query) && query.pageCursor === undefined && query.toMs !== undefined,
  )
  expect(firstPages).toHaveLength(1)
})

it('a day that cannot be paid again keeps what was found late: for a reading that is ordered one more is enough', () => {
  const busy = [0, 1, 2, 3].flatMap((day) =>
    Array.from({ length: 1900 }, (_, number): FreeItem => {
      const timeMs = SEVEN + day * DAY + number * 20 * SECOND
      const guid = `busy-${day}-${number}`
      const fromMs = timeMs + (number % 10 === 0 ? 5 * HOUR : 300)
      return { guid, timeMs, content: guid, fromMs, toMs: Number.POSITIVE_INFINITY }
    }),
  )
  const { world } = worldWith(busy, { ...plans.lite })
  const walkOf = (date: string) => world.store.head.days.find((day) => day.date === date)?.walk
  world.run(SEVEN + 4 * DAY)
  const unpaid = ['2026-01-06', '2026-01-07', '2026-01-08', '2026-01-09']
    .map(walkOf)
    .filter((walk) => walk?.state === 'unpaid')
  expect(unpaid.length).toBeGreaterThan(0)
  for (const walk of unpaid) expect(walk?.late?.items).toBe(2)
})
