/** Scheduled re-scans find items that arrived behind the cursor outside of bursts, within the quota of the plan. */
import { describe, expect, it } from 'vitest'
import { plans } from '../../../src/core/plans.ts'
import { rescansOf } from '../../../src/governor/schedule/rescans.ts'
import { World, type WorldOptions } from '../../support/worlds/ingest-world.ts'
import { burst, type WorldItem } from '../../support/worlds/world-upstream.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const TEN = Date.parse('2026-01-06T10:00:00Z')

const { pageSize, weeklyQuota } = plans.advanced
const asSold: Omit<WorldOptions, 'seed' | 'items'> = { pageSize, weeklyQuota, startMs: TEN - HOUR }

/** An item a minute for half an hour; one of them, by default that of 10:10, becomes visible later by this much. */
function halfHour(lateMs: number, index = 10): WorldItem[] {
  const items = burst('calm', TEN, 30 * MINUTE, 30)
  const late = items[index]
  if (late !== undefined) late.visibleMs += lateMs
  return items
}

/** Requests of scheduled re-scans. Daily reconciliations have the purpose `sweep` too, but their queries have an end. */
function rescanRequests(world: World): number {
  return world.requests.filter(({ purpose, query }) => purpose === 'sweep' && query.toMs === undefined).length
}

describe('scheduled re-scans', () => {
  it('find items that arrived half an hour late', () => {
    const world = new World({ ...asSold, seed: 1, items: halfHour(30 * MINUTE) })
    world.run(TEN + 45 * MINUTE)
    expect(world.missing().map((item) => item.guid)).toEqual(['calm-00010'])
    world.run(TEN + 3 * HOUR)
    expect(world.missing()).toEqual([])
    expect(world.twice()).toEqual([])
  })

  it('find items that arrived after the previous re-scan and are older than the day’s last item', () => {
    const world = new World({ ...asSold, seed: 1, items: halfHour(40 * MINUTE, 28) })
    world.run(TEN + 65 * MINUTE)
    expect(rescanRequests(world)).toBe(1)
    world.run(TEN + 3 * HOUR)
    expect(world.missing()).toEqual([])
  })

  it('stop when nothing has arrived for a while', () => {
    const world = new World({ ...asSold, seed: 2, items: halfHour(0) })
    world.run(TEN + 4 * HOUR)
    const sent = rescanRequests(world)
    expect(sent).toBeGreaterThan(0)
    world.run(TEN + 24 * HOUR)
    expect(rescanRequests(world)).toBe(sent)
  })

  it('do not run where the plan does not allow them', () => {
    const world = new World({ ...asSold, ...plans.free, seed: 3, items: halfHour(30 * MINUTE) })
    world.run(TEN + 24 * HOUR)
    expect(rescanRequests(world)).toBe(0)
    expect(world.missing().map((item) => item.guid)).toEqual(['calm-00010'])
  })

  it('leave an open gap over their range when upstream does not respond, and continue after it', () => {
    const world = new World({
      ...asSold,
      seed: 4,
      items: halfHour(25 * MINUTE),
      fails: (query) =>
        query.fromMs !== undefined && world.nowMs < TEN + 5 * HOUR
          ? { kind: 'server_error', status: 500 }
          : undefined,
    })
    world.run(TEN + 4 * HOUR)
    const [gap] = world.openGaps
    expect(Date.parse(gap?.from ?? '')).toBeLessThan(TEN)
    expect(Date.parse(gap?.to ?? '')).toBeGreaterThan(TEN + 10 * MINUTE)
    world.run(TEN + 24 * HOUR)
    expect(world.openGaps).toEqual([])
    expect(world.missing()).toEqual([])
  })

  it('whose range became a gap are tried again within minutes, not after an hour', () => {
    const isFailing = (): boolean => world.openGaps.length === 0
    const world = new World({
      ...asSold,
      seed: 4,
      items: halfHour(25 * MINUTE),
      fails: (query) =>
        query.fromMs !== undefined && isFailing() ? { kind: 'server_error', status: 500 } : undefined,
    })
    let nowMs = TEN
    for (; isFailing() && nowMs < TEN + 6 * HOUR; nowMs += SECOND) world.run(nowMs)
    expect(world.openGaps).toHaveLength(1)
    world.run(nowMs + 4.5 * MINUTE)
    expect(world.openGaps).toEqual([])
    expect(world.missing()).toEqual([])
  })

  it('run on time even when the machine’s clock is set back by a day', () => {
    const world = new World({ ...asSold, seed: 5, items: halfHour(30 * MINUTE) })
    world.run(TEN + 20 * MINUTE)
    world.options.clockOffMs = -24 * HOUR
    world.run(TEN + 3 * HOUR)
    expect(world.missing()).toEqual([])
  })

  it('stay pending across a restart', () => {
    const world = new World({
      ...asSold,
      seed: 6,
      crashes: 0.2,
      faultsUntilMs: TEN + HOUR,
      items: halfHour(30 * MINUTE),
    })
    world.run(TEN + 4 * HOUR)
    expect(world.missing()).toEqual([])
    expect(world.twice()).toEqual([])
  })

  it('stay within their share of the quota in a week of busy days', () => {
    const items = Array.from({ length: 7 }, (_, day) =>
      burst(`day${day}`, TEN - 3 * HOUR + day * 24 * HOUR, 12 * HOUR, 1900),
    ).flat()
    const world = new World({ ...asSold, seed: 7, startMs: TEN - 4 * HOUR, items })
    world.run(TEN + 7 * 24 * HOUR)
    const share = rescansOf(plans.advanced)?.share ?? 0
    // Seven days of news, where a week has five.
    expect(rescanRequests(world)).toBeLessThanOrEqual((weeklyQuota * share * 7) / 5)
    expect(world.missing()).toEqual([])
  })
})
