/**
 * Plays the worlds of many seeds in several processes: the real sandbox against the real poller in virtual time. It
 * counts results by scenario and by fault. A failure report has the arguments that replay its world alone.
 */
import { resolve } from 'node:path'
import type { PlayedWorld } from '../support/worlds/play-world.ts'
import type { WorldCase } from '../support/worlds/world-cases.ts'
import { BY_DESIGN, type Excuse, type WorldCounts } from '../support/worlds/world-verdict.ts'
import { playOnWorkers } from './workers.ts'

const CHILD = resolve(import.meta.dirname, 'worlds-child.ts')

/** Sums over worlds. */
export interface WorldTally extends WorldCounts {
  runs: number
  failed: number
  virtualMinutes: number
  seconds: number
}

/** The result of all worlds. */
export interface WorldReport extends WorldTally {
  byDesign: typeof BY_DESIGN
  byScenario: Record<string, WorldTally>
  byFault: Record<string, WorldTally>
  failures: WorldFailure[]
}

/** A world in which a promise was broken, with the command that replays it alone. */
export interface WorldFailure {
  again: string
  broken: string[]
}

/** Plays every case on this many processes. Calls `notify` for each failure when it happens. */
export async function playAll(
  cases: readonly WorldCase[],
  workers: number,
  notify: (failure: WorldFailure) => void,
): Promise<WorldReport> {
  const report: WorldReport = {
    ...emptyTally(),
    byDesign: BY_DESIGN,
    byScenario: {},
    byFault: {},
    failures: [],
  }
  await playOnWorkers<WorldCase, PlayedWorld>({ child: CHILD, workers }, cases, (one, answer) => {
    if ('played' in answer) count(report, answer.played)
    const broken = 'played' in answer ? answer.played.verdict.broken : [answer.failure]
    if (broken.length === 0) return
    const failure = { again: commandFor(one), broken }
    report.failures.push(failure)
    notify(failure)
  })
  return report
}

function count(report: WorldReport, played: PlayedWorld): void {
  const { case: worldCase } = played
  add(report, played)
  add(memberOf(report.byScenario, worldCase.scenario), played)
  for (const fault of new Set(worldCase.faults)) add(memberOf(report.byFault, fault), played)
}

function memberOf(tallies: Record<string, WorldTally>, name: string): WorldTally {
  tallies[name] ??= emptyTally()
  return tallies[name]
}

function add(tally: WorldTally, { verdict, virtualMinutes, seconds }: PlayedWorld): void {
  tally.runs += 1
  tally.failed += verdict.broken.length > 0 ? 1 : 0
  for (const name of COUNTS) tally[name] += verdict[name]
  for (const excuse of Object.keys(BY_DESIGN) as Excuse[]) tally.excused[excuse] += verdict.excused[excuse]
  tally.virtualMinutes = rounded(tally.virtualMinutes + virtualMinutes)
  tally.seconds = rounded(tally.seconds + seconds)
}

/** Counters that are added up unchanged. */
const COUNTS = [
  'shown',
  'published',
  'rejected',
  'gapsOpened',
  'gapsLeft',
  'inOpenGaps',
  'faultsMet',
  'requests',
  'unitsOver',
] as const satisfies (keyof WorldTally)[]

function emptyTally(): WorldTally {
  const counts = Object.fromEntries(COUNTS.map((name) => [name, 0])) as Record<
    (typeof COUNTS)[number],
    number
  >
  const excused = Object.fromEntries(Object.keys(BY_DESIGN).map((name) => [name, 0])) as Record<
    Excuse,
    number
  >
  return { runs: 0, failed: 0, ...counts, excused, virtualMinutes: 0, seconds: 0 }
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10
}

/** The command that plays this world alone. */
function commandFor({ scenario, faults, seed }: WorldCase): string {
  const fault = faults.length > 0 ? ` --fault ${faults.join(',')}` : ''
  return `npm run campaign -- --scenario ${scenario}${fault} --seed ${seed}`
}
