import { describe, expect, it } from 'vitest'
import { isGap } from '../../../src/core/event.ts'
import { World, type WorldOptions } from '../../support/worlds/ingest-world.ts'
import { burst } from '../../support/worlds/world-upstream.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const SEVEN = Date.parse('2026-01-06T07:00:00Z')

const plan: Omit<WorldOptions, 'seed' | 'items' | 'startMs'> = { pageSize: 100, weeklyQuota: 1_000_000 }
const opening = () => burst('a', SEVEN + SECOND, 9 * SECOND, 265)

function whole(world: World): void {
  expect(world.missing().map((item) => item.guid)).toEqual([])
  expect(world.twice()).toEqual([])
}

describe('the poller with unreliable clocks and responses', () => {
  it('misses nothing when the very first response is slow during a burst', () => {
    for (const seconds of [3, 6]) {
      const latencyMs = [seconds * SECOND, seconds * SECOND] as const
      const world = new World({
        ...plan,
        latencyMs,
        backfillMs: HOUR,
        seed: 1,
        startMs: SEVEN + 3 * SECOND,
        items: opening(),
      })
      world.run(SEVEN + 20 * MINUTE)
      whole(world)
    }
  })

  it('covers items that arrived while the request for a new cursor was in flight', () => {
    const world = new World({
      ...plan,
      latencyMs: [4 * SECOND, 6 * SECOND],
      seed: 2,
      startMs: SEVEN - MINUTE,
      items: opening(),
      cursorsRefusedAtMs: SEVEN + 4 * SECOND,
    })
    world.run(SEVEN + HOUR)
    whole(world)
  })

  it.each([
    ['ten minutes slow', -10 * MINUTE, 0],
    ['ten minutes fast', 10 * MINUTE, 0],
    ['absent, our own clock twenty minutes fast', null, 20 * MINUTE],
    ['absent, our own clock twenty minutes slow', null, -20 * MINUTE],
  ])(
    'publishes every item when the upstream Date is %s, also when fills fail',
    (_name, dateOffMs, clockOffMs) => {
      const world = new World({
        ...plan,
        dateOffMs,
        clockOffMs,
        failures: 0.4,
        faultsUntilMs: SEVEN + 3 * MINUTE,
        seed: 3,
        startMs: SEVEN - 5 * MINUTE,
        items: opening(),
      })
      world.run(SEVEN + 2 * HOUR)
      whole(world)
    },
  )

  it.each([
    ['Date is nine months fast', 270 * DAY, 0],
    ['Date is absent, our own clock nine months fast', null, 270 * DAY],
    ['Date is absent, our own clock nine months slow', null, -270 * DAY],
  ])('fills what an overflowing poll left out, even when the upstream %s', (_name, dateOffMs, clockOffMs) => {
    for (const before of [0, 3]) {
      const items = [
        ...burst('known', SEVEN - MINUTE, 10 * SECOND, before),
        ...burst('a', SEVEN + SECOND, 2 * SECOND, 450),
      ]
      const world = new World({
        ...plan,
        weeklyQuota: 100_000,
        dateOffMs,
        clockOffMs,
        seed: 7,
        startMs: SEVEN - 5 * MINUTE,
        items,
      })
      world.run(SEVEN + HOUR)
      whole(world)
      expect(world.openGaps).toEqual([])
    }
  })

  it('continues to poll when our clock is set back by an hour', () => {
    const world = new World({ ...plan, seed: 4, startMs: SEVEN - 5 * MINUTE, items: opening() })
    world.run(SEVEN - 2 * MINUTE)
    const before = world.requests.length
    world.options.clockOffMs = -HOUR
    world.run(SEVEN + 5 * MINUTE)
    expect(world.requests.length - before).toBeGreaterThan(100)
    whole(world)
  })

  it('counts unreadable items when it has to guess whether a page was full', () => {
    const items = opening()
    for (const item of items) item.malformed = item.guid.endsWith('7')
    const strange: WorldOptions['strange'] = (page) => ({ ...page, hasMore: undefined })
    const world = new World({
      ...plan,
      strange,
      weeklyQuota: 60_000,
      seed: 5,
      startMs: SEVEN - 5 * SECOND,
      items,
    })
    world.run(SEVEN + 20 * MINUTE)
    whole(world)
    const raws = world.store.rejected.map((item) => item.raw)
    expect(new Set(raws).size).toBe(raws.length)
  })

  it('holds the texts of a few pages at most, however large they are and whatever the scan is for', () => {
    const padding = ' '.repeat(200_000)
    const strange: WorldOptions['strange'] = (page) => ({
      ...page,
      items: page.items.map((item) => ({ ...item, text: item.text + padding })),
    })
    /** By the requests before them: the commits of one publication follow each other without a request between them. */
    const sizes = new Map<number, number>()
    const world = new World({
      ...plan,
      strange,
      refuseCommit: ({ commit }) => {
        const { length } = world.requests
        const size = commit.events.reduce((sum, { data }) => sum + data.length, 0)
        sizes.set(length, (sizes.get(length) ?? 0) + size)
        return false
      },
      backfillMs: DAY,
      seed: 8,
      startMs: SEVEN - HOUR,
      items: [...burst('z', SEVEN - 2 * HOUR, 9 * SECOND, 480), ...burst('a', SEVEN + SECOND, SECOND, 480)],
    })
    world.run(SEVEN + HOUR)
    expect(world.store.events.filter(({ type }) => !isGap(type))).toHaveLength(960)
    expect(world.twice()).toEqual([])
    const page = plan.pageSize * padding.length
    expect(Math.max(...sizes.values())).toBeGreaterThan(page)
    expect(Math.max(...sizes.values())).toBeLessThan(2.1 * page)
  })

  it('reports the warnings of every page of a scan, as those of a poll', () => {
    const strange: WorldOptions['strange'] = (page, { pageCursor }) =>
      pageCursor === undefined ? page : { ...page, warnings: [`ignored at ${pageCursor}`] }
    const world = new World({ ...plan, strange, seed: 9, startMs: SEVEN - SECOND, items: opening() })
    world.run(SEVEN + MINUTE)
    whole(world)
    const pages = world.requests.filter(({ query }) => query.pageCursor !== undefined)
    const warned = world.reports.filter(({ event }) => event === 'page_scan.warned')
    expect(warned.length).toBeGreaterThan(0)
    expect(warned.map(({ fields }) => fields)).toEqual(
      pages.map(({ query }) => ({
        kind: expect.any(String),
        warnings: [`ignored at ${query.pageCursor}`],
      })),
    )
  })

  it('stops at endless empty pages and leaves the backfill as an open gap', () => {
    const strange: WorldOptions['strange'] = (page, query, requests) =>
      query.sinceCursor !== undefined || query.fromMs === undefined
        ? page
        : { ...page, items: [], nextCursor: `${requests}` }
    const world = new World({
      ...plan,
      strange,
      weeklyQuota: 3500,
      backfillMs: HOUR,
      seed: 6,
      startMs: SEVEN - HOUR,
      items: [...burst('old', SEVEN - 2 * HOUR, SECOND, 1), ...opening()],
    })
    world.run(SEVEN + 12 * HOUR)
    expect(world.requests.filter(({ purpose }) => purpose === 'backfill').length).toBeLessThan(40)
    expect(world.openGaps.length).toBeGreaterThan(0)
    expect(world.missing()).toEqual([])
  })

  it('does not scan all history when upstream ignores the date filter', () => {
    const history = burst('h', SEVEN - 5 * DAY, 4 * DAY, 10_000)
    const world = new World({
      ...plan,
      seed: 7,
      backfillMs: 6 * DAY,
      startMs: SEVEN - HOUR,
      items: [...history, ...opening()],
    })
    world.run(SEVEN - SECOND)
    const before = world.requests.length
    world.options.strange = (page, { fromMs, toMs: _to, ...rest }) =>
      fromMs === undefined ? page : world.answer(rest)
    world.run(SEVEN + 10 * MINUTE)
    expect(world.requests.slice(before).filter(({ purpose }) => purpose !== 'poll').length).toBeLessThan(80)
    expect(world.missing()).toEqual([])
  })

  it('backs off when the log rejects its commits, instead of spending the quota', () => {
    const world = new World({
      ...plan,
      weeklyQuota: 20_000,
      backfillMs: HOUR,
      refuseCommit: ({ commit }) => commit.events.length > 0,
      seed: 8,
      startMs: SEVEN,
      items: opening(),
    })
    world.run(SEVEN + HOUR)
    // Fewer than the polls of a healthy hour alone.
    expect(world.requests.length).toBeLessThan((0.8 * 20_000) / (7 * 24))
    world.options.refuseCommit = () => false
    world.run(SEVEN + 2 * HOUR)
    whole(world)
  })

  it('polls between the days of a long gap', () => {
    const items = burst('a', SEVEN - 14 * DAY, 14 * DAY, 8000)
    const world = new World({
      ...plan,
      pageSize: 50,
      ratePerSecond: 5,
      burst: 10,
      seed: 9,
      startMs: SEVEN - 14 * DAY,
      items,
      cursorsRefusedAtMs: SEVEN - MINUTE,
    })
    world.run(SEVEN - 14 * DAY + MINUTE)
    world.stop()
    world.run(SEVEN)
    world.start()
    world.run(SEVEN + 20 * MINUTE)
    const polls = world.requests.filter(
      ({ atMs, purpose }) => purpose === 'poll' && atMs > SEVEN + 10 * SECOND,
    )
    const longest = polls.reduce(
      (most, poll, index) => Math.max(most, poll.atMs - (polls[index - 1]?.atMs ?? poll.atMs)),
      0,
    )
    expect(longest).toBeLessThan(15 * SECOND)
    whole(world)
  })

  it('uses a cursor again whose commit was lost', () => {
    const items = opening().slice(0, 3)
    for (const item of items) item.malformed = true
    let refused = 0
    const world = new World({
      ...plan,
      stableCursors: true,
      refuseCommit: ({ commit }) => (commit.rejected?.length ?? 0) > 0 && refused++ < 1,
      seed: 10,
      startMs: SEVEN - 5 * SECOND,
      items,
    })
    world.run(SEVEN + 2 * MINUTE)
    expect(world.store.rejected.length).toBe(3)
    expect(world.store.events.filter((event) => isGap(event.type))).toEqual([])
  })

  it('polls by date when every new cursor is rejected, instead of opening gaps for ever', () => {
    const world = new World({
      ...plan,
      seed: 11,
      startMs: SEVEN - MINUTE,
      items: opening(),
      cursorsRefusedAtMs: SEVEN,
    })
    world.options.alwaysRefuse = true
    world.run(SEVEN + 3 * HOUR)
    expect(world.store.events.filter((event) => isGap(event.type)).length).toBeLessThan(10)
    whole(world)
  })

  it('misses nothing when pages come oldest first: the specification does not define an order', () => {
    const world: World = new World({
      ...plan,
      pageSize: 50,
      backfillMs: HOUR,
      seed: 12,
      startMs: SEVEN - MINUTE,
      items: [...burst('before', SEVEN - 30 * MINUTE, 10 * MINUTE, 120), ...opening()],
      strange: (page, query) => {
        if (query.sinceCursor !== undefined) return page
        const { pageCursor = '0', ...first } = query
        const listed = world.answer({ ...first, pageSize: 10_000 }).items.reverse()
        const next = Number(pageCursor) + query.pageSize
        const items = listed.slice(Number(pageCursor), next)
        return { ...page, items, nextCursor: next < listed.length ? String(next) : null }
      },
    })
    world.run(SEVEN + HOUR)
    whole(world)
    expect(world.store.events.length).toBeGreaterThan(380)
  })

  it('an empty poll changes nothing: the returned cursor is used again', () => {
    const world = new World({
      ...plan,
      stableCursors: true,
      seed: 13,
      startMs: SEVEN - MINUTE,
      items: [...burst('a', SEVEN - 2 * MINUTE, SECOND, 1), ...burst('b', SEVEN + MINUTE, SECOND, 1)],
      backfillMs: HOUR,
    })
    world.run(SEVEN + 5 * MINUTE)
    whole(world)
    const polled = world.requests.flatMap(({ query }) => query.sinceCursor ?? [])
    const cursors = polled.filter((cursor, index) => cursor !== polled[index - 1])
    expect(polled.length).toBeGreaterThan(100)
    expect(cursors).toHaveLength(2)
  })

  it('recovers with the service, after polls that repeated items and the cursor that was sent', () => {
    const stuckUntilMs = SEVEN + 40 * SECOND
    const strange: WorldOptions['strange'] = (page, { sinceCursor }) =>
      sinceCursor !== undefined && world.nowMs > SEVEN + 4 * SECOND && world.nowMs < stuckUntilMs
        ? { ...page, latestCursor: sinceCursor }
        : page
    const world: World = new World({
      ...plan,
      strange,
      seed: 15,
      startMs: SEVEN - 5 * SECOND,
      items: opening(),
    })
    world.run(stuckUntilMs + 10 * SECOND)
    expect(world.reports.some(({ event }) => event === 'upstream.request_failed')).toBe(true)
    world.reports.length = 0
    world.run(stuckUntilMs + 5 * MINUTE)
    expect(world.reports.filter(({ event }) => event === 'upstream.request_failed')).toEqual([])
    whole(world)
  })

  it('starts a single fill when every response reports more items after known ones', () => {
    const strange: WorldOptions['strange'] = (page, { sinceCursor }) =>
      sinceCursor === undefined || world.nowMs < SEVEN + 2 * MINUTE
        ? page
        : { ...world.answer({ pageSize: 100 }), latestCursor: `${sinceCursor}+`, hasMore: true }
    const world: World = new World({
      ...plan,
      strange,
      seed: 16,
      startMs: SEVEN - 5 * SECOND,
      items: opening(),
    })
    world.run(SEVEN + 2 * MINUTE)
    const before = world.requests.length
    world.run(SEVEN + 10 * MINUTE)
    const purposes = world.requests.slice(before).map(({ purpose }) => purpose)
    expect(purposes.filter((purpose) => purpose === 'fill').length).toBeLessThan(5)
    expect(purposes.filter((purpose) => purpose === 'poll').length).toBeGreaterThan(400)
    whole(world)
  })

  it('refunds no 429, however it is classified: upstream counts throttled requests', () => {
    const fails: WorldOptions['fails'] = (_query, requests) =>
      requests > 5 && requests < 12 ? { kind: 'too_many', retryAfter: '604800' } : undefined
    const world = new World({ ...plan, fails, seed: 17, startMs: SEVEN - 5 * SECOND, items: opening() })
    world.run(SEVEN + HOUR)
    expect(world.reports.some(({ fields }) => fields.result === 'quota')).toBe(true)
    expect(world.unitsSpent()).toBe(world.requests.length)
    whole(world)
  })

  it('runs an overlap re-scan after a burst that was polled every second in small portions', () => {
    const items = [
      ...burst('early', SEVEN + 4 * SECOND, 3 * SECOND, 38),
      ...burst('seen', SEVEN + 7 * SECOND, 16 * SECOND, 61),
    ]
    for (const item of items) if (item.guid.startsWith('early')) item.visibleMs += 18 * SECOND
    const world = new World({ ...plan, seed: 18, startMs: SEVEN - 5 * SECOND, items })
    world.run(SEVEN + MINUTE)
    whole(world)
    expect(world.requests.filter(({ purpose }) => purpose === 'sweep').length).toBe(1)
  })
})
