/** Tests that items stamped ahead of upstream's present neither blind the poller nor change what is said of other items. */
import { describe, expect, it } from 'vitest'
import { type PlanName, plans } from '../../../src/core/plans.ts'
import type { Page } from '../../../src/upstream/page.ts'
import { World, type WorldOptions } from '../../support/worlds/ingest-world.ts'
import { burst, type WorldItem } from '../../support/worlds/world-upstream.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const SEVEN = Date.parse('2026-01-06T07:00:00Z')
const END_OF_TIME = Date.parse('9999-12-31T23:59:59Z')

/** Two business days of 480 items, each second a busy hour's. */
const days = (): WorldItem[] =>
  [0, DAY].flatMap((dayMs) => [
    ...burst(`m${dayMs}`, SEVEN + dayMs, 20_000, 160),
    ...burst(`d${dayMs}`, SEVEN + dayMs + MINUTE, 10 * HOUR, 320),
  ])

/** An item of 10:30 that is stamped so much later. */
function stamped(aheadMs: number, name = 'ahead'): WorldItem {
  const visibleMs = SEVEN + 3.5 * HOUR
  return { guid: name, timeMs: visibleMs + aheadMs, visibleMs, content: name }
}

function played(plan: PlanName, extra: readonly WorldItem[], options: Partial<WorldOptions> = {}): World {
  const items = [...days(), ...extra]
  const world = new World({ ...plans[plan], seed: 1, startMs: SEVEN - 10 * MINUTE, items, ...options })
  world.run(SEVEN + 2 * DAY)
  return world
}

/** Mean time from visible to held of the usual items, ms. */
function meanDelayMs(world: World): number {
  const heldMs = new Map(world.store.events.map(({ id, recordedtime }) => [id, Date.parse(recordedtime)]))
  const own = world.ourMs - world.nowMs
  const delays = days().map(({ guid, visibleMs }) => (heldMs.get(guid) ?? Number.NaN) - own - visibleMs)
  return delays.reduce((sum, delay) => sum + delay, 0) / delays.length
}

function whole(world: World): void {
  expect(world.missing().map(({ guid }) => guid)).toEqual([])
  expect(world.twice()).toEqual([])
}

