/** Tests that page scans which fail, or take long, keep no poll waiting. */
import { describe, expect, it } from 'vitest'
import { type PlanName, plans } from '../../../src/core/plans.ts'
import type { UpstreamListQuery } from '../../../src/upstream/list-parameters.ts'
import type { Failure } from '../../../src/upstream/outcome.ts'
import { World, type WorldOptions } from '../../support/worlds/ingest-world.ts'
import { burst } from '../../support/worlds/world-upstream.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const YEAR = 365 * 24 * HOUR
const SEVEN = Date.parse('2026-01-06T07:00:00Z')

const morning = () => [...burst('a', SEVEN, 10 * SECOND, 265), ...burst('b', SEVEN + MINUTE, 9 * HOUR, 600)]

function played(plan: PlanName, options: Partial<WorldOptions>, hours = 10): World {
  const world = new World({
    ...plans[plan],
    seed: 3,
    startMs: SEVEN - 5 * MINUTE,
    items: morning(),
    ...options,
  })
  world.run(SEVEN + hours * HOUR)
  return world
}

/** Times between two polls, ms. */
function pausesOf(world: World, fromMs = 0): number[] {
  const polls = world.requests.filter(({ purpose, atMs }) => purpose === 'poll' && atMs >= fromMs)
  return polls.slice(1).map(({ atMs }, index) => atMs - (polls[index]?.atMs ?? atMs))
}

function longestPause(world: World): number {
  return Math.max(...pausesOf(world))
}

/** Polls whose page was full. */
function overflowsOf(world: World): number {
  return world.store.events.filter(({ type }) => type === 'bridge.gap.opened.v1').length
}

const isScan = ({ sinceCursor, fromMs }: UpstreamListQuery): boolean =>
  sinceCursor === undefined && fromMs !== undefined

const FAILURES: [string, Failure][] = [
  ['500', { kind: 'server_error', status: 500 }],
  ['404', { kind: 'refused', status: 404, message: '', hint: null }],
  ['a time-out', { kind: 'timeout', phase: 'body' }],
  ['rubbish', { kind: 'invalid', reason: 'not JSON' }],
]

