/**
 * Plays worlds whose upstream breaks assumptions, alone and in pairs, on every plan: `npm run campaign -- --broken 50`.
 * `--broken 1 --seed 7 --plan free` plays those of one seed on one plan, and `--log embedded,kafka` also does to real logs
 * what each world did to its simulated one. The worlds are `test/support/worlds/broken/broken-world.ts`.
 */
import { type PlanName, planNames } from '../../src/core/plans.ts'
import { brokenCases } from '../support/worlds/broken/broken-world.ts'
import { recordBroken } from '../support/worlds/real-log/recorded-world.ts'
import type { RealLogs } from './real-logs.ts'

/** Sums over the worlds of one plan, and each broken promise with what plays its world again. */
export interface BrokenReport {
  worlds: number
  listed: number
  held: number
  named: number
  polls: number
  failed: string[]
}

/** Plays the worlds of that many seeds, and then on those logs. `notify` gets each broken promise at once. */
export async function brokenRuns(
  { seeds, firstSeed, only }: { seeds: number; firstSeed: number; only: string | undefined },
  logs: RealLogs,
  notify: (text: string) => void,
): Promise<Partial<Record<PlanName, BrokenReport>>> {
  const reports: Partial<Record<PlanName, BrokenReport>> = {}
  for (const plan of planNames.filter((name) => only === undefined || name === only)) {
    const report: BrokenReport = { worlds: 0, listed: 0, held: 0, named: 0, polls: 0, failed: [] }
    for (let seed = firstSeed; seed < firstSeed + seeds; seed++) {
      for (const one of brokenCases(plan, seed)) {
        const { verdict, world } = recordBroken(one)
        report.worlds += 1
        report.listed += verdict.listed
        report.held += verdict.held
        report.named += verdict.named
        report.polls += verdict.polls
        const broken = [...verdict.broken, ...(await logs.differences(world))]
        if (broken.length === 0) continue
        const text = `${plan}, seed ${seed}, untrue: ${one.broken.join(' + ')}: ${broken.join('; ')}`
        report.failed.push(text)
        notify(text)
      }
    }
    reports[plan] = report
  }
  return reports
}