describe('an item stamped in the future', () => {
  it.each([
    ['an hour', HOUR],
    ['six hours', 6 * HOUR],
    ['thirty days', 30 * DAY],
    ['the year 9999', END_OF_TIME - SEVEN - 3.5 * HOUR],
  ])('delays and loses nothing on the smallest plan: %s', (_name, aheadMs) => {
    const usual = played('free', [])
    const world = played('free', [stamped(aheadMs)])
    whole(world)
    expect(meanDelayMs(world)).toBeLessThan(1.2 * meanDelayMs(usual))
    const gaps = (of: World): number =>
      of.store.events.filter(({ type }) => type.startsWith('bridge.')).length
    expect(gaps(world)).toBeLessThanOrEqual(gaps(usual) + 2)
  })

  it.each([
    ['our clock is right', {}],
    ['our clock is a minute fast', { clockOffMs: MINUTE }],
    ['our clock is five minutes fast', { clockOffMs: 5 * MINUTE }],
    ['our clock is five minutes slow', { clockOffMs: -5 * MINUTE }],
    ['our clock is three hours slow', { clockOffMs: -3 * HOUR }],
    ['our clock is three hours fast', { clockOffMs: 3 * HOUR }],
    ['our clock is nine months fast, as beside a sandbox', { clockOffMs: 270 * DAY }],
    ['our clock is nine months slow', { clockOffMs: -270 * DAY }],
    ['upstream has no Date', { dateOffMs: null }],
    ['Date is eleven minutes fast', { dateOffMs: 11 * MINUTE }],
    ['Date is three hours fast', { dateOffMs: 3 * HOUR }],
    ['Date is three hours slow', { dateOffMs: -3 * HOUR }],
    ['Date is nine months fast', { dateOffMs: 270 * DAY }],
    ['Date is nine months slow', { dateOffMs: -270 * DAY }],
  ])('by less than a minute hides nothing that comes before its time, where %s', (_name, options) => {
    const startMs = SEVEN + 2 * HOUR
    const ahead = burst('ahead', startMs, 6 * HOUR, 120).map((item) => ({
      ...item,
      timeMs: item.timeMs + 50_000,
    }))
    whole(played('free', [...ahead, ...burst('usual', startMs, 6 * HOUR, 240)], options))
  })

  it('costs a larger plan no delay', () => {
    const usual = played('advanced', [])
    for (const aheadMs of [HOUR, 30 * DAY]) {
      const world = played('advanced', [stamped(aheadMs)])
      whole(world)
      expect(meanDelayMs(world)).toBeLessThan(1.2 * meanDelayMs(usual))
    }
  })

  it('is named by its event and a warning; others are not late, and its place in the stream is the present', () => {
    const world = played('advanced', [stamped(6 * HOUR)])
    const event = world.store.events.find(({ id }) => id === 'ahead')
    expect(event).toMatchObject({ late: false, time: '2026-01-06T16:30:00Z' })
    expect(event?.aheadof).toMatch(/^2026-01-06T10:[3-4]/)
    expect(event?.timeMs).toBe(Date.parse(event?.aheadof ?? ''))
    expect(world.reports.filter((report) => report.event === 'item.stamped_ahead')).toHaveLength(1)
    expect(world.store.events.filter(({ late }) => late)).toEqual([])
    expect(world.store.events.filter(({ aheadof }) => aheadof !== undefined)).toHaveLength(1)
    expect(world.store.head.latestTimeMs).toBeLessThan(SEVEN + DAY + 11 * HOUR)
  })

  it('does not blind polls in company: more of them than a page holds', () => {
    const crowd = Array.from({ length: 120 }, (_, number) =>
      stamped(2 * DAY + number * 1000, `crowd-${number}`),
    )
    for (const plan of ['free', 'advanced'] as const) {
      const world = played(plan, crowd)
      whole(world)
      expect(meanDelayMs(world)).toBeLessThan(1.5 * meanDelayMs(played(plan, [])))
    }
  })

  it('is asked around by date, up to a minute ahead: clocks may be a little slow', () => {
    const crowd = Array.from({ length: 30 }, (_, number) =>
      stamped(2 * DAY + number * 1000, `crowd-${number}`),
    )
    const byDate = played('free', crowd).requests.filter(
      ({ purpose, query }) => purpose === 'poll' && query.toMs !== undefined,
    )
    expect(byDate.length).toBeGreaterThan(10)
    for (const { atMs, query } of byDate) expect(Number(query.toMs) - atMs).toBeGreaterThan(50_000)
  })

  it('on the very first page gives no cursor', () => {
    const first = { ...stamped(6 * HOUR), visibleMs: SEVEN - HOUR }
    const world = played('free', [first], { backfillMs: DAY })
    whole(world)
    expect(meanDelayMs(world)).toBeLessThan(1.2 * meanDelayMs(played('free', [], { backfillMs: DAY })))
  })

  it.each([
    ['upstream has no Date and our clock is right', { dateOffMs: null }],
    ['upstream has no Date and our clock is nine months slow', { dateOffMs: null, clockOffMs: -270 * DAY }],
    ['Date is nine months fast', { dateOffMs: 270 * DAY }],
    ['Date is nine months slow', { dateOffMs: -270 * DAY }],
    ['our clock is nine months slow', { clockOffMs: -270 * DAY }],
    ['our clock is nine months fast', { clockOffMs: 270 * DAY }],
    ['our clock and Date are a minute apart', { clockOffMs: -MINUTE, dateOffMs: MINUTE }],
  ])('loses and delays nothing where %s', (_name, options) => {
    const world = played('free', [stamped(6 * HOUR)], options)
    whole(world)
    expect(meanDelayMs(world)).toBeLessThan(1.3 * meanDelayMs(played('free', [], options)))
  })

  it('as the first item of all does not count as the present once a clock is wrong', () => {
    const first = { ...stamped(0, 'first'), timeMs: SEVEN + 30 * MINUTE, visibleMs: SEVEN - HOUR }
    const items = [first, ...days(), stamped(20 * MINUTE)]
    const world = new World({ ...plans.free, seed: 1, startMs: SEVEN - 10 * MINUTE, items })
    world.run(SEVEN + 2 * HOUR)
    world.options.clockOffMs = -HOUR
    world.run(SEVEN + 2 * DAY)
    whole(world)
  })

  it.each([-270 * DAY, -3 * HOUR])(
    'as the first item of all blinds no polls where Date is wrong: %d ms',
    (dateOffMs) => {
      const first = { ...stamped(0, 'first'), timeMs: SEVEN + 5 * MINUTE, visibleMs: SEVEN - HOUR }
      const options = { ...plans.free, seed: 1, startMs: SEVEN - 10 * MINUTE, dateOffMs }
      const world = new World({ ...options, items: [first, ...days()] })
      world.run(SEVEN + 2 * DAY)
      whole(world)
    },
  )

  it('does not move the fill of a full page away from its other items, where no clock is right', () => {
    const first = burst('first', SEVEN, 20_000, 160)
    const ahead = first.filter((_, index) => index % 4 === 0)
    for (const item of ahead) item.timeMs = END_OF_TIME
    const world = new World({
      ...plans.advanced,
      seed: 5,
      startMs: SEVEN - 20 * MINUTE,
      items: first,
      clockOffMs: 270 * DAY,
      dateOffMs: null,
    })
    world.run(SEVEN + 2 * HOUR)
    expect(world.polls.length).toBeGreaterThan(2)
    whole(world)
  })

  it('hides nothing when its time comes while answers come from a cache', () => {
    const cached = new Map<string, { page: Page; untilMs: number }>()
    const ahead = burst('ahead', SEVEN + 2 * HOUR, 6 * HOUR, 12)
    for (const item of ahead) item.timeMs += 25 * MINUTE
    const world: World = new World({
      ...plans.free,
      seed: 1,
      startMs: SEVEN - 10 * MINUTE,
      items: [...days(), ...ahead],
      strange: (page, query) => {
        const key = JSON.stringify(query)
        const known = cached.get(key)
        if (known !== undefined && world.nowMs < known.untilMs) return known.page
        cached.set(key, { page, untilMs: world.nowMs + HOUR })
        return page
      },
    })
    world.run(SEVEN + 2 * DAY)
    whole(world)
  })

  it('moves the present no further when its time comes, where the clocks are apart', () => {
    const ahead = burst('ahead', SEVEN + MINUTE, 10 * HOUR, 240)
    for (const item of ahead) item.timeMs += HOUR
    const world = played('advanced', ahead, { clockOffMs: 20 * MINUTE })
    whole(world)
    // Without them 32 s.
    expect(meanDelayMs(world)).toBeLessThan(40_000)
  })

  it('closes no gap that nobody has read', () => {
    const world = played('free', [stamped(END_OF_TIME - SEVEN - 3.5 * HOUR)], {
      cursorsRefusedAtMs: SEVEN + 5 * HOUR,
    })
    whole(world)
  })

  it.each([
    ['Date is nine minutes slow', { dateOffMs: -9 * MINUTE }],
    ['our clock is nine minutes fast', { clockOffMs: 9 * MINUTE }],
  ])('costs few units and no delay where %s: every item of now may be one', (_name, options) => {
    for (const plan of ['free', 'advanced'] as const) {
      const usual = played(plan, [])
      const world = played(plan, [], options)
      whole(world)
      expect(world.requests.length).toBeLessThan(1.4 * usual.requests.length)
      expect(meanDelayMs(world)).toBeLessThan(1.4 * meanDelayMs(usual))
    }
  })

  it.each([
    ['one after the other', MINUTE],
    ['at once', 0],
  ])('hides nothing in company where upstream has no Date: thirty of them, listed %s', (_name, everyMs) => {
    const crowd = Array.from({ length: 30 }, (_, number) => ({
      guid: `crowd-${number}`,
      timeMs: SEVEN + 3 * DAY + number * 1000,
      visibleMs: SEVEN + 2 * HOUR + number * everyMs,
      content: 'crowd',
    }))
    const world = played('free', crowd, { dateOffMs: null })
    whole(world)
    expect(meanDelayMs(world)).toBeLessThan(1.3 * meanDelayMs(played('free', [], { dateOffMs: null })))
  })

  it('hides nothing where upstream has no Date and our clock is set back', () => {
    const items = [...days(), stamped(3 * DAY)]
    const world = new World({ ...plans.free, seed: 1, startMs: SEVEN - 10 * MINUTE, items, dateOffMs: null })
    world.run(SEVEN + 5 * HOUR)
    world.options.clockOffMs = -3 * HOUR
    world.run(SEVEN + 2 * DAY)
    whole(world)
  })

  it('delays nothing where our clock is set back: a poll that asked for too early an end is made again', () => {
    const crowd = Array.from({ length: 30 }, (_, number) =>
      stamped(2 * DAY + number * 1000, `crowd-${number}`),
    )
    const items = [...days(), ...crowd]
    const world = new World({ ...plans.free, seed: 1, startMs: SEVEN - 10 * MINUTE, items })
    world.run(SEVEN + 5 * HOUR)
    world.options.clockOffMs = -HOUR
    const setMs = world.nowMs
    world.run(SEVEN + 2 * DAY)
    whole(world)
    const [first, second] = world.polls.filter(({ atMs }) => atMs > setMs)
    expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeLessThan(2000)
  })

  it('before the first item of all delays nothing where Date is ten days fast', () => {
    const first = { ...stamped(0, 'first'), timeMs: SEVEN + 20 * DAY, visibleMs: SEVEN - HOUR }
    const world = new World({
      ...plans.lite,
      seed: 1,
      startMs: SEVEN - 10 * MINUTE,
      items: [first, ...days()],
      dateOffMs: 10 * DAY,
    })
    world.run(SEVEN + 3 * MINUTE)
    const polledMs = world.polls.find(({ atMs }) => atMs > SEVEN)?.atMs ?? Number.NaN
    const held = world.store.events.filter((_, index) => (world.committedMs[index] ?? 0) < polledMs + 3000)
    expect(held.length).toBeGreaterThan(1)
  })

  it('hides no late item behind a cursor that is kept: the fill of a full page goes back to that cursor', () => {
    const lateMs = SEVEN + 243 * MINUTE
    const late = { guid: 'late', timeMs: SEVEN + 213.5 * MINUTE, visibleMs: lateMs, content: 'late' }
    const rush = burst('rush', lateMs, 20_000, 90)
    whole(played('free', [stamped(20 * HOUR), late, ...rush]))
  })
})
