/** Tests the daily reconciliation of the real poller against the sandbox, over sockets, in virtual time. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { MINUTE_MS } from '../../src/core/durations.ts'
import { createMetrics } from '../../src/obs/metrics.ts'
import { runWorld, type WorldPlan, type WorldRun } from '../support/worlds/sandbox-world.ts'
import { judgeWorld } from '../support/worlds/world-verdict.ts'

/** Runs until half an hour after the release window and some more: the daily reconciliation has ended by then. */
async function untilWalked(changes: Partial<WorldPlan>): Promise<{ run: WorldRun; broken: string[] }> {
  const plan: WorldPlan = {
    scenario: 'end-of-day',
    seed: 1,
    plan: 'advanced',
    weeklyQuota: 40_000,
    backfillMs: 0,
    clockOffMs: 0,
    faults: [],
    faultsUntilMs: 40 * MINUTE_MS,
    ends: [],
    marketMs: 5 * MINUTE_MS,
    ...changes,
  }
  const dataDir = mkdtempSync(join(tmpdir(), 'bridge-days-'))
  try {
    const run = await runWorld(plan, { dataDir, metrics: createMetrics({ version: 'test' }) })
    return { run, broken: judgeWorld(plan, run).broken }
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
}

it('the reconciliation of a day with an end-of-day item completes despite crashes and a wrong clock', async () => {
  const { run, broken } = await untilWalked({
    clockOffMs: -11 * MINUTE_MS,
    ends: [31.5, 32, 32.2].map((minutes) => ({ atMs: minutes * MINUTE_MS, how: 'crash' })),
  })
  expect(broken).toEqual([])
  const day = run.head.days.at(-1)
  expect(day).toMatchObject({ eodSeen: true, walk: { state: 'whole' } })
  const { polled = 0, filled = 0, swept = 0, backfilled = 0, amended = 0 } = day ?? {}
  expect(polled + filled + swept + backfilled).toBe(run.events.length)
  expect(amended).toBe(0)
  expect(
    run.lines.filter(
      ({ event, fields }) => event === 'page_scan.completed' && fields.kind === 'daily_reconciliation',
    ),
  ).toHaveLength(1)
})

it('the reconciliation of a day that meets upstream errors completes once they end', async () => {
  const { run, broken } = await untilWalked({
    faultsUntilMs: 50 * MINUTE_MS,
    faults: [{ atMs: 31 * MINUTE_MS, setting: { kind: 'status', status: 500, forMs: 5 * MINUTE_MS } }],
  })
  expect(broken).toEqual([])
  expect(run.head.days.at(-1)?.walk?.state).toBe('whole')
})

it('a day without an end-of-day item gets no reconciliation', async () => {
  const { run, broken } = await untilWalked({ scenario: 'summer-morning', faultsUntilMs: 0 })
  expect(broken).toEqual([])
  expect(run.head.days.at(-1)).toMatchObject({ eodSeen: false, walk: null })
})
