/**
 * Kills a bridge with kill -9 at random moments during a burst, restarts it each time, and counts lost and repeated
 * items. Used by `npm run campaign` and, with one seed, by the end-to-end tests.
 */
import { seededChance } from '../../src/core/chance.ts'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { startSandbox } from '../../src/sandbox/sandbox.ts'
import { bridgeEnv, startBridge, temporaryDirectory } from '../support/bridge-process.ts'
import type { ApiEvent } from '../support/http/api-client.ts'
import { eventually, getJson, pullAll } from '../support/http/api-client.ts'
import { compare } from '../support/worlds/completeness.ts'

/** Longest time between two kills, ms: the sum over twenty covers the flood's minute. */
const LONGEST_LIFE_MS = 2500

export interface KillRun {
  seed: number
  kills: number
  shown: number
  events: number
  missing: number
  twice: number
  holes: number
  gapsLeft: number
  unitsByUpstream: number
  unitsByLedger: number
  refused: number
}

/** One run of the flood through `kills` kills; the last process runs until everything is in the log. */
export async function killRun(seed: number, kills: number): Promise<KillRun> {
  const chance = seededChance(seed)
  using directory = temporaryDirectory()
  const quota = 1_000_000
  const sandbox = await startSandbox(
    { scenario: 'flood', plan: 'advanced', weeklyQuota: quota, seed },
    { clock: systemClock },
  )
  try {
    // A slow machine may kill every bridge before its first poll ends; the last one must then read the hour back.
    const env = bridgeEnv(sandbox, directory.path, {
      BRIDGE_UPSTREAM_PLAN: 'advanced',
      BRIDGE_BACKFILL: 'PT1H',
    })
    for (let kill = 0; kill < kills; kill++) {
      const bridge = await startBridge(env)
      await new Promise((resolve) => setTimeout(resolve, chance.between(0, LONGEST_LIFE_MS)))
      await bridge.stop('SIGKILL')
    }
    const bridge = await startBridge(env)
    const status = await eventually(
      async () => {
        // Read before the status: a poll between the two would make upstream count more than the ledger.
        const usage = sandbox.usage()
        const events = await pullAll(bridge.ready.http)
        return { usage, events, ...(await getJson<Status>(`${bridge.ready.http}/v1/status`)) }
      },
      // Read the end first: the market's last items must be among the events that were read.
      ({ events, gaps }) => sandbox.finished() && gaps.length === 0 && isWhole(sandbox.truth().items, events),
      300_000,
    )
    await bridge.stop()
    const truth = sandbox.truth().items
    const { missing, twice, holes } = compare(truth, status.events)
    const { usage } = status
    return {
      seed,
      kills,
      shown: truth.length,
      events: status.events.length,
      missing: missing.length,
      twice: twice.length,
      holes: holes.length,
      gapsLeft: status.gaps.length,
      unitsByUpstream: usage.units,
      unitsByLedger: status.quota.used,
      refused: usage.throttled + usage.quotaRefused,
    }
  } finally {
    await sandbox.close()
  }
}

interface Status {
  gaps: unknown[]
  quota: { used: number }
}

function isWhole(truth: Parameters<typeof compare>[0], events: ApiEvent[]): boolean {
  return compare(truth, events).missing.length === 0
}

/** Several runs, one seed each, with what failed. */
export async function killRuns(seeds: number): Promise<{ runs: KillRun[]; failed: string[] }> {
  const runs: KillRun[] = []
  for (let seed = 1; seed <= seeds; seed++) runs.push(await killRun(seed, 20))
  const failed = runs.filter(
    (run) => run.missing + run.twice + run.holes + run.refused > 0 || run.unitsByLedger < run.unitsByUpstream,
  )
  return { runs, failed: failed.map((run) => `seed ${run.seed}`) }
}
