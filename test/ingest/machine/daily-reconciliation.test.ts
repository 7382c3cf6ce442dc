/** The daily reconciliation finds what polls and scheduled re-scans missed, once, within the quota of the plan. */
import { describe, expect, it } from 'vitest'
import { itemsOf } from '../../../src/core/calendar/day-record.ts'
import { type PlanName, plans } from '../../../src/core/plans.ts'
import type { FoundBy } from '../../../src/core/purpose.ts'
import { World, type WorldOptions } from '../../support/worlds/ingest-world.ts'
import { burst, type WorldItem } from '../../support/worlds/world-upstream.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** A Tuesday in winter, and its times. */
const TUESDAY = Date.parse('2026-01-06T00:00:00Z')

function asSold(plan: PlanName): Omit<WorldOptions, 'seed' | 'items'> {
  return { ...plans[plan], startMs: TUESDAY + 6 * HOUR }
}

/** An item every five minutes from 08:00 to 18:00; that of 08:05 becomes visible this late. */
function calmDay(lateMs: number, midnightMs = TUESDAY, name = 'calm'): WorldItem[] {
  const items = burst(name, midnightMs + 8 * HOUR, 10 * HOUR, 120)
  const late = items[1]
  if (late !== undefined) late.visibleMs += lateMs
  return items
}

function reconciliations(world: World): number {
  return world.reports.filter(
    ({ event, fields }) => event === 'page_scan.completed' && fields.kind === 'daily_reconciliation',
  ).length
}

function dayOf(world: World, date: string) {
  return world.store.head.days.find((day) => day.date === date)
}

