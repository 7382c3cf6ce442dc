/**
 * Many weeks of spending under faults: `npm run campaign -- --weeks 10000`. Owns the runs and their sums. The world is
 * `test/support/worlds/governed-weeks.ts`; each run comes from its number as seed, five weeks each, a fourth of them calm.
 */
import { type GovernedWeeks, playWeeks } from '../support/worlds/governed-weeks.ts'

const WEEKS_A_RUN = 5

/** Sums over all runs, the most where a name says so, and the runs in which a promise was broken. */
export interface WeeksReport extends GovernedWeeks {
  runs: number
  /** Of the runs without faults: units that are not on both counts. */
  calmUnitsOver: number
  failed: string[]
}

/** Plays so many weeks, rounded up to whole runs. */
export function weekRuns(weeks: number): WeeksReport {
  const report: WeeksReport = {
    ...{ runs: 0, weeks: 0, requests: 0, kills: 0, unsent: 0, unitsOver: 0, calmUnitsOver: 0 },
    ...{ throttled: 0, quotaRefused: 0, below: 0, belowMost: 0, usedMost: 0, failed: [] },
  }
  for (let seed = 1; report.weeks < weeks; seed++) {
    const isCalm = seed % 4 === 0
    const run = playWeeks(seed, WEEKS_A_RUN, !isCalm)
    report.runs += 1
    for (const name of ['weeks', 'requests', 'kills', 'unsent', 'unitsOver'] as const)
      report[name] += run[name]
    for (const name of ['throttled', 'quotaRefused', 'below'] as const) report[name] += run[name]
    for (const name of ['belowMost', 'usedMost'] as const) report[name] = Math.max(report[name], run[name])
    if (isCalm) report.calmUnitsOver += Math.abs(run.unitsOver)
    if (isBroken(run)) report.failed.push(`seed ${seed}: ${JSON.stringify(run)}`)
  }
  return report
}

/** At most one unit a death may be on our count alone: that of the request under way. */
function isBroken({ throttled, quotaRefused, below, unitsOver, kills, usedMost }: GovernedWeeks): boolean {
  return throttled + quotaRefused + below > 0 || unitsOver < 0 || unitsOver > kills || usedMost > 1
}
