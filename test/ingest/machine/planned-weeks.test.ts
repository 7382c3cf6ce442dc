/**
 * Runs the whole poller through simulated weeks: what it spends, when it polls, what it misses. The bursts come an
 * hour later than the shipped profile expects.
 */
import { describe, expect, it } from 'vitest'
import { plans } from '../../../src/core/plans.ts'
import { World, type WorldOptions } from '../../support/worlds/ingest-world.ts'
import { burst, type WorldItem } from '../../support/worlds/world-upstream.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** A Monday in winter, London on UTC. */
const MONDAY = Date.parse('2026-02-02T00:00:00Z')
const { lite } = plans

/** Business days with a trickle and two bursts of more than a page of 50, an hour late. */
function weeks(count: number): WorldItem[] {
  return Array.from({ length: count * 7 }, (_, day) => {
    const startMs = MONDAY + day * DAY
    if (day % 7 > 4) return []
    return [
      ...burst(`d${day}a`, startMs + 8 * HOUR + 2 * SECOND, 9 * SECOND, 70),
      ...burst(`d${day}b`, startMs + 8 * HOUR + 10 * MINUTE + SECOND, 9 * SECOND, 90),
      ...burst(`d${day}c`, startMs + 9 * HOUR, 8 * HOUR, 120),
    ]
  }).flat()
}

function worldOf(options: Partial<WorldOptions> = {}): World {
  return new World({ ...lite, seed: 1, startMs: MONDAY, items: weeks(2), ...options })
}

/** Most units in any seven days. */
function mostInAWeek({ requests }: World): number {
  const sent = requests.map(({ atMs }) => atMs)
  let first = 0
  return sent.reduce((most, atMs, place) => {
    while ((sent[first] ?? 0) <= atMs - 7 * DAY) first++
    return Math.max(most, place - first + 1)
  }, 0)
}

/** Polls in the half minute that begins with a burst of that day. */
function pollsAtBurst({ requests }: World, day: number): number {
  const fromMs = MONDAY + day * DAY + 8 * HOUR + 10 * MINUTE
  return requests.filter(
    ({ atMs, purpose }) => purpose === 'poll' && atMs > fromMs && atMs < fromMs + 30 * SECOND,
  ).length
}

describe('the poller with planned weeks', () => {
  it('never exceeds the quota, misses nothing, and learns within a week when the bursts are', () => {
    const world = worldOf()
    world.run(MONDAY + 14 * DAY)
    expect(mostInAWeek(world)).toBeLessThanOrEqual(lite.weeklyQuota)
    expect(mostInAWeek(world)).toBeGreaterThan(lite.weeklyQuota * 0.8)
    expect(world.missing()).toEqual([])
    expect(world.twice()).toEqual([])
    expect(world.openGaps).toEqual([])
    for (const day of [7, 8, 9, 10, 11])
      expect(pollsAtBurst(world, day), `day ${day}`).toBeGreaterThanOrEqual(2)
    const sunday = world.requests.filter(({ atMs }) => atMs >= MONDAY + 13 * DAY).length
    expect(sunday).toBeLessThan(40)
  })

  it('keeps the learnt profile, the quota and every item through faults and crashes', () => {
    const faults = { failures: 0.05, unknowns: 0.02, crashes: 0.005 }
    const world = worldOf({ ...faults, faultsUntilMs: MONDAY + 6 * DAY, items: weeks(2), seed: 2 })
    world.run(MONDAY + 8 * DAY)
    expect(mostInAWeek(world)).toBeLessThanOrEqual(lite.weeklyQuota)
    expect(world.missing()).toEqual([])
    expect(world.twice()).toEqual([])
    expect(world.store.head.profile?.sharp.map(({ minuteOfDay }) => minuteOfDay)).toContain(490)
    expect(pollsAtBurst(world, 7)).toBeGreaterThanOrEqual(2)
  })
})
