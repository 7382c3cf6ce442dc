/** Tests that a clock that is days wrong, ours or upstream's `Date`, loses no history and lets no day pass for complete. */
import { describe, expect, it } from 'vitest'
import { createCalendar } from '../../src/core/calendar/calendar.ts'
import { emptyDay } from '../../src/core/calendar/day-record.ts'
import { type PlanName, plans } from '../../src/core/plans.ts'
import { World, type WorldOptions } from '../support/worlds/ingest-world.ts'
import { burst, type WorldItem } from '../support/worlds/world-upstream.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** A Tuesday. */
const SEVEN = Date.parse('2026-01-13T07:00:00Z')
const calendar = createCalendar()

/** Business days of 60 items. */
function daysOf(...offsets: readonly number[]): WorldItem[] {
  return offsets.flatMap((day) => burst(`d${day}`, SEVEN + day * DAY, 10 * HOUR, 60))
}

/** Items that only a reconciliation finds, an hour before and after noon. */
function behindOf(...offsets: readonly number[]): WorldItem[] {
  return offsets.flatMap((day) =>
    [4, 6].map((hours) => {
      const timeMs = SEVEN + day * DAY + hours * HOUR
      return {
        guid: `behind${day}-${hours}`,
        timeMs,
        visibleMs: timeMs + 3 * HOUR,
        content: `${day} ${hours}`,
      }
    }),
  )
}

function worldOf(plan: PlanName, options: Partial<WorldOptions>): World {
  return new World({ ...plans[plan], seed: 1, startMs: SEVEN - 10 * MINUTE, items: [], ...options })
}

/** Reconciled days that were not over then. */
function completeTooSoon({ store, nowMs }: World): string[] {
  return store.head.days
    .filter(({ date, walk }) => walk?.state === 'whole' && calendar.momentMs(date, 18 * 60) > nowMs)
    .map(({ date }) => date)
}

const apart = [3 * DAY, 29 * DAY, 270 * DAY]
const offs = apart.flatMap((ms) => [
  { dateOffMs: ms },
  { dateOffMs: -ms },
  { clockOffMs: ms },
  { clockOffMs: -ms },
])

describe('the backfill of a first start with a clock that is days wrong', () => {
  const listed = { nothing: [] as number[], 'three items': [-1], 'two days': [-2, -1] }
  const cases = offs.flatMap((off) => Object.entries(listed).map(([what, days]) => ({ ...off, what, days })))

  it.each(cases)('reads all of it: $dateOffMs, $clockOffMs ms, $what listed', ({ what, days, ...off }) => {
    const before = daysOf(...days).slice(0, what === 'three items' ? 3 : undefined)
    const items = [...before, ...daysOf(0)]
    const world = worldOf('lite', { ...off, items, backfillMs: 4 * DAY })
    world.run(SEVEN + 2 * HOUR)
    expect(world.missing()).toEqual([])
    expect(world.openGaps).toEqual([])
  })

  it.each([{ dateOffMs: 10 * DAY }, { dateOffMs: -10 * DAY }])(
    'reads no day that neither clock asks for: $dateOffMs ms',
    (off) => {
      const startMs = SEVEN - 10 * MINUTE
      const world = worldOf('advanced', { ...off, items: daysOf(0), backfillMs: DAY })
      world.run(SEVEN + HOUR)
      const read = world.requests.filter(({ purpose }) => purpose === 'backfill').map(({ query }) => query)
      const isAskedBy = (clockMs: number) => (query: (typeof read)[number]) =>
        Number(query.fromMs) >= clockMs - DAY - MINUTE && Number(query.toMs) <= clockMs + 2 * MINUTE
      const byOurs = read.filter(isAskedBy(startMs))
      const byDate = read.filter(isAskedBy(startMs + off.dateOffMs))
      expect([byOurs.length, byDate.length]).toEqual([2, 2])
      expect(read).toHaveLength(4)
    },
  )

  it('leaves what half of the quota does not pay for in an open gap', () => {
    const items = daysOf(...Array.from({ length: 40 }, (_, day) => -40 + day))
    const world = worldOf('free', {
      dateOffMs: 10 * DAY,
      items: [...items, ...daysOf(0)],
      backfillMs: 45 * DAY,
    })
    world.run(SEVEN + 2 * HOUR)
    expect(world.openGaps.length).toBeGreaterThan(0)
    expect(world.missing()).toEqual([])
  })

  it.each([
    { plan: 'free', backfillMs: 45 * DAY, fails: undefined },
    { plan: 'advanced', backfillMs: DAY, fails: { kind: 'server_error', status: 500 } },
  ] as const)('leaves two gaps, and none over what neither clock asks for: $plan', (options) => {
    const { plan, backfillMs, fails } = options
    const world = worldOf(plan, {
      ...{ clockOffMs: -270 * DAY, backfillMs },
      fails: ({ toMs }) => (toMs === undefined ? undefined : fails),
    })
    world.run(SEVEN + 3 * HOUR)
    const days = world.openGaps.map(({ from, to }) => (Date.parse(to) - Date.parse(from)) / DAY)
    expect(days).toHaveLength(2)
    expect(Math.max(...days)).toBeLessThan(backfillMs / DAY + 0.1)
    expect(new Set(world.openGaps.map(({ id }) => id)).size).toBe(2)
  })

  it('loses nothing of the first hours where no poll succeeds after the first one', () => {
    for (const off of [{ dateOffMs: 10 * DAY }, { dateOffMs: -10 * DAY }]) {
      const world = worldOf('lite', {
        ...off,
        items: burst('a', SEVEN, 10 * HOUR, 480),
        fails: (_query, _requests, nowMs) =>
          nowMs > SEVEN - 5 * MINUTE && nowMs < SEVEN + 3 * HOUR
            ? { kind: 'server_error', status: 500 }
            : undefined,
      })
      world.run(SEVEN + 11 * HOUR)
      expect(world.missing()).toEqual([])
    }
  })
})

