/** Tests that a throttle which hits a page scan keeps nobody waiting once it is over, also where no poll is due for long. */
import { expect, it } from 'vitest'
import { plans } from '../../../src/core/plans.ts'
import type { Failure } from '../../../src/upstream/outcome.ts'
import { World, type WorldOptions } from '../../support/worlds/ingest-world.ts'
import { burst } from '../../support/worlds/world-upstream.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const SEVEN = Date.parse('2026-01-06T07:00:00Z')
/** The contract, section 10: the longest silence after the last 429 of a throttle. */
const LONGEST_SILENCE = 30 * SECOND

const refused: Failure = { kind: 'too_many', retryAfter: null }

/** A day of a plan with overlap re-scans, scheduled ones and the daily reconciliation. */
function played(plan: 'lite' | 'advanced', fails?: WorldOptions['fails']): World {
  const world = new World({
    ...plans[plan],
    seed: 3,
    startMs: SEVEN - 5 * MINUTE,
    items: [...burst('a', SEVEN, 10 * SECOND, 265), ...burst('b', SEVEN + MINUTE, 9 * HOUR, 600)],
    ...(fails !== undefined && { fails }),
  })
  world.run(SEVEN + 15 * HOUR)
  return world
}

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
] as const)('on %s after %d ms, of 429s with Retry-After %s', (plan, lengthMs, retryAfter) => {
  const starts = scanStarts(played(plan))
  expect(starts.length).toBeGreaterThan(3)
  // Some of them, with the daily reconciliation in the evening, when polls are rare.
  for (const startMs of starts.filter((_, index) => index % 3 === 0 || index === starts.length - 1)) {
    const isIn = (atMs: number): boolean => atMs >= startMs && atMs < startMs + lengthMs
    const world = played(plan, (_query, _requests, nowMs) =>
      isIn(nowMs) ? { ...refused, retryAfter } : undefined,
    )
    const times = world.requests.map(({ atMs }) => atMs)
    const lastMs = times.findLast(isIn) ?? startMs
    const nextMs = times.find((atMs) => atMs > lastMs) ?? Number.POSITIVE_INFINITY
    expect([startMs, nextMs - lastMs]).toEqual([startMs, Math.min(nextMs - lastMs, LONGEST_SILENCE)])
    expect(world.missing()).toEqual([])
    expect(world.twice()).toEqual([])
  }
})
