import { describe, expect, it } from 'vitest'
import { plans } from '../../../src/core/plans.ts'
import { lastCleanOf } from '../../../src/ingest/machine/present.ts'
import { enqueue } from '../../../src/ingest/machine/publish.ts'
import { initialState } from '../../../src/ingest/machine/state.ts'
import type { Failure } from '../../../src/upstream/outcome.ts'
import { ingestConfig } from '../../support/worlds/ingest-config.ts'
import { World, type WorldOptions } from '../../support/worlds/ingest-world.ts'
import { burst } from '../../support/worlds/world-upstream.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
/** Night in London. */
const NIGHT = Date.parse('2026-01-06T01:00:00Z')
const plan: WorldOptions = { seed: 1, startMs: NIGHT, items: [], pageSize: 100, weeklyQuota: 1_000_000 }
const refusedPage: Failure = { kind: 'refused', status: 410, message: '', hint: null }

/** Its last poll, the first after eight in the morning, got a 429 with a `Retry-After` of a minute. */
function refused(isShared: boolean): World {
  const refusedMs = NIGHT + 7 * HOUR
  const world = new World({
    ...{ ...plan, ...plans.advanced, startMs: NIGHT + 6 * HOUR, isShared },
    fails: () => (world.nowMs >= refusedMs ? { kind: 'too_many', retryAfter: '60' } : undefined),
  })
  while (world.requests.every(({ atMs }) => atMs < refusedMs)) world.run(world.nowMs + 1000)
  return world
}

