/**
 * Plays worlds whose upstream breaks assumptions, alone and in pairs, on every plan: `npm run campaign -- --broken 50`.
 * `--broken 1 --seed 7 --plan free` plays those of one seed on one plan. The worlds are `test/support/worlds/broken/broken-world.ts`.
 */
import { type PlanName, planNames } from '../../src/core/plans.ts'
import { brokenCases, playBroken } from '../support/worlds/broken/broken-world.ts'

/** Sums over the worlds of one plan, and each broken promise with what plays its world again. */
export interface BrokenReport {
  worlds: number
  listed: number
  held: number
  named: number
  polls: number
  failed: string[]
}

/** Plays the worlds of that many seeds. `notify` gets each broken promise at once. */
export function brokenRuns(
  { seeds, firstSeed, only }: { seeds: number; firstSeed: number; only: string | undefined },
  notify: (text: string) => void,
): Partial<Record<PlanName, BrokenReport>> {
  const reports: Partial<Record<PlanName, BrokenReport>> = {}
  for (const plan of planNames.filter((name) => only === undefined || name === only)) {
    const report: BrokenReport = { worlds: 0, listed: 0, held: 0, named: 0, polls: 0, failed: [] }
    for (let seed = firstSeed; seed < firstSeed + seeds; seed++) {
      for (const one of brokenCases(plan, seed)) {
        const { broken, listed, held, named, polls } = playBroken(one)
        report.worlds += 1
        report.listed += listed
        report.held += held
        report.named += named
        report.polls += polls
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