describe('days, where a clock is days wrong', () => {
  it.each(offs)(
    'none is complete before it is over, and each in the end: $dateOffMs, $clockOffMs ms',
    (off) => {
      const items = [...daysOf(0, 1), ...behindOf(0)]
      const world = worldOf('advanced', { ...off, isShared: false, items })
      world.run(SEVEN + 19 * HOUR)
      world.crash()
      world.run(SEVEN + 20 * HOUR)
      expect(completeTooSoon(world)).toEqual([])
      world.run(SEVEN + DAY + 3 * HOUR)
      expect(completeTooSoon(world)).toEqual([])
      expect(walkOf(world, 0)).toBe('whole')
      expect(world.missing()).toEqual([])
    },
  )

  it.each([
    { dateOffMs: 5 * DAY },
    { dateOffMs: -5 * DAY },
    { clockOffMs: 5 * DAY },
    { clockOffMs: -5 * DAY },
  ])('none is complete too soon nor forgotten after a night: $dateOffMs, $clockOffMs ms', (off) => {
    const world = worldOf('advanced', { items: [...daysOf(0, 1), ...behindOf(0)] })
    const before = Array.from({ length: 15 }, (_, index) => emptyDay(dateOf(index - 15)))
    world.store.head = { ...world.store.head, days: before }
    world.run(SEVEN + 10 * HOUR)
    expect(world.store.head.days).toHaveLength(16)
    const kept = world.store.head.days.map(({ date }) => date)
    Object.assign(world.options, off)
    for (const hours of [11, 13, 17, 22]) {
      world.run(SEVEN + hours * HOUR)
      if (hours !== 11) world.crash()
      expect(completeTooSoon(world)).toEqual([])
    }
    expect(world.store.head.days.map(({ date }) => date)).toEqual(kept)
    world.run(SEVEN + DAY + 5 * HOUR)
    expect(walkOf(world, 0)).toBe('whole')
    expect(world.missing()).toEqual([])
  })

  it('none is complete too soon where the next process has a wrong clock and has not polled yet', () => {
    const world = worldOf('free', { isShared: false, items: daysOf(0), weeklyQuota: 3500 })
    world.run(SEVEN + 14 * HOUR)
    world.stop()
    world.options.clockOffMs = 5 * DAY
    world.start()
    world.run(SEVEN + 16 * HOUR)
    expect(completeTooSoon(world)).toEqual([])
  })

  it.each([null, 5 * DAY])(
    'each is read again where every clock was days ahead for a night: Date by %s ms',
    (dateOffMs) => {
      const world = worldOf('advanced', { items: [...daysOf(0, 1), ...behindOf(0, 1)] })
      world.options.dateOffMs = dateOffMs === null ? null : 0
      world.run(SEVEN + 15 * HOUR)
      Object.assign(world.options, { clockOffMs: 5 * DAY, dateOffMs })
      world.run(SEVEN + 20 * HOUR)
      expect(completeTooSoon(world)).not.toEqual([])
      Object.assign(world.options, { clockOffMs: 0, dateOffMs: dateOffMs === null ? null : 0 })
      world.run(SEVEN + DAY + 16 * HOUR)
      expect(world.missing()).toEqual([])
    },
  )

  it.each([
    { what: 'gets fast', before: 0, after: 40 * MINUTE },
    { what: 'is set back', before: 3 * HOUR, after: 0 },
    { what: 'is set on', before: -3 * HOUR, after: 0 },
  ])('each is read once where only our clock $what', ({ before, after }) => {
    const world = worldOf('lite', { clockOffMs: before, items: daysOf(0, 1, 2, 3) })
    world.run(SEVEN + 2 * DAY + 14 * HOUR)
    world.options.clockOffMs = after
    world.run(SEVEN + 3 * DAY + 14 * HOUR)
    const read = world.reports.filter(
      ({ event, fields }) => event === 'page_scan.completed' && fields.kind === 'daily_reconciliation',
    )
    expect(read).toHaveLength(4)
    expect([0, 1, 2, 3].map((day) => walkOf(world, day))).toEqual(['whole', 'whole', 'whole', 'whole'])
  })

  it('none has failed for ever because no try succeeded while every clock was days ahead', () => {
    const world = worldOf('advanced', {
      items: [...daysOf(0, 1), ...behindOf(0, 1)],
      fails: ({ toMs }, _requests, nowMs) =>
        toMs !== undefined && nowMs > SEVEN + 15 * HOUR && nowMs < SEVEN + DAY - HOUR
          ? { kind: 'server_error', status: 500 }
          : undefined,
    })
    world.run(SEVEN + 15 * HOUR)
    Object.assign(world.options, { clockOffMs: 5 * DAY, dateOffMs: 5 * DAY })
    world.run(SEVEN + DAY - HOUR)
    expect(walkOf(world, 1)).toBe('failed')
    Object.assign(world.options, { clockOffMs: 0, dateOffMs: 0 })
    world.run(SEVEN + DAY + 16 * HOUR)
    expect(walkOf(world, 1)).toBe('whole')
    expect(world.missing()).toEqual([])
  })

  it('one that was complete too soon stays complete where it cannot be read again, at a bounded price', () => {
    const world = worldOf('advanced', {
      items: daysOf(0, 1),
      fails: ({ toMs }) => (toMs === undefined ? undefined : { kind: 'server_error', status: 500 }),
    })
    const [atMs, readMs] = [SEVEN - 12 * HOUR, SEVEN + 5 * DAY]
    const walk = { state: 'whole' as const, atMs, readMs, attempts: 0, pageCursor: null }
    world.run(SEVEN - 5 * MINUTE)
    world.stop()
    const days = [{ ...emptyDay(dateOf(-1)), walk }]
    world.store.head = { ...world.store.head, countedFromMs: SEVEN - 3 * DAY, days }
    world.start()
    world.run(SEVEN + 11 * HOUR)
    const spent = world.requests.filter(({ query }) => query.toMs !== undefined).length
    expect(spent).toBeGreaterThan(0)
    expect(spent).toBeLessThanOrEqual(30)
    expect(walkOf(world, -1)).toBe('whole')
  })

  it('the clock that is right is known also where upstream sends no Date any more', () => {
    const world = worldOf('advanced', { dateOffMs: 5 * DAY, items: daysOf(0) })
    world.run(SEVEN - MINUTE)
    world.options.dateOffMs = null
    world.run(SEVEN + 10 * HOUR)
    expect(world.lastGood.rightMs).toBe(0)
  })

  it('the clock that is right is still known after a restart', () => {
    const world = worldOf('advanced', { dateOffMs: 5 * DAY, items: daysOf(0) })
    world.run(SEVEN + 14 * HOUR)
    expect(world.lastGood.rightMs).toBe(0)
    world.crash()
    world.run(SEVEN + 15 * HOUR)
    expect(world.lastGood.rightMs).toBe(0)
  })
})

function walkOf({ store }: World, day: number): string | undefined {
  return store.head.days.find(({ date }) => date === dateOf(day))?.walk?.state
}

function dateOf(day: number): string {
  return calendar.londonDate(SEVEN + day * DAY)
}
