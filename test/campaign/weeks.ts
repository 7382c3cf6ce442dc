/**
 * Simulates many weeks of quota spending under faults and sums the results: `npm run campaign -- --weeks 10000`. The
 * simulation is `test/support/worlds/governed-weeks.ts`; each run covers five weeks from its number as seed, a fourth
 * of them without faults.
 */
import { type GovernedWeeks, playWeeks } from '../support/worlds/governed-weeks.ts'

const WEEKS_A_RUN = 5

/** Sums over all runs, maxima where the name ends in `Most`, and the runs that broke a promise. */
export interface WeeksReport extends GovernedWeeks {
  runs: number
  /** In runs without faults: units that only one of the two counts has. */
  calmUnitsOver: number
  failed: string[]
}

/** Plays this many weeks, rounded up to whole runs. */
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

/** A crash may leave at most one unit on our count alone: that of the request in flight. */
function isBroken({ throttled, quotaRefused, below, unitsOver, kills, usedMost }: GovernedWeeks): boolean {
  return throttled + quotaRefused + below > 0 || unitsOver < 0 || unitsOver > kills || usedMost > 1
}
