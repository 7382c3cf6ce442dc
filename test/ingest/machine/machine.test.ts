import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isGap } from '../../../src/core/event.ts'
import { World, type WorldOptions } from '../../support/worlds/ingest-world.ts'
import { burst, type WorldItem } from '../../support/worlds/world-upstream.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const SEVEN = Date.parse('2026-01-06T07:00:00Z')

/** The first request of a page scan fails. */
function firstScanFails(): NonNullable<WorldOptions['fails']> {
  let scans = 0
  return ({ fromMs }) => {
    if (fromMs === undefined) return undefined
    scans += 1
    return scans === 1 ? { kind: 'server_error', status: 500 } : undefined
  }
}

/** 265 items at 07:00:01–09 and 495 at 07:10:01–10, one of them stamped early and inserted late. */
function morning(): WorldItem[] {
  const items = [
    ...burst('a', SEVEN + SECOND, 9 * SECOND, 265),
    ...burst('b', SEVEN + 10 * MINUTE + SECOND, 10 * SECOND, 495),
  ]
  const late = items[100]
  if (late !== undefined) late.visibleMs = SEVEN + 25 * SECOND
  return items
}

const plan: Omit<WorldOptions, 'seed' | 'items' | 'startMs'> = { pageSize: 100, weeklyQuota: 1_000_000 }

function gapStates(world: World): string[] {
  return world.store.events.filter((event) => isGap(event.type)).map((event) => event.type)
}

function order(world: World): void {
  let latestMs = 0
  for (const event of world.store.events) {
    if (isGap(event.type)) continue
    expect(event.late).toBe(event.timeMs < latestMs)
    latestMs = Math.max(latestMs, event.timeMs)
  }
}