describe('polls by cursor keep their times', () => {
  it.each(FAILURES)('while every page scan ends with %s', (_name, failure) => {
    for (const plan of ['free', 'lite', 'advanced'] as const) {
      const usual = longestPause(played(plan, {}))
      const world = played(plan, { fails: (query) => (isScan(query) ? failure : undefined) })
      expect(longestPause(world)).toBeLessThan(1.5 * usual)
      expect(world.requests.length).toBeLessThan(1.5 * played(plan, {}).requests.length)
      expect(world.missing()).toEqual([])
      expect(world.twice()).toEqual([])
    }
  })

  it.each([
    ['no `Retry-After`', null, 0.9],
    ['`Retry-After: 3`', '3', 0.9],
    // Longer than polls are apart at seven: no request leaves meanwhile.
    ['`Retry-After: 60`', '60', 0.75],
  ])('while every page scan is refused with 429 and %s', (_name, retryAfter, share) => {
    for (const plan of ['free', 'lite', 'advanced', 'ultimate'] as const) {
      const usual = played(plan, {})
      const world = played(plan, {
        fails: (query) => (isScan(query) ? { kind: 'too_many', retryAfter } : undefined),
      })
      expect(longestPause(world)).toBeLessThan(1.5 * longestPause(usual))
      expect(pausesOf(world).length).toBeGreaterThan(share * pausesOf(usual).length)
      // On free a third of them are retries before the second poll, the first that shows that polls get no 429.
      expect(world.requests.length).toBeLessThan((plan === 'free' ? 1.8 : 1.5) * usual.requests.length)
      expect(world.missing()).toEqual([])
      expect(world.twice()).toEqual([])
    }
  })

  it('while one page cannot be read, and every item is published or inside an open gap', () => {
    const fails: WorldOptions['fails'] = (query) =>
      isScan(query) && (query.fromMs ?? 0) < SEVEN + 5 * SECOND
        ? { kind: 'server_error', status: 500 }
        : undefined
    const world = played('lite', { fails })
    expect(longestPause(world)).toBeLessThan(1.5 * longestPause(played('lite', {})))
    expect(world.missing()).toEqual([])
    expect(world.twice()).toEqual([])
  })

  it('while every page scan is refused with 403 and polls leave every other second', () => {
    const refused: Failure = { kind: 'unauthorised', status: 403 }
    const world = new World({
      ...plans.advanced,
      weeklyQuota: 300_000,
      seed: 4,
      startMs: SEVEN - MINUTE,
      items: morning(),
      fails: (query) => (isScan(query) ? refused : undefined),
    })
    world.run(SEVEN + 5 * MINUTE)
    expect(world.requests.some(({ purpose }) => purpose === 'sweep')).toBe(true)
    expect(Math.max(...pausesOf(world, SEVEN))).toBeLessThan(3.1 * SECOND)
    expect(world.health).toBe('ok')
    expect(world.missing()).toEqual([])
  })

  it.each([
    ['take long', undefined],
    ...FAILURES.map(([name, failure]) => [`end with ${name}`, failure] as const),
  ] as const)('while polls are a second apart and the pages of a scan %s', (_name, failure) => {
    const world = new World({
      ...plans.lite,
      weeklyQuota: 1_000_000,
      seed: 4,
      startMs: SEVEN - MINUTE,
      items: morning(),
      latencyOf: (query) => (isScan(query) ? 10 * SECOND : 50),
      fails: (query) => (isScan(query) ? failure : undefined),
    })
    world.run(SEVEN + 5 * MINUTE)
    expect(world.requests.filter(({ query }) => isScan(query)).length).toBeGreaterThan(5)
    expect(overflowsOf(world)).toBeGreaterThan(0)
    expect(Math.max(...pausesOf(world, SEVEN))).toBeLessThanOrEqual(1.5 * SECOND)
    expect(world.missing()).toEqual([])
  })

  it.each(['free', 'lite', 'advanced', 'enterprise'] as const)(
    'beside an item that is stamped a year ahead, while every list by date fails, on %s',
    (plan) => {
      const fromMs = SEVEN + 25 * MINUTE
      const ahead = burst('ahead', fromMs - 5 * MINUTE, 1, 1).map((item) => ({
        ...item,
        timeMs: SEVEN + YEAR,
      }))
      const items = [...burst('a', SEVEN, 10 * SECOND, 20), ...ahead, ...burst('b', fromMs, 9 * HOUR, 600)]
      const usual = longestPause(played(plan, { items }, 12))
      const world = played(
        plan,
        {
          items,
          fails: (query, _requests, nowMs) =>
            isScan(query) && nowMs > fromMs ? { kind: 'server_error', status: 500 } : undefined,
        },
        12,
      )
      expect(longestPause(world)).toBeLessThan(1.5 * usual)
      expect(world.missing()).toEqual([])
      expect(world.twice()).toEqual([])
    },
  )

  it.each(['lite', 'advanced', 'ultimate'] as const)('to the second while every page hangs on %s', (plan) => {
    const world = played(plan, {
      latencyOf: (query) => (isScan(query) ? 10 * SECOND : 50),
      fails: (query) => (isScan(query) ? { kind: 'timeout', phase: 'headers' } : undefined),
    })
    // Of the first page nobody knows yet that it hangs.
    const failedMs = (world.requests.find(({ query }) => isScan(query))?.atMs ?? Number.NaN) + MINUTE
    const lateMs = world.polls.filter(({ atMs }) => atMs > failedMs).map(({ atMs, dueMs }) => atMs - dueMs)
    expect(lateMs.length).toBeGreaterThan(100)
    expect(Math.max(...lateMs)).toBeLessThan(1.1 * SECOND)
    expect(world.missing()).toEqual([])
  })

  it.each([
    ['the pages behind a first one', ({ pageCursor }: UpstreamListQuery) => pageCursor !== undefined],
    ['all pages of fills', ({ pageCursor, toMs }: UpstreamListQuery) => (pageCursor ?? toMs) !== undefined],
  ] as const)('while polls are a second apart and %s get plain 429s', (_name, isRefused) => {
    const starts = [0, 2, 4, 6].map((minutes) => SEVEN + minutes * MINUTE)
    const world = new World({
      ...plans.ultimate,
      weeklyQuota: 1_000_000,
      pageSize: 50,
      seed: 4,
      startMs: SEVEN - MINUTE,
      items: starts.flatMap((atMs, index) => burst(`b${index}`, atMs, SECOND, 300)),
      fails: (query) => (isRefused(query) ? { kind: 'too_many', retryAfter: null } : undefined),
    })
    world.run(SEVEN + 8 * MINUTE)
    expect(world.requests.filter(({ query }) => isRefused(query)).length).toBeGreaterThan(5)
    expect(overflowsOf(world)).toBe(4)
    expect(Math.max(...pausesOf(world, SEVEN))).toBeLessThanOrEqual(1.5 * SECOND)
    expect(world.missing()).toEqual([])
  })
})