describe('the daily reconciliation', () => {
  it.each(['lite', 'advanced', 'ultimate'] as const)(
    'on %s publishes once each item that arrived or changed too late for every scheduled re-scan',
    (plan) => {
      const items = calmDay(9 * HOUR)
      const world = new World({ ...asSold(plan), seed: 1, items })
      world.run(TUESDAY + 17.5 * HOUR)
      const changed = items[30]
      if (changed !== undefined) changed.content = 'other content'
      world.run(TUESDAY + 18.9 * HOUR)
      expect(world.missing().map(({ guid }) => guid)).toEqual(['calm-00001', 'calm-00030'])
      const { swept = 0 } = dayOf(world, '2026-01-06') ?? {}
      world.run(TUESDAY + 20 * HOUR)
      expect(world.missing()).toEqual([])
      expect(world.twice()).toEqual([])
      expect(reconciliations(world)).toBe(1)
      expect(dayOf(world, '2026-01-06')).toMatchObject({
        swept: swept + 2,
        amended: 1,
        walk: { state: 'whole' },
      })
      world.run(TUESDAY + DAY + 6 * HOUR)
      expect(reconciliations(world)).toBe(1)
    },
  )

  it('does not run where the plan does not allow it', () => {
    const world = new World({ ...asSold('free'), seed: 2, items: calmDay(9 * HOUR) })
    world.run(TUESDAY + DAY)
    expect(world.missing().map(({ guid }) => guid)).toEqual(['calm-00001'])
    expect(dayOf(world, '2026-01-06')?.walk).toBeNull()
  })

  it('does not start for a day with more pages than the plan can afford, and records that', () => {
    const items = burst('long', TUESDAY + 7 * HOUR, 11 * HOUR, 2300)
    const world = new World({ ...asSold('lite'), seed: 3, items })
    world.run(TUESDAY + DAY)
    expect(reconciliations(world)).toBe(0)
    expect(dayOf(world, '2026-01-06')?.walk?.state).toBe('unpaid')
  })

  it('stops when it turns out longer than the plan allows, and publishes what it found', () => {
    const items = burst('hidden', TUESDAY + 9 * HOUR, HOUR, 2400)
    for (const item of items) item.visibleMs = TUESDAY + 18.9 * HOUR
    const world = new World({ ...asSold('lite'), seed: 15, items: [...calmDay(0), ...items] })
    world.run(TUESDAY + 22 * HOUR)
    expect(dayOf(world, '2026-01-06')?.walk?.state).toBe('unpaid')
    expect(world.requests.filter(({ query }) => query.toMs !== undefined)).toHaveLength(45)
    expect(world.missing().length).toBeLessThan(300)
    expect(world.twice()).toEqual([])
  })

  it('waits without units until some are freed or the next reconciliation is due', () => {
    const world = new World({ ...asSold('advanced'), seed: 4, items: calmDay(9 * HOUR) })
    world.store.ledger.set(TUESDAY - DAY, { sweep: 700 })
    world.run(TUESDAY + 20 * HOUR)
    expect(dayOf(world, '2026-01-06')?.walk?.state).toBe('owed')
    world.store.ledger.delete(TUESDAY - DAY)
    world.run(TUESDAY + 22 * HOUR)
    expect(dayOf(world, '2026-01-06')?.walk?.state).toBe('whole')
    expect(world.missing()).toEqual([])
    world.store.ledger.set(TUESDAY, { sweep: 700 })
    world.run(TUESDAY + 2 * DAY + 20 * HOUR)
    expect(['2026-01-07', '2026-01-08'].map((date) => dayOf(world, date)?.walk?.state)).toEqual([
      'unpaid',
      'owed',
    ])
  })

  it('resumes where it stopped when upstream does not respond, and finally fails', () => {
    const refusal = { untilMs: TUESDAY + 19.4 * HOUR }
    const items = burst('busy', TUESDAY + 8 * HOUR, 10 * HOUR, 450)
    const world = new World({
      ...asSold('advanced'),
      seed: 5,
      items,
      fails: ({ toMs, pageCursor }) =>
        toMs !== undefined &&
        (pageCursor !== undefined || world.nowMs > TUESDAY + DAY) &&
        world.nowMs < refusal.untilMs
          ? { kind: 'server_error', status: 500 }
          : undefined,
    })
    world.run(TUESDAY + 19.4 * HOUR)
    expect(dayOf(world, '2026-01-06')?.walk).toMatchObject({ state: 'owed', pageCursor: expect.any(String) })
    world.run(TUESDAY + 23 * HOUR)
    expect(dayOf(world, '2026-01-06')?.walk?.state).toBe('whole')
    const firstPages = world.requests.filter(
      ({ query }) => query.toMs !== undefined && query.pageCursor === undefined,
    )
    expect(firstPages).toHaveLength(1)
    refusal.untilMs = TUESDAY + 3 * DAY
    world.run(TUESDAY + 2 * DAY + 12 * HOUR)
    expect(dayOf(world, '2026-01-07')?.walk?.state).toBe('failed')
    expect(world.openGaps).toEqual([])
  })

  it('runs once even when the process crashes in the middle of it', () => {
    const items = calmDay(9 * HOUR)
    const world = new World({
      ...{
        ...asSold('advanced'),
        seed: 6,
        items: [...items, ...burst('more', TUESDAY + 9 * HOUR, HOUR, 900)],
      },
      crashes: 0,
    })
    world.run(TUESDAY + 19 * HOUR - MINUTE)
    const { swept = 0 } = dayOf(world, '2026-01-06') ?? {}
    world.options.crashes = 0.1
    world.options.unknowns = 0.1
    world.options.faultsUntilMs = TUESDAY + 20 * HOUR
    world.run(TUESDAY + 23 * HOUR)
    expect(world.missing()).toEqual([])
    expect(world.twice()).toEqual([])
    expect(dayOf(world, '2026-01-06')).toMatchObject({ swept: swept + 1, walk: { state: 'whole' } })
  })

  it('runs once for a day without a leader when there is a leader again', () => {
    const items = [...calmDay(9 * HOUR), ...calmDay(20 * HOUR, TUESDAY + DAY, 'next')]
    const world = new World({ ...asSold('advanced'), seed: 7, items })
    world.run(TUESDAY + 18 * HOUR)
    world.stop()
    world.run(TUESDAY + 2 * DAY + 5 * HOUR)
    world.start()
    world.run(TUESDAY + 2 * DAY + 9 * HOUR)
    expect(world.missing()).toEqual([])
    expect(reconciliations(world)).toBe(2)
    expect(world.store.head.days.map(({ date, walk }) => [date, walk?.state])).toEqual([
      ['2026-01-06', 'whole'],
      ['2026-01-07', 'whole'],
    ])
  })

  it('follows the early end of a half day', () => {
    const eve = Date.parse('2026-12-24T00:00:00Z')
    const items = burst('eve', eve + 8 * HOUR, 5 * HOUR, 60)
    const late = items[1]
    if (late !== undefined) late.visibleMs += 5 * HOUR
    const world = new World({ ...asSold('advanced'), startMs: eve + 6 * HOUR, seed: 8, items })
    world.run(eve + 13.9 * HOUR)
    expect(reconciliations(world)).toBe(0)
    world.run(eve + 14.5 * HOUR)
    expect(reconciliations(world)).toBe(1)
    expect(world.missing()).toEqual([])
  })

  it.each([
    ['spring', '2026-03-30', 18],
    ['autumn', '2026-10-26', 19],
  ])('on the Monday after the clocks change in %s includes the night of the change', (_, monday, dueHour) => {
    const start = Date.parse(`${monday}T00:00:00Z`) - 3 * DAY
    const sunday = start + 2 * DAY
    const items = [
      ...burst('friday', start + 9 * HOUR, HOUR, 20),
      ...burst('sunday', sunday + 30 * MINUTE, 2 * HOUR, 10),
      ...burst('monday', sunday + DAY + 9 * HOUR, HOUR, 20),
    ]
    const late = items[24]
    if (late !== undefined) late.visibleMs += 30 * HOUR
    const world = new World({ ...asSold('advanced'), startMs: start + 6 * HOUR, seed: 9, items })
    world.run(sunday + DAY + dueHour * HOUR - MINUTE)
    expect(world.missing().map(({ guid }) => guid)).toEqual(['sunday-00004'])
    world.run(sunday + DAY + (dueHour + 1) * HOUR)
    expect(world.missing()).toEqual([])
    expect(dayOf(world, monday)?.walk?.state).toBe('whole')
    expect(world.store.head.days.map(({ date, walk }) => [date, walk?.state])).toHaveLength(3)
  })

  it('does not read items older than the stream', () => {
    const items = calmDay(0)
    const world = new World({ ...asSold('advanced'), startMs: TUESDAY + 12 * HOUR, seed: 10, items })
    world.run(TUESDAY + 20 * HOUR)
    expect(dayOf(world, '2026-01-06')?.walk?.state).toBe('whole')
    const [first] = world.requests.filter(({ query }) => query.toMs !== undefined)
    expect(first?.query.fromMs).toBeGreaterThan(TUESDAY + 12 * HOUR - SECOND)
  })

  it('does not run repeatedly when upstream’s clock jumps back and forth by weeks', () => {
    const world = new World({ ...asSold('advanced'), seed: 16, items: calmDay(0) })
    world.run(TUESDAY + 20 * HOUR)
    world.store.head = { ...world.store.head, countedFromMs: TUESDAY - 60 * DAY }
    for (const daysOff of [90, 60, 45, 30, -30]) {
      world.options.dateOffMs = daysOff * DAY
      world.crash()
      world.run(world.nowMs + 6 * HOUR)
    }
    // Five a jump, and that of Tuesday.
    expect(reconciliations(world)).toBeLessThanOrEqual(26)
  })
})

