/**
 * Plays long outages in simulated time and checks their cost, their log lines and how soon the poller recovers. On the
 * plan `advanced`: 3,500 units a week, a poll every 222 s.
 */
import { describe, expect, it } from 'vitest'
import { quotaAt } from '../../../src/governor/quota/ledger.ts'
import { BUCKET_MS } from '../../../src/governor/quota/time-buckets.ts'
import { nextPollAtMs } from '../../../src/ingest/machine/next-poll.ts'
import { initialState } from '../../../src/ingest/machine/state.ts'
import { step } from '../../../src/ingest/machine/step.ts'
import type { Failure } from '../../../src/upstream/outcome.ts'
import { ingestConfig } from '../../support/worlds/ingest-config.ts'
import { World, type WorldOptions } from '../../support/worlds/ingest-world.ts'
import { burst } from '../../support/worlds/world-upstream.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** A Tuesday. */
const SEVEN = Date.parse('2026-01-06T07:00:00Z')
const TROUBLE_MS = SEVEN + HOUR
/** A time bucket of the ledger counts for a week, plus a minute for requests in flight at its end. */
const SPELL_BACK_MS = BUCKET_MS + 7 * DAY + MINUTE

/** A quiet market, polled for an hour; then every request fails until the trouble is over. */
function worldIn(failure: Failure, lastingMs: number, options: Partial<WorldOptions> = {}) {
  const days = Math.ceil(lastingMs / DAY) + 1
  const items = Array.from({ length: days }, (_, day) =>
    burst(`day${day}`, SEVEN + day * DAY, 10 * HOUR, 200),
  )
  const overMs = TROUBLE_MS + lastingMs
  const world: World = new World({
    ...{ pageSize: 100, weeklyQuota: 3500, seed: 1, startMs: SEVEN, items: items.flat() },
    fails: () => (world.nowMs >= TROUBLE_MS && world.nowMs < overMs ? failure : undefined),
    ...options,
  })
  world.run(TROUBLE_MS)
  const before = { units: world.unitsSpent(), requests: world.requests.length }
  return {
    world,
    overMs,
    /** Requests and units of the trouble so far. */
    spent: () => ({
      units: world.unitsSpent() - before.units,
      requests: world.requests.length - before.requests,
    }),
    /** From the end of the trouble to the first request after it. */
    lateMs: () => (world.requests.find(({ atMs }) => atMs >= overMs)?.atMs ?? Number.NaN) - overMs,
    failed: () => world.reports.filter(({ event }) => event === 'upstream.request_failed'),
  }
}

/** Checks that every item is in the log once or inside a published gap. */
function whole(world: World): void {
  expect(world.missing()).toEqual([])
  expect(world.twice()).toEqual([])
  expect(world.health).toBe('ok')
}

describe('the poller', () => {
  it('sends nothing while the quota is used up, logs it once, and polls as soon as units come back', () => {
    const spentMs = SEVEN - 2 * DAY
    const world = new World({ pageSize: 100, weeklyQuota: 3500, seed: 2, startMs: SEVEN, items: [] })
    world.store.ledger.set(spentMs, { poll: 3500 })
    const backMs = spentMs + SPELL_BACK_MS
    world.run(backMs - 1)
    expect(world.requests).toEqual([])
    expect(world.health).toBe('quota')
    expect(world.reports.map(({ event }) => event)).toEqual(['log.begun', 'quota.spent'])
    world.run(backMs + SECOND)
    expect(world.requests.map(({ atMs }) => atMs)).toEqual([backMs])
    expect(world.health).toBe('ok')
  })

  it('probes a quota that other processes used up 20 times in two days, and polls when the new week begins', () => {
    const quotaReset = { minutesAfterMonday: 3 * 24 * 60 }
    const resetMs = Date.parse('2026-01-08T00:00:00Z')
    for (const retryAfter of [null, '604800', new Date(resetMs).toUTCString()]) {
      const { world, spent, lateMs } = worldIn({ kind: 'too_many', retryAfter }, resetMs - TROUBLE_MS, {
        quotaReset,
      })
      world.run(resetMs - 1)
      expect(world.health).toBe('quota')
      expect(spent().units).toBeLessThanOrEqual(20)
      world.run(resetMs + DAY)
      // Our week begins two seconds after upstream's, since its clock may be behind ours.
      expect(lateMs()).toBeLessThanOrEqual(2 * SECOND)
      whole(world)
    }
  })

  it('retries a rejected key fifty times a day, and polls within an hour after it works again', () => {
    const { world, overMs, spent, lateMs, failed } = worldIn({ kind: 'unauthorised', status: 401 }, DAY)
    world.run(overMs - 1)
    expect(world.health).toBe('unauthorised')
    expect(failed().every(({ fields }) => fields.status === 401)).toBe(true)
    expect(spent().units).toBe(spent().requests)
    expect(spent().units).toBeLessThanOrEqual(50)
    world.run(overMs + 2 * HOUR)
    expect(lateMs()).toBeLessThanOrEqual(66 * MINUTE)
    whole(world)
  })

  it('spends a fifth of the quota on a week of 500s, recovers within fifteen minutes, and reads what it missed', () => {
    const { world, overMs, spent, lateMs } = worldIn({ kind: 'server_error', status: 500 }, 7 * DAY)
    world.run(overMs - 1)
    expect(world.health).toBe('failing')
    expect(spent().units).toBeLessThanOrEqual(3500 / 5)
    world.run(overMs + 6 * HOUR)
    expect(lateMs()).toBeLessThanOrEqual(16.5 * MINUTE)
    whole(world)
    expect(world.openGaps).toEqual([])
  })

  it('spends nothing on a day without a connection, and polls seventeen seconds after it is back at the latest', () => {
    const { world, overMs, spent, lateMs } = worldIn({ kind: 'network', message: 'ECONNREFUSED' }, DAY)
    world.run(overMs - 1)
    expect(world.health).toBe('failing')
    expect(spent().requests).toBeGreaterThan(DAY / (17 * SECOND))
    expect(spent().units).toBeLessThanOrEqual(1)
    world.run(overMs + 2 * HOUR)
    expect(lateMs()).toBeLessThanOrEqual(17 * SECOND)
    whole(world)
  })
})

const NOON = Date.parse('2026-01-06T12:00:00Z')

it('while the quota is spent the next poll is not before units come back', () => {
  const config = ingestConfig()
  const ledger = new Map([[NOON - DAY, { poll: config.weeklyQuota }]])
  const before = { ...initialState(), name: 'polling' as const, ledger, lastSeenMs: NOON }
  const planned = { ...before, nextPollMs: NOON + 60_000 }
  const { state } = step(planned, { type: 'woke', nowMs: NOON }, config)
  const { resetMs } = quotaAt(ledger, config.weeklyQuota, config.quotaReset, NOON)
  expect(state.upstream).toBe('quota')
  expect(resetMs).toBeGreaterThan(NOON + 5 * DAY)
  expect(nextPollAtMs(state)).toBe(resetMs)
})