it('polls between the pages of a scan that fails spend no unit above the quota', () => {
  const world = new World({
    ...plans.free,
    seed: 1,
    startMs: SEVEN - 5 * MINUTE,
    items: [
      ...burst('a', SEVEN + SECOND, 9 * SECOND, 400),
      ...burst('b', SEVEN + 10 * MINUTE, 9 * SECOND, 500),
      ...burst('c', SEVEN + 12 * MINUTE, 3 * HOUR, 600),
    ],
    fails: (query) => (isScan(query) ? { kind: 'server_error', status: 500 } : undefined),
  })
  world.store.ledger.set(SEVEN - 72 * HOUR, { poll: plans.free.weeklyQuota - 10 })
  world.run(SEVEN + 6 * HOUR)
  expect(world.unitsSpent()).toBe(plans.free.weeklyQuota)
})

describe('what a scan has fetched', () => {
  it.each([
    ['a page behind it gets a 429 that asks for a minute', { kind: 'too_many', retryAfter: '60' }],
    ['the page behind it cannot be read', { kind: 'server_error', status: 500 }],
  ] as [string, Failure][])('waits for nothing else, where %s', (_name, failure) => {
    let pages = 0
    const world = new World({
      ...plans.free,
      seed: 3,
      startMs: SEVEN - 5 * MINUTE,
      items: morning(),
      fails: (query) => {
        if (query.pageCursor === undefined) return undefined
        pages += 1
        return pages === 2 || pages === 4 ? failure : undefined
      },
    })
    world.run(SEVEN + 10 * HOUR)
    expect(pages).toBeGreaterThan(6)
    const heldMs = new Map(world.store.events.map(({ data }, index) => [data, world.committedMs[index] ?? 0]))
    const waits = world.shown.flatMap(({ atMs, texts }) =>
      atMs === world.firstAnswerMs ? [] : texts.map((text) => (heldMs.get(text) ?? Number.NaN) - atMs),
    )
    expect(Math.max(...waits)).toBeLessThan(3 * SECOND)
    expect(world.missing()).toEqual([])
    expect(world.twice()).toEqual([])
  })

  it('is not fetched again after a crash', () => {
    let pages = 0
    const asked: string[] = []
    const world = new World({
      ...plans.free,
      seed: 3,
      startMs: SEVEN - 5 * MINUTE,
      items: morning(),
      fails: ({ pageCursor }) => {
        if (pageCursor === undefined) return undefined
        pages += 1
        if (pages === 2 || pages === 4) return { kind: 'too_many', retryAfter: '60' }
        asked.push(pageCursor)
        return undefined
      },
    })
    while (pages < 4) world.run(world.nowMs + SECOND)
    world.run(world.nowMs + 10 * SECOND)
    world.crash()
    world.run(SEVEN + 10 * HOUR)
    expect(asked.length).toBeGreaterThan(4)
    expect(new Set(asked).size).toBe(asked.length)
    expect(world.missing()).toEqual([])
    expect(world.twice()).toEqual([])
  })
})