describe('the last good poll', () => {
  it('is known to the next process, at most a minute old when the first one crashed, while upstream fails', () => {
    const down = { sinceMs: Number.POSITIVE_INFINITY }
    const world = new World({
      ...plan,
      dateOffMs: -HOUR,
      fails: () => (world.nowMs >= down.sinceMs ? { kind: 'server_error', status: 500 } : undefined),
    })
    world.run(NIGHT + 10 * MINUTE)
    const before = world.lastGood
    down.sinceMs = world.nowMs
    world.crash()
    expect(world.lastGood.atMs).toBeNull()
    world.run(world.nowMs + 10_000)
    const after = world.lastGood
    expect(world.health).toBe('failing')
    expect(Number(before.atMs) - Number(after.atMs)).toBeLessThanOrEqual(MINUTE)
    expect(Math.abs(after.skewMs + HOUR)).toBeLessThan(2000)
  })

  it('costs at most one commit a minute on a night without news', () => {
    let commits = 0
    const refuseCommit = (): boolean => {
      commits += 1
      return false
    }
    const world = new World({ ...plan, refuseCommit })
    world.run(NIGHT + HOUR)
    expect(world.requests.length).toBeGreaterThan(300)
    expect(commits).toBeGreaterThan(50)
    expect(commits).toBeLessThanOrEqual(62)
  })

  it('begins where the next one learns, although `Date` has whole seconds, unless its clock was wrong', () => {
    const state = { ...initialState(), lastGoodPollMs: NIGHT }
    const lastCleanMs = (lastCleanPollMs: number): number => {
      const head = { ...state.head, lastCleanPollMs }
      const context = { state: { ...state, head }, actions: [], config: ingestConfig(), nowMs: NIGHT + 8000 }
      return lastCleanOf(context, NIGHT + 7100, state)
    }
    expect([-400, 900, HOUR].map((ms) => lastCleanMs(NIGHT + ms) - NIGHT)).toEqual([-400, 900, -900])
  })

  it('keeps its own skew where a page of a scan shows another clock since', () => {
    const state = { ...initialState(), lastGoodPollMs: NIGHT, skewMs: 5 * HOUR, sightingSkewMs: -HOUR }
    const context = { state, actions: [], config: ingestConfig(), nowMs: NIGHT + MINUTE }
    enqueue(context, 'backfill', { events: [] })
    expect(context.state.head.lastGood).toEqual({ atMs: NIGHT, skewMs: -HOUR })
  })

  it('counts for the next process on the embedded log: restarts cost nothing, and the next poll keeps its time', () => {
    const world = new World({ ...plan, ...plans.free, startMs: NIGHT + 6.5 * HOUR, isShared: false })
    world.run(world.nowMs + 2 * MINUTE)
    const requests = world.requests.length
    const last = world.polls.at(-1)
    for (let restarts = 0; restarts < 5; restarts++) {
      world.crash()
      world.run(world.nowMs + 5000)
      expect(world.health).toBe('ok')
    }
    expect(world.requests).toHaveLength(requests)
    expect(world.reports.filter(({ event }) => event === 'log.begun')).toHaveLength(1)
    world.run(Number(last?.atMs) + Number(last?.plannedMs) + MINUTE)
    expect(world.requests).toHaveLength(requests + 1)
  })

  it.each([true, false])(
    'is followed by none within a `Retry-After`, in the next process either (shared: %s)',
    (isShared) => {
      const world = refused(isShared)
      const { length } = world.requests
      const askedUntilMs = Number(world.requests.at(-1)?.atMs) + MINUTE
      for (let restarts = 0; restarts < 5; restarts++) {
        world.crash()
        world.run(world.nowMs + 10_000)
      }
      expect(world.nowMs).toBeLessThan(askedUntilMs)
      expect(world.requests).toHaveLength(length)
      world.run(askedUntilMs + 5000)
      expect(world.requests).toHaveLength(length + 1)
    },
  )

  it('is not stored before its items: a lost commit behind a `Retry-After` of its fill does not put them off', () => {
    const items = burst('x', NIGHT + 2 * HOUR, 1000, 2 * plans.lite.pageSize)
    let refusedMs: number | null = null
    let lost = 0
    const world = new World({
      ...{ ...plan, ...plans.lite, items, isShared: false },
      refuseCommit: ({ commit }) => commit.events.length > 0 && lost++ === 0,
      fails: ({ fromMs, sinceCursor }) => {
        if (fromMs === undefined || sinceCursor !== undefined || refusedMs !== null) return
        refusedMs = world.nowMs
        return { kind: 'too_many', retryAfter: '10' }
      },
    })
    while (world.store.events.length === 0) world.run(world.nowMs + 1000)
    expect(lost).toBeGreaterThan(1)
    expect(world.nowMs - Number(refusedMs)).toBeLessThan(MINUTE)
  })

  it('and a `Retry-After` by a clock that was set back since stop no later process', () => {
    const at = { setMs: Number.POSITIVE_INFINITY }
    let refusals = 0
    let isRefusing = false
    const world = new World({
      ...{ ...plan, ...plans.ultimate, startMs: NIGHT + 6 * HOUR },
      clockOffMs: (trueMs) => (trueMs < at.setMs ? HOUR : 0),
      fails: () => {
        if (!isRefusing) return
        refusals += 1
        return { kind: 'too_many', retryAfter: '60' }
      },
    })
    world.run(NIGHT + 7 * HOUR)
    isRefusing = true
    while (refusals === 0) world.run(world.nowMs + 100)
    isRefusing = false
    world.run(world.nowMs + 90_000)
    at.setMs = world.nowMs + 1
    world.run(at.setMs + 3 * MINUTE)
    const { length } = world.requests
    world.crash()
    world.run(world.nowMs + 10_000)
    expect(world.requests.length).toBeGreaterThan(length)
  })

  it('is followed by no poll that is ordered within a `Retry-After`, of the next process either', () => {
    const world = refused(false)
    const { length } = world.requests
    world.crash()
    world.run(world.nowMs + 3000)
    expect(world.health).toBe('throttled')
    world.feed({ type: 'ordered', order: { what: 'poll' }, nowMs: world.nowMs })
    world.run(world.nowMs + 1000)
    expect(world.requests).toHaveLength(length)
  })

  it('is followed by the next at its planned time where the process was down then', () => {
    const items = burst('d', NIGHT + 6 * HOUR, 10 * HOUR, 300)
    const world = new World({ ...plan, ...plans.free, items, isShared: false })
    world.run(NIGHT + MINUTE)
    const lateMs: number[] = []
    while (world.nowMs < NIGHT + 24 * HOUR) {
      const { length } = world.polls
      while (world.polls.length === length) world.run(world.nowMs + MINUTE)
      const { atMs = 0, plannedMs = 0 } = world.polls.at(-1) ?? {}
      world.run(Math.max(world.nowMs + 1000, atMs + plannedMs - 5000))
      if (world.polls.length > length + 1) continue
      world.stop()
      world.nowMs = atMs + plannedMs + 5000
      world.start()
      while (world.polls.length === length + 1) world.run(world.nowMs + 1000)
      lateMs.push(Number(world.polls.at(-1)?.atMs) - atMs - plannedMs)
    }
    expect(lateMs.length).toBeGreaterThan(20)
    expect(Math.max(...lateMs)).toBeLessThan(10_000)
  })

  it('keeps the plan that was made with it, whatever has been learnt since: a restart puts no poll off', () => {
    const days = [0, 1, 2].flatMap((day) => burst(`d${day}`, NIGHT + (6 + 24 * day) * HOUR, 10 * HOUR, 300))
    const world = new World({ ...plan, ...plans.free, items: days, isShared: false })
    world.run(NIGHT + MINUTE)
    const factors: number[] = []
    while (world.nowMs < NIGHT + 72 * HOUR) {
      const { length } = world.polls
      while (world.polls.length === length) world.run(world.nowMs + MINUTE)
      world.run(world.nowMs + 5000)
      world.crash()
      const [before, after] = world.polls.slice(-2)
      factors.push((Number(after?.atMs) - Number(before?.atMs)) / Number(before?.plannedMs))
    }
    expect(factors.length).toBeGreaterThan(50)
    expect(Math.max(...factors)).toBeLessThan(1.1)
  })

  it('counts for a new leader that may not poll early: a page that was requested since then postpones no poll', () => {
    const dayMs = NIGHT + 7 * HOUR
    const world = new World({
      ...plans.free,
      seed: 2,
      startMs: dayMs - 20 * MINUTE,
      items: [...burst('old', dayMs - HOUR, 1, 1), ...burst('a', dayMs, 20_000, 160)],
      fails: ({ fromMs }) => (fromMs === undefined ? undefined : refusedPage),
    })
    world.run(dayMs + MINUTE)
    const factors: number[] = []
    while (factors.length < 20 && world.nowMs < dayMs + 10 * HOUR) {
      world.run(world.nowMs + 20_000)
      const { atMs, plannedMs } = world.polls.at(-1) ?? { atMs: 0, plannedMs: 0 }
      const pageMs = Number(world.requests.at(-1)?.atMs)
      if (pageMs < atMs + 0.2 * plannedMs || world.nowMs > atMs + 0.8 * plannedMs) continue
      world.crash()
      world.run(atMs + 3 * plannedMs)
      factors.push((Number(world.polls.find((poll) => poll.atMs > atMs)?.atMs) - atMs) / plannedMs)
    }
    expect(factors.length).toBeGreaterThan(3)
    expect(Math.max(...factors)).toBeLessThan(1.1)
  })
})