describe('the poller', () => {
  for (const [name, pageSize, ratePerSecond, capacity] of [
    ['lite', 50, 5, 10],
    ['advanced', 100, 15, 30],
    ['ultimate', 200, 30, 60],
  ] as const) {
    it(`publishes every item of a morning once, without a gap, on ${name}`, () => {
      const world = new World({
        ...plan,
        pageSize,
        ratePerSecond,
        burst: capacity,
        seed: 1,
        startMs: SEVEN - 10 * SECOND,
        items: morning(),
      })
      world.run(SEVEN + 15 * MINUTE)
      expect(world.missing()).toEqual([])
      expect(world.twice()).toEqual([])
      expect(gapStates(world)).toEqual([])
      order(world)
    })
  }

  it('finds an item that arrived behind the cursor by the overlap re-scan after the burst', () => {
    const world = new World({
      ...plan,
      pageSize: 200,
      seed: 2,
      startMs: SEVEN - 10 * SECOND,
      items: morning(),
    })
    world.run(SEVEN + 2 * MINUTE)
    expect(world.requests.some((request) => request.purpose === 'sweep')).toBe(true)
    expect(world.missing()).toEqual([])
    expect(world.store.events.some((event) => event.late && event.data.includes('"a-00100"'))).toBe(true)
  })

  it('publishes a gap event for a fill that takes longer than two seconds, and another when it ends', () => {
    const items = burst('flood', SEVEN + SECOND, 20 * SECOND, 1500)
    const world = new World({ ...plan, pageSize: 10, seed: 3, startMs: SEVEN - 10 * SECOND, items })
    world.run(SEVEN + 30 * MINUTE)
    expect(world.missing()).toEqual([])
    expect(world.twice()).toEqual([])
    expect(gapStates(world).filter((type) => type === 'bridge.gap.opened.v1').length).toBeGreaterThan(0)
    expect(gapStates(world).filter((type) => type === 'bridge.gap.filled.v1').length).toBe(
      gapStates(world).filter((type) => type === 'bridge.gap.opened.v1').length,
    )
    expect(world.openGaps).toEqual([])
  })

  it.each<[string, Partial<WorldOptions>, number]>([
    ['by exactly two seconds, also when a timer rings early', { timersEarly: true }, 2 * SECOND],
    ['only as long as a due poll may wait, when a page failed', { fails: firstScanFails() }, 1.3 * SECOND],
  ])('delays the gap event of a fill %s', (_title, strange, delayMs) => {
    const items = burst('flood', SEVEN + SECOND, 20 * SECOND, 1500)
    const slow = { ...plan, pageSize: 10, latencyMs: [600, 600] as const }
    const world = new World({ ...slow, ...strange, seed: 3, startMs: SEVEN - 10 * SECOND, items })
    world.run(SEVEN + MINUTE)
    const beganMs = world.requests.find(({ purpose }) => purpose === 'fill')?.atMs
    const [gap] = world.store.events.filter((event) => isGap(event.type))
    expect(Date.parse(String(gap?.recordedtime)) - Number(beganMs)).toBe(delayMs)
  })

  it('publishes a fill of more than 1,000 items as a chain of commits between gap events', () => {
    const items = burst('flood', SEVEN + SECOND, 60 * SECOND, 2500)
    const world = new World({
      ...plan,
      pageSize: 200,
      weeklyQuota: 400,
      seed: 4,
      startMs: SEVEN - 60 * SECOND,
      items,
    })
    world.run(SEVEN + 30 * MINUTE)
    expect(world.missing()).toEqual([])
    expect(gapStates(world)).toEqual(['bridge.gap.opened.v1', 'bridge.gap.filled.v1'])
  })

  it.each<[string, Partial<WorldOptions>, number]>([
    ['is held for two seconds', { pageSize: 50, latencyMs: [900, 900] }, 265],
    ['needs several commits', { pageSize: 200 }, 2500],
  ])(
    'says of a closed gap how many items its poll had left out, when the fill %s',
    (_title, strange, count) => {
      const items = burst('one', SEVEN + SECOND, 1, count)
      const world = new World({ ...plan, ...strange, seed: 3, startMs: SEVEN - 10 * SECOND, items })
      world.run(SEVEN + 10 * MINUTE)
      const gaps = world.store.events.filter((event) => isGap(event.type))
      const found = gaps.map(({ type, data }) => [type, (JSON.parse(data) as { found: number }).found])
      const { pageSize = 0 } = strange
      expect(found).toEqual([
        ['bridge.gap.opened.v1', 0],
        ['bridge.gap.filled.v1', count - pageSize],
      ])
    },
  )

  it('stamps gap events with upstream’s time, like the items around them, and with our recorded time', () => {
    const items = burst('flood', SEVEN + SECOND, 60 * SECOND, 2500)
    const clockOffMs = 300 * 24 * HOUR
    const paid = { ...plan, pageSize: 200, weeklyQuota: 400 }
    const world = new World({ ...paid, clockOffMs, seed: 4, startMs: SEVEN - 60 * SECOND, items })
    world.run(SEVEN + 30 * MINUTE)
    const gaps = world.store.events.filter(({ type }) => isGap(type))
    expect(gaps.length).toBeGreaterThan(1)
    for (const { timeMs, recordedtime } of gaps) {
      expect(timeMs).toBeGreaterThan(SEVEN)
      expect(timeMs).toBeLessThan(SEVEN + 30 * MINUTE)
      expect(Date.parse(recordedtime) - clockOffMs).toBeGreaterThan(SEVEN)
    }
  })

  it.each([
    ['affords every fill of five even days with the quota of the free plan', 350, 0],
    ['leaves open gaps when a smaller quota cannot afford their fills', 120, 1],
  ])('%s, and never exceeds it', (_title, weeklyQuota, fewestGaps) => {
    const items = [0, 1, 2, 3, 4].flatMap((day) =>
      burst(`day${day}`, SEVEN + day * 24 * HOUR, 10 * HOUR, 1900),
    )
    const free = { ...plan, pageSize: 50, ratePerSecond: 1, burst: 2, weeklyQuota }
    const world = new World({ ...free, seed: 5, startMs: SEVEN - HOUR, items })
    world.run(SEVEN + 5 * 24 * HOUR)
    expect(world.unitsSpent()).toBeLessThanOrEqual(weeklyQuota)
    expect(Math.min(1, world.openGaps.length)).toBe(fewestGaps)
    expect(world.missing()).toEqual([])
    expect(world.twice()).toEqual([])
  })

  it('fills a gap that was over budget a quarter of an hour after last week’s units of that morning are back', () => {
    const items = burst('a', SEVEN + SECOND, 9 * SECOND, 400)
    const free = { ...plan, pageSize: 50, ratePerSecond: 1, burst: 2, weeklyQuota: 350 }
    const world = new World({ ...free, seed: 5, startMs: SEVEN - 20 * SECOND, items })
    world.store.ledger.set(SEVEN - 7 * 24 * HOUR + 5 * MINUTE, { poll: 344 })
    world.run(SEVEN + 12 * MINUTE)
    expect(gapStates(world)).toEqual(['bridge.gap.opened.v1'])
    world.run(SEVEN + 20 * MINUTE)
    expect(gapStates(world)).toEqual(['bridge.gap.opened.v1', 'bridge.gap.filled.v1'])
    expect(world.missing()).toEqual([])
  })

  it('reads each page of an over-budget gap once, while units are freed a few at a time', () => {
    const items = burst('a', SEVEN + SECOND, 9 * SECOND, 390)
    const free = { ...plan, pageSize: 50, ratePerSecond: 1, burst: 2, weeklyQuota: 350 }
    const world = new World({ ...free, seed: 5, startMs: SEVEN - 20 * SECOND, items })
    const aWeekAgo = (minutes: number): number => SEVEN - 7 * 24 * HOUR + minutes * MINUTE
    for (let place = 0; place < 12; place++) world.store.ledger.set(aWeekAgo(10 + 15 * place), { poll: 2 })
    world.store.ledger.set(aWeekAgo(12 * 60), { poll: 344 - 24 })
    world.run(SEVEN + 4 * HOUR)
    expect(gapStates(world)).toEqual(['bridge.gap.opened.v1', 'bridge.gap.filled.v1'])
    expect(world.missing()).toEqual([])
    const pages = world.requests
      .filter(({ purpose }) => purpose === 'fill')
      .map(({ query }) => query.pageCursor ?? 'the first')
    expect(pages.length).toBe(8)
    expect(new Set(pages).size).toBe(8)
  })

  it('restarts the fill of a gap when upstream never returns its next page', () => {
    const begun: number[] = []
    const world = new World({
      ...plan,
      seed: 5,
      startMs: SEVEN - 10 * SECOND,
      items: burst('a', SEVEN + SECOND, SECOND, 900),
      fails: ({ fromMs, pageCursor }) => {
        if (fromMs === undefined) return undefined
        if (pageCursor === undefined) begun.push(fromMs)
        const isFirst = begun.filter((other) => other === begun[0]).length === 1
        return fromMs === begun[0] && isFirst && pageCursor !== undefined
          ? { kind: 'server_error', status: 500 }
          : undefined
      },
    })
    world.run(SEVEN + 2 * HOUR)
    expect(gapStates(world)).toEqual(['bridge.gap.opened.v1', 'bridge.gap.filled.v1'])
    expect(world.missing()).toEqual([])
    expect(world.twice()).toEqual([])
  })

  it('reads the backfill day by day, oldest first, before it continues to poll', () => {
    const items = burst('old', SEVEN - 30 * HOUR, 29 * HOUR, 2300)
    const world = new World({ ...plan, backfillMs: 24 * HOUR, seed: 6, startMs: SEVEN, items })
    world.run(SEVEN + 10 * MINUTE)
    const recent = items.filter((item) => item.timeMs >= SEVEN - 23 * HOUR)
    expect(world.store.events.length).toBeGreaterThanOrEqual(recent.length)
    expect(world.store.events.every((event) => !event.late)).toBe(true)
    expect(world.store.head.backfill).toBeNull()
  })

  it('announces a backfill that is too dear before the first request, reads what half of the quota pays for, and leaves the rest as an open gap', () => {
    const startMs = Date.parse('2026-01-06T06:00:00Z')
    const backfillMs = 30 * 24 * HOUR
    const items = burst('old', startMs - backfillMs, backfillMs, 3000)
    const options = { ...plan, pageSize: 50, weeklyQuota: 350, backfillMs, seed: 7, startMs, items }
    const world = new World(options)
    world.run(startMs + 100)
    const [begun, limited] = world.reports
    expect(begun).toMatchObject({ event: 'log.begun' })
    expect(limited?.atMs).toBeLessThanOrEqual(world.requests[0]?.atMs ?? 0)
    expect(limited).toMatchObject({ event: 'backfill.limited', fields: { units: 752, budget: 175 } })
    world.run(startMs + 12 * HOUR)
    const [gap] = world.openGaps
    expect(gap).toMatchObject({ cause: 'outage' })
    expect(Date.parse(gap?.from ?? '')).toBeLessThanOrEqual(startMs - backfillMs + SECOND)
    expect(world.store.head.backfill).toBeNull()
    expect(world.requests.filter(({ purpose }) => purpose === 'backfill').length).toBeLessThanOrEqual(175)
    expect(world.requests.filter(({ purpose }) => purpose === 'poll').length).toBeGreaterThan(3)
    expect(world.missing()).toEqual([])
    const held = world.store.events.filter(({ type }) => !isGap(type)).length
    expect(held).toBeGreaterThan(500)
    world.crash()
    const before = world.requests.length
    world.run(world.nowMs + MINUTE)
    expect(world.requests.length - before).toBeLessThanOrEqual(1)
  })

  it('publishes what the first answer lists, inside of the gap, where half of the quota pays for no day of the backfill', () => {
    const startMs = Date.parse('2026-01-06T12:00:00Z')
    const items = burst('old', startMs - 6 * HOUR, 6 * HOUR, 400)
    const options = { ...plan, pageSize: 50, weeklyQuota: 60, backfillMs: 24 * HOUR, seed: 7 }
    const world = new World({ ...options, startMs, items })
    world.run(startMs + MINUTE)
    expect(world.requests).toHaveLength(1)
    expect(world.openGaps).toHaveLength(1)
    expect(world.store.events.filter(({ type }) => !isGap(type))).toHaveLength(50)
    expect(world.missing()).toEqual([])
    world.run(startMs + 9 * 24 * HOUR)
    expect(world.openGaps).toEqual([])
    expect(world.store.events.filter(({ type }) => !isGap(type))).toHaveLength(400)
    expect(world.twice()).toEqual([])
  })

  it('opens a gap when upstream rejects its cursor after a stop, and fills it', () => {
    const items = [...burst('a', SEVEN, HOUR, 300), ...burst('b', SEVEN + 2 * HOUR, HOUR, 300)]
    const world = new World({
      ...plan,
      seed: 8,
      startMs: SEVEN - MINUTE,
      items,
      cursorsRefusedAtMs: SEVEN + 90 * MINUTE,
    })
    world.run(SEVEN + 4 * HOUR)
    expect(gapStates(world)).toEqual(['bridge.gap.opened.v1', 'bridge.gap.filled.v1'])
    expect(world.missing()).toEqual([])
    expect(world.twice()).toEqual([])
  })

  it('fills a gap of several days a day at a time, and closes it once', () => {
    const items = burst('a', SEVEN, 72 * HOUR, 3000)
    const world = new World({
      ...plan,
      seed: 12,
      startMs: SEVEN - MINUTE,
      items,
      cursorsRefusedAtMs: SEVEN + 71 * HOUR,
    })
    world.run(SEVEN + MINUTE)
    world.stop()
    world.run(SEVEN + 71 * HOUR)
    world.start()
    world.run(SEVEN + 72 * HOUR)
    const scans = world.reports.filter(
      (report) => report.event === 'page_scan.completed' && report.fields.kind === 'fill',
    )
    expect(scans).toEqual([])
    expect(world.reports.filter((report) => report.fields.kind === 'gap_retry').length).toBe(3)
    expect(gapStates(world)).toEqual(['bridge.gap.opened.v1', 'bridge.gap.filled.v1'])
    expect(world.missing()).toEqual([])
    expect(world.twice()).toEqual([])
  })

  it('polls at once after a crash, and spends at most a tenth more than planned through many crashes', () => {
    const world = new World({ ...plan, weeklyQuota: 3_500, seed: 13, startMs: SEVEN, items: [] })
    const dayOfPolls = (3_500 * 0.8) / 5
    world.run(SEVEN + HOUR)
    world.crash()
    const before = world.requests.length
    world.run(SEVEN + HOUR + 2 * SECOND)
    expect(world.requests.slice(before).map(({ purpose }) => purpose)).toEqual(['poll'])
    for (let atMs = SEVEN + HOUR; atMs < SEVEN + 12 * HOUR; atMs += 60 * SECOND) {
      world.crash()
      world.run(atMs + 60 * SECOND)
    }
    expect(world.unitsSpent()).toBeLessThanOrEqual(dayOfPolls * 1.1)
  })

  it('publishes new content of a known guid as its next revision', () => {
    const [first] = burst('a', SEVEN, SECOND, 1)
    if (first === undefined) throw new Error('no item')
    const items = [...burst('b', SEVEN + 5 * SECOND, 5 * SECOND, 120), first]
    const world = new World({ ...plan, seed: 9, startMs: SEVEN - 10 * SECOND, items })
    world.run(SEVEN + 4 * SECOND)
    first.content = 'other content'
    world.run(SEVEN + 5 * MINUTE)
    const revisions = world.store.events.filter((event) => event.data.includes('"a-00000"'))
    expect(revisions.map((event) => [event.id, event.type])).toEqual([
      ['a-00000', 'disclosure.published.v1'],
      ['a-00000#2', 'disclosure.amended.v1'],
    ])
  })

  it('stores an unreadable item once, as rejected, and continues', () => {
    const items = morning()
    const bad = items[50]
    if (bad !== undefined) bad.malformed = true
    const world = new World({ ...plan, seed: 10, startMs: SEVEN - 10 * SECOND, items })
    world.run(SEVEN + 15 * MINUTE)
    expect(world.store.rejected.map((item) => [item.guid, item.reason])).toEqual([
      ['a-00050', 'no timestamp'],
    ])
    expect(world.store.events.length).toBe(items.length - 1)
  })

  it('loses and repeats no item through failures, lost commit responses and crashes: upstream items = log + open gaps + rejected', () => {
    fc.assert(
      fc.property(
        fc.record({
          seed: fc.nat(),
          pageSize: fc.constantFrom(20, 50, 100, 200),
          failures: fc.constantFrom(0, 0.05, 0.3),
          unknowns: fc.constantFrom(0, 0.05, 0.3),
          crashes: fc.constantFrom(0, 0.01, 0.05),
        }),
        (faults) => {
          const world = new World({
            ...plan,
            ...faults,
            startMs: SEVEN - 20 * SECOND,
            faultsUntilMs: SEVEN + 14 * MINUTE,
            items: morning(),
          })
          world.run(SEVEN + HOUR)
          const items = morning()
          const published = world.store.events.filter((event) => !isGap(event.type))
          expect(world.twice()).toEqual([])
          expect(world.missing().map((item) => item.guid)).toEqual([])
          expect(published.length).toBeLessThanOrEqual(items.length)
          order(world)
        },
      ),
      { numRuns: 8 },
    )
  })
})