/** The contract, section 10: the longest silence after the last 429 of a throttle. */
const LONGEST_SILENCE = 30 * SECOND

/** Until after the daily reconciliation. */
const DAY_HOURS = 15

/** When the first request of each scan left. */
function scanStarts({ requests }: World): number[] {
  return requests
    .filter(({ purpose, query }) => purpose !== 'poll' && query.pageCursor === undefined)
    .map(({ atMs }) => atMs)
}

it.each([
  ['advanced', MINUTE, null],
  ['advanced', MINUTE, '3'],
  ['lite', MINUTE, null],
] as const)(
  'a throttle that hits a scan of %s is over %d ms later, with Retry-After %s: the next request leaves within 30 s',
  (plan, lengthMs, retryAfter) => {
    const starts = scanStarts(played(plan, {}, DAY_HOURS))
    expect(starts.length).toBeGreaterThan(3)
    // Some of them, with the daily reconciliation in the evening, when polls are rare.
    for (const startMs of starts.filter((_, index) => index % 3 === 0 || index === starts.length - 1)) {
      const isIn = (atMs: number): boolean => atMs >= startMs && atMs < startMs + lengthMs
      const fails: WorldOptions['fails'] = (_query, _requests, nowMs) =>
        isIn(nowMs) ? { kind: 'too_many', retryAfter } : undefined
      const world = played(plan, { fails }, DAY_HOURS)
      const times = world.requests.map(({ atMs }) => atMs)
      const lastMs = times.findLast(isIn) ?? startMs
      const nextMs = times.find((atMs) => atMs > lastMs) ?? Number.POSITIVE_INFINITY
      expect([startMs, nextMs - lastMs]).toEqual([startMs, Math.min(nextMs - lastMs, LONGEST_SILENCE)])
      expect(world.missing()).toEqual([])
      expect(world.twice()).toEqual([])
    }
  },
)

/** Plays a day of pages that fail so, then one 429 of a request of that kind; how long until the next request, ms. */
function waitAfterOne429(
  plan: PlanName,
  failure: Failure,
  isHit: (query: UpstreamListQuery) => boolean,
): number {
  let hitMs: number | null = null
  const world = played(
    plan,
    {
      fails: (query, _requests, nowMs) => {
        const isOver = nowMs > SEVEN + 12 * HOUR
        if (hitMs === null && isOver && isHit(query)) {
          hitMs = nowMs
          return { kind: 'too_many', retryAfter: null }
        }
        return isScan(query) && !isOver ? failure : undefined
      },
    },
    DAY_HOURS,
  )
  const next = world.requests.find(({ atMs }) => hitMs !== null && atMs > hitMs)
  return (next?.atMs ?? Number.POSITIVE_INFINITY) - (hitMs ?? 0)
}

it.each(['lite', 'advanced'] as const)(
  'after a day of failing pages one 429 is followed by the next request within 30 s, on %s',
  (plan) => {
    const refused: Failure = { kind: 'too_many', retryAfter: null }
    expect(waitAfterOne429(plan, { kind: 'server_error', status: 500 }, isScan)).toBeLessThan(LONGEST_SILENCE)
    const isPoll = ({ sinceCursor }: UpstreamListQuery): boolean => sinceCursor !== undefined
    expect(waitAfterOne429(plan, refused, isPoll)).toBeLessThan(LONGEST_SILENCE)
  },
)
