/** Tests a pause of polling on the poller's state machine, and in simulated mornings. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isGap } from '../../src/core/event.ts'
import { nextPollAtMs } from '../../src/ingest/machine/next-poll.ts'
import { World, type WorldOptions } from '../support/worlds/ingest-world.ts'
import { burst } from '../support/worlds/world-upstream.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const SEVEN = Date.parse('2026-01-06T07:00:00Z')

/** 265 items after seven, and 120 every ten minutes until eight. */
const items = () => [
  ...burst('a', SEVEN + SECOND, 9 * SECOND, 265),
  ...[10, 20, 30, 40, 50].flatMap((minute) => burst(`m${minute}`, SEVEN + minute * MINUTE, 20 * SECOND, 120)),
]

function morning(more: Partial<WorldOptions> = {}): World {
  return new World({
    ...{ pageSize: 100, weeklyQuota: 1_000_000, seed: 7, startMs: SEVEN - 10 * SECOND, items: items() },
    ...more,
  })
}

/** Requests between these times. */
const requestsIn = (world: World, fromMs: number, toMs: number): number[] =>
  world.requestsMs.filter((atMs) => atMs > fromMs && atMs <= toMs)

const gapsOf = (world: World): string[] =>
  world.store.events.filter(({ type }) => isGap(type)).map(({ type }) => type)

describe('while polling is paused', () => {
  it('nothing is sent, and after it everything is there once', () => {
    const world = morning()
    world.run(SEVEN + 5 * MINUTE)
    world.pause(true)
    world.run(SEVEN + 55 * MINUTE)
    expect(requestsIn(world, SEVEN + 5 * MINUTE, SEVEN + 55 * MINUTE)).toEqual([])
    expect(world.missing().length).toBe(600)
    const spent = world.unitsSpent()
    world.pause(false)
    expect(world.requestsMs.at(-1)).toBe(SEVEN + 55 * MINUTE)
    world.run(SEVEN + 70 * MINUTE)
    expect(world.unitsSpent()).toBeGreaterThan(spent)
    expect([world.missing().length, world.twice().length, world.openGaps]).toEqual([0, 0, []])
  })

  it('a process that starts, or claims the log anew, sends nothing either', () => {
    let refusals = 0
    const refuseCommit = (): boolean => refusals-- > 0
    const world = morning({ refuseCommit })
    world.run(SEVEN + 5 * MINUTE)
    world.pause(true)
    world.crash()
    world.run(SEVEN + 20 * MINUTE)
    expect(requestsIn(world, SEVEN + 5 * MINUTE, SEVEN + 20 * MINUTE)).toEqual([])
    world.pause(false)
    // The commit of the answer fails: the poller claims anew, and is paused before it has.
    refusals = 1
    const claims = world.claimsMs.length
    while (world.claimsMs.length === claims) world.run(world.nowMs + 1)
    world.pause(true)
    const fromMs = world.nowMs
    world.run(SEVEN + 40 * MINUTE)
    expect(requestsIn(world, fromMs, SEVEN + 40 * MINUTE)).toEqual([])
    world.pause(false)
    world.run(SEVEN + 70 * MINUTE)
    expect([world.missing().length, world.twice().length]).toEqual([0, 0])
  })

  it('the answer to the request in flight is still published; of an overflowing poll behind an open gap', () => {
    const world = morning({ latencyMs: [SECOND, SECOND], items: burst('one', SEVEN + SECOND, 1, 265) })
    while ((world.requestsMs.at(-1) ?? 0) <= SEVEN + 2 * SECOND) world.run(world.nowMs + 1)
    const pausedMs = world.nowMs
    world.pause(true)
    world.run(SEVEN + 5 * MINUTE)
    expect(requestsIn(world, pausedMs, SEVEN + 5 * MINUTE)).toEqual([])
    expect(world.store.events.filter(({ type }) => !isGap(type)).length).toBe(100)
    expect(gapsOf(world)).toEqual(['bridge.gap.opened.v1'])
    expect(world.missing().length).toBe(0)
    world.pause(false)
    world.run(SEVEN + 9 * MINUTE)
    expect(gapsOf(world)).toEqual(['bridge.gap.opened.v1', 'bridge.gap.filled.v1'])
    expect([world.missing().length, world.openGaps]).toEqual([0, []])
  })

  it('no next poll is named', () => {
    const times = { nextPollMs: 5, blockedUntilMs: 0, spentUntilMs: 0 }
    expect(nextPollAtMs({ ...times, pausedSinceMs: null })).toBe(5)
    expect(nextPollAtMs({ ...times, pausedSinceMs: 1 })).toBeNull()
  })
})

describe('after a pause', () => {
  it('the next poll leaves at once, although the one before had planned it for later', () => {
    const world = morning({ items: [], weeklyQuota: 1400 })
    world.run(SEVEN + 5 * HOUR)
    const [last = 0] = world.requestsMs.slice(-1)
    world.run(last + 2 * SECOND)
    world.pause(true)
    world.run(last + 4 * SECOND)
    world.pause(false)
    expect(world.requestsMs.at(-1)).toBe(last + 4 * SECOND)
  })

  it('the wait after failures is over', () => {
    const world = morning({ fails: () => ({ kind: 'server_error', status: 503 }) })
    world.run(SEVEN + HOUR)
    const [last = 0] = world.requestsMs.slice(-1)
    world.pause(true)
    world.run(last + 5 * SECOND)
    world.pause(false)
    expect(world.requestsMs.at(-1)).toBe(last + 5 * SECOND)
  })

  it('the wait that a 429 asks for is kept', () => {
    const world = morning({ fails: () => ({ kind: 'too_many', retryAfter: '60' }) })
    world.run(SEVEN + SECOND)
    const [last = 0] = world.requestsMs.slice(-1)
    world.pause(true)
    world.run(last + 5 * SECOND)
    world.pause(false)
    world.run(last + 50 * SECOND)
    expect(world.requestsMs.at(-1)).toBe(last)
  })
})

// A pause may come before the very first poll: what is published until then is the backfill's.
const faults = { failures: 0.05, unknowns: 0.03, crashes: 0.002, backfillMs: HOUR }

it('pauses at any moments, with failures, lost commits and crashes, lose and repeat nothing, and keep silence', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1_000_000 }),
      fc.array(fc.tuple(fc.integer({ min: 1, max: 400 }), fc.integer({ min: 1, max: 900 })), {
        minLength: 1,
        maxLength: 3,
      }),
      (seed, pauses) => {
        const faultsUntilMs = SEVEN + 60 * MINUTE
        const world = morning({ seed, ...faults, faultsUntilMs })
        for (const [pollingSeconds, pausedSeconds] of pauses) {
          world.run(world.nowMs + pollingSeconds * SECOND)
          world.pause(true)
          const fromMs = world.nowMs
          world.run(fromMs + pausedSeconds * SECOND)
          expect(requestsIn(world, fromMs, world.nowMs)).toEqual([])
          world.pause(false)
        }
        world.run(Math.max(world.nowMs, faultsUntilMs) + 90 * MINUTE)
        expect([world.missing().length, world.twice().length, world.openGaps]).toEqual([0, 0, []])
      },
    ),
    { numRuns: 8 },
  )
})
