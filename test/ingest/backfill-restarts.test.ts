/**
 * A backfill goes on where it was, after a restart and where the quota did not pay for more: no page is read again. One that
 * fails becomes a gap, which readers see.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/core/durations.ts'
import { nextBackfillDay } from '../../src/ingest/machine/first-start.ts'
import { createMetrics } from '../../src/obs/metrics.ts'
import { World } from '../support/worlds/ingest-world.ts'
import { runWorld, type TimedEnd, type WorldPlan } from '../support/worlds/sandbox-world.ts'
import { burst } from '../support/worlds/world-upstream.ts'
import { judgeWorld } from '../support/worlds/world-verdict.ts'

/** What is broken, and the pages of each scan of the backfill that ended, after these ends of the process. */
async function backfillOver(ends: TimedEnd[]): Promise<{ broken: string[]; pages: number[] }> {
  const plan: WorldPlan = {
    ...{ scenario: 'normal', seed: 3, plan: 'free', weeklyQuota: 600_000, backfillMs: DAY_MS },
    ...{ clockOffMs: 0, faults: [], faultsUntilMs: 0, ends, marketMs: 3 * MINUTE_MS },
  }
  const dataDir = mkdtempSync(join(tmpdir(), 'bridge-backfill-'))
  try {
    const run = await runWorld(plan, { dataDir, metrics: createMetrics({ version: 'test' }) })
    const pages = run.lines
      .filter(({ event, fields }) => event === 'page_scan.completed' && fields.kind === 'backfill')
      .map(({ fields }) => Number(fields.pages))
    return { broken: judgeWorld(plan, run).broken, pages }
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
}

it('a stop in the middle of a day of the backfill costs no page, and no item is lost or repeated', async () => {
  const whole = await backfillOver([])
  const stops = [8, 16, 24].map((seconds) => ({ atMs: seconds * SECOND_MS, how: 'stop' as const }))
  const stopped = await backfillOver(stops)
  expect([whole.broken, stopped.broken]).toEqual([[], []])
  // 38 and 21 when this was written: what the three processes before the last one had read is not read again.
  const [longest, last] = [Math.max(...whole.pages), Math.max(...stopped.pages)]
  expect(longest).toBeGreaterThan(30)
  expect(last).toBeLessThan(longest * 0.75)
})

it('a backfill that is dearer than it seemed goes on, as a gap, with the page that it could not pay', () => {
  const startMs = Date.parse('2026-01-07T06:00:00Z')
  // 60 pages where a usual night has one; half of the quota pays for 40.
  const items = burst('old', startMs - 5 * HOUR_MS, 4 * HOUR_MS, 2990)
  const options = { pageSize: 50, weeklyQuota: 80, backfillMs: 6 * HOUR_MS, seed: 7, startMs, items }
  const world = new World(options)
  world.run(startMs + 13 * DAY_MS)
  const gap = world.reports.find(({ fields }) => fields.kind === 'gap_retry')
  expect(gap?.event).toBe('page_scan.completed')
  const lastPageMs = world.requests.findLast(({ purpose }) => purpose === 'backfill')?.atMs ?? Number.NaN
  const opened = world.reports.find(({ event }) => event === 'gap.opened')
  expect((opened?.atMs ?? Number.NaN) - lastPageMs).toBeLessThan(SECOND_MS)
  expect(world.missing()).toEqual([])
  // One more for the range before midnight.
  expect(world.requests.filter(({ purpose }) => purpose !== 'poll').length).toBe(61)
})

it.each([
  ['free', { pageSize: 50, weeklyQuota: 350, ratePerSecond: 1 }, 20],
  ['ultimate', { pageSize: 200, weeklyQuota: 75_000, ratePerSecond: 30 }, 5],
])('a first start whose page scans fail opens a gap within minutes, on %s', (_plan, limits, minutes) => {
  const startMs = Date.parse('2026-01-07T09:00:00Z')
  const items = burst('old', startMs - 5 * HOUR_MS, 4 * HOUR_MS, 20)
  let isHealed = false
  const world = new World({
    ...{ ...limits, backfillMs: DAY_MS, seed: 7, startMs, items },
    fails: ({ fromMs }) =>
      fromMs === undefined || isHealed ? undefined : { kind: 'server_error', status: 500 },
  })
  world.run(startMs + minutes * MINUTE_MS)
  const said = world.reports.filter(({ event }) => event === 'gap.opened').map(({ fields }) => fields.gapId)
  expect(said).toEqual(world.openGaps.map(({ id }) => id))
  expect(said).toHaveLength(1)
  isHealed = true
  world.run(startMs + 6 * HOUR_MS)
  expect([world.missing(), world.twice(), world.openGaps]).toEqual([[], [], []])
})

it('the page of another day, which an older version may have left, is not used', () => {
  const next = { fromMs: DAY_MS, pageCursor: 'page' }
  const [day, nextDay] = [DAY_MS, 2 * DAY_MS]
  expect(nextBackfillDay({ doneToMs: day, untilMs: 9 * DAY_MS, next })).toMatchObject({ pageCursor: 'page' })
  expect(nextBackfillDay({ doneToMs: nextDay, untilMs: 9 * DAY_MS, next })).toMatchObject({
    pageCursor: null,
  })
})
