/**
 * Plays worlds whose upstream, clocks or quota break assumptions, alone and in pairs, on every plan, in several processes:
 * `npm run campaign -- --broken 50 --workers 2`. `--broken 1 --seed 7 --plan free` plays those of one seed on one plan,
 * `--about clocks` only those whose untrue assumption has that word, and `--log embedded,kafka` also does to real logs what
 * each world did to its simulated one; each process has a broker of its own. The worlds are
 * `test/support/worlds/broken/broken-world.ts`.
 */
import { resolve } from 'node:path'
import { type PlanName, planNames } from '../../src/core/plans.ts'
import { type BrokenVerdict, brokenCases } from '../support/worlds/broken/broken-world.ts'
import { type Naming, namings } from '../support/worlds/broken/verdict.ts'
import type { CaseOnLogs, VerdictOnLogs } from './broken-child.ts'
import { type RealLogName, type RealLogTally, withWorld } from './real-logs.ts'
import { playOnWorkers, type WorkerAnswer } from './workers.ts'

const CHILD = resolve(import.meta.dirname, 'broken-child.ts')

/** Sums over the worlds of one plan, and each broken promise with what plays its world again. */
export interface BrokenReport {
  worlds: number
  /** Contents that an answer could have shown, and what became of them. */
  listed: number
  held: number
  inOpenGaps: number
  /** Of the others, how the poller names them. */
  named: Record<Naming, number>
  polls: number
  /** The longest of all worlds, minutes: between polls, without a good poll, from visible to held or in a gap. */
  longestPause: number
  longestBlind: number
  longestUnheld: number
  failed: string[]
}

/** What is played: so many seeds from the first one on, on one plan or all. */
export interface BrokenRuns {
  seeds: number
  firstSeed: number
  only: string | undefined
  /** Only worlds that break an assumption whose name has this in it. */
  about: string | undefined
  workers: number
  /** The real logs that each world is also played on, and the release of Kafka there, e.g. `4`. */
  logs: readonly RealLogName[]
  kafka: string
}

/** What came of the worlds by plan, and of their operations by real log. */
export interface BrokenReports {
  logs: Partial<Record<RealLogName, RealLogTally>>
  plans: Partial<Record<PlanName, BrokenReport>>
}

/** Plays those worlds, and then on those logs. `notify` gets each broken promise at once. */
export async function brokenRuns(
  { seeds, firstSeed, only, about = '', workers, logs, kafka }: BrokenRuns,
  notify: (text: string) => void,
): Promise<BrokenReports> {
  const reports: BrokenReports = { logs: {}, plans: {} }
  // The largest plans poll most: they begin, so that no process is left with them.
  const chosen = planNames.filter((name) => only === undefined || name === only).toReversed()
  const cases = chosen
    .flatMap((plan) =>
      Array.from({ length: seeds }, (_, index) => brokenCases(plan, firstSeed + index)).flat(),
    )
    .filter(({ broken }) => broken.some((name) => name.includes(about)))
    .map((world): CaseOnLogs => ({ world, logs, kafka }))
  await playOnWorkers<CaseOnLogs, VerdictOnLogs>({ child: CHILD, workers }, cases, ({ world }, answer) => {
    const { plan, seed } = world
    const report = reports.plans[plan] ?? emptyReport()
    reports.plans[plan] = report
    const broken = brokenIn(answer)
    if ('played' in answer) {
      count(report, answer.played.verdict)
      for (const one of answer.played.onLogs) reports.logs[one.log] = withWorld(reports.logs[one.log], one)
    }
    if (broken.length === 0) return
    const text = `${plan}, seed ${seed}, untrue: ${world.broken.join(' + ')}: ${broken.join('; ')}`
    report.failed.push(text)
    notify(text)
  })
  return reports
}

/** The promises that a world broke, and where a real log differs; a sentence each. */
function brokenIn(answer: WorkerAnswer<VerdictOnLogs>): string[] {
  if ('failure' in answer) return [answer.failure]
  const { verdict, onLogs } = answer.played
  const differences = onLogs
    .filter(({ difference }) => difference !== null)
    .map(({ log, difference }) => `on the log ${log}: ${difference}`)
  return [...verdict.broken, ...differences]
}

function count(report: BrokenReport, verdict: BrokenVerdict): void {
  report.worlds += 1
  for (const name of ['listed', 'held', 'inOpenGaps', 'polls'] as const) report[name] += verdict[name]
  for (const name of namings) report.named[name] += verdict.named[name]
  report.longestPause = Math.max(report.longestPause, minutes(verdict.longestPauseMs))
  report.longestBlind = Math.max(report.longestBlind, minutes(verdict.longestBlindMs))
  report.longestUnheld = Math.max(report.longestUnheld, minutes(verdict.longestUnheldMs))
}

function emptyReport(): BrokenReport {
  const named = Object.fromEntries(namings.map((name) => [name, 0])) as Record<Naming, number>
  return {
    ...{ worlds: 0, listed: 0, held: 0, inOpenGaps: 0, named, polls: 0 },
    ...{ longestPause: 0, longestBlind: 0, longestUnheld: 0, failed: [] },
  }
}

function minutes(ms: number): number {
  return Math.round(ms / 6_000) / 10
}