describe('the record of a day', () => {
  it('separates the items of an overflowing poll from those of its fill', () => {
    const items = burst('a', TUESDAY + 7 * HOUR, 8 * SECOND, 500)
    const world = new World({ ...asSold('advanced'), seed: 17, items })
    world.run(TUESDAY + 7.5 * HOUR)
    const { polled = 0, filled = 0, swept = 0 } = dayOf(world, '2026-01-06') ?? {}
    expect(polled + filled + swept).toBe(500)
    expect(polled).toBeGreaterThanOrEqual(100)
    expect(filled).toBeGreaterThanOrEqual(100)
  })

  it('counts items by what found them, and sums to all items', () => {
    const items = [...burst('a', TUESDAY + 7 * HOUR, 8 * SECOND, 500), ...calmDay(9 * HOUR)]
    const bad = items[3]
    if (bad !== undefined) bad.malformed = true
    const marker = items[200]
    if (marker !== undefined) marker.codes = ['FR', 'EOD']
    const world = new World({
      ...asSold('advanced'),
      seed: 11,
      items,
      crashes: 0.002,
      unknowns: 0.01,
      faultsUntilMs: TUESDAY + 15 * HOUR,
    })
    world.run(TUESDAY + 20 * HOUR)
    const day = dayOf(world, '2026-01-06')
    expect(day).toMatchObject({ rejected: 1, amended: 0, backfilled: 0, eodSeen: true })
    const { polled = 0, filled = 0, swept = 0 } = day ?? {}
    expect(polled + filled + swept).toBe(items.length - 1)
    expect(filled).toBeGreaterThanOrEqual(100)
    expect(polled).toBeGreaterThanOrEqual(100)
    expect(swept).toBeGreaterThanOrEqual(1)
    const foundBy = (way: FoundBy) => world.store.events.filter((event) => event.foundBy === way).length
    expect([foundBy('poll'), foundBy('fill'), foundBy('sweep')]).toEqual([polled, filled, swept])
  })

  it('has no end-of-day marker where upstream sent none', () => {
    const world = new World({ ...asSold('advanced'), seed: 12, items: calmDay(0) })
    world.run(TUESDAY + DAY)
    expect(dayOf(world, '2026-01-06')?.eodSeen).toBe(false)
  })

  it('counts items of the backfill on their own days', () => {
    const items = [...calmDay(0, TUESDAY - DAY, 'monday'), ...calmDay(0)]
    const world = new World({
      ...asSold('advanced'),
      startMs: TUESDAY + 12 * HOUR,
      backfillMs: DAY,
      seed: 13,
      items,
    })
    world.run(TUESDAY + DAY)
    const [monday, tuesday] = world.store.head.days
    expect([monday?.date, monday?.backfilled]).toEqual(['2026-01-05', 72])
    const backfilled = (monday?.backfilled ?? 0) + (tuesday?.backfilled ?? 0)
    expect(world.store.events.filter(({ foundBy }) => foundBy === 'backfill')).toHaveLength(backfilled)
    expect(tuesday && itemsOf(tuesday)).toBe(120)
  })

  it('does not count items with impossible times', () => {
    const items = calmDay(0)
    const [far, old] = [items[4], items[5]]
    if (far !== undefined) far.timeMs += 4000 * DAY
    if (old !== undefined) old.timeMs -= 4000 * DAY
    const world = new World({ ...asSold('advanced'), seed: 14, items })
    world.run(TUESDAY + DAY)
    expect(world.store.head.days.map(({ date }) => date)).toEqual(['2026-01-06'])
  })
})
