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
const SEVEN = Date.parse('2026-01-06T07:00:00Z')

const morning = () => [...burst('a', SEVEN, 10 * SECOND, 265), ...burst('b', SEVEN + MINUTE, 9 * HOUR, 600)]

function played(plan: PlanName, options: Partial<WorldOptions>): World {
  const world = new World({
    ...plans[plan],
    seed: 3,
    startMs: SEVEN - 5 * MINUTE,
    items: morning(),
    ...options,
  })
  world.run(SEVEN + 10 * HOUR)
  return world
}

/** Longest time between two polls, ms. */
function longestPause(world: World, fromMs = 0): number {
  const polls = world.requests.filter(({ purpose, atMs }) => purpose === 'poll' && atMs >= fromMs)
  const times = polls.map(({ atMs }) => atMs)
  return times.reduce((most, atMs, index) => Math.max(most, atMs - (times[index - 1] ?? atMs)), 0)
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
    expect(longestPause(world, SEVEN)).toBeLessThan(3.1 * SECOND)
    expect(world.health).toBe('ok')
    expect(world.missing()).toEqual([])
  })

  it('while the pages of a scan take so long that polls would wait', () => {
    let scanMs = 0
    const options: Partial<WorldOptions> = { weeklyQuota: 300_000, ratePerSecond: 15, burst: 30 }
    const world = new World({
      ...plans.advanced,
      ...options,
      seed: 4,
      startMs: SEVEN - MINUTE,
      items: morning(),
      latencyOf: (query) => {
        if (!isScan(query)) return 50
        scanMs = 10 * SECOND
        return scanMs
      },
    })
    world.run(SEVEN + 5 * MINUTE)
    expect(scanMs).toBe(10 * SECOND)
    expect(longestPause(world, SEVEN)).toBeLessThan(3.1 * SECOND)
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
  world.store.ledger.set(SEVEN - 72 * HOUR, { poll: plans.free.weeklyQuota - 30 })
  world.run(SEVEN + 6 * HOUR)
  expect(world.unitsSpent()).toBe(plans.free.weeklyQuota)
})
