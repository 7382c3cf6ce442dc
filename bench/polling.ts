/**
 * Simulates weeks of polling on every plan and three traces: `npm run bench -- polling`. Yardsticks with as many polls
 * are even polling, the √ rule, the best timetable for what is expected, and the one that knows every item. It uses
 * neither network nor real time.
 */
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { createCalendar } from '../src/core/calendar/calendar.ts'
import { DAY_MS, HOUR_MS, WEEK_MS } from '../src/core/durations.ts'
import { plans } from '../src/core/plans.ts'
import { type Pacing, plannedPacing } from '../src/governor/schedule/pacing.ts'
import { placeOf, type Simulated, simulate } from './support/polling-simulation.ts'
import { fileTrace, modelTrace, sandboxTrace, shifted, type Trace } from './support/polling-traces.ts'
import {
  bestOf,
  delaysOf,
  evenPolls,
  evenPollsInHours,
  expectedArrivals,
  expectedMean,
  foresightMean,
  foundBy,
  latenessOf,
  rootPolls,
  type TypicalDays,
  timesOptimum,
  typicalDays,
} from './support/polling-yardsticks.ts'

/** Weeks that are measured by default, after one week of learning. */
const WEEKS = 2
/** Weeks that make up the expected days: with fewer, a timetable would fit their random noise. */
const EXPECTED_WEEKS = 60
const NAMES = ['free', 'lite', 'advanced', 'ultimate'] as const
const GOAL_OPTIMUM = 1.1
const GOAL_EVEN = 0.75
const GOAL_BURSTS = 0.05
const GOAL_USED = 0.98

const calendar = createCalendar()
const START_MS = calendar.momentMs('2026-09-07', 0)

type PlanName = (typeof NAMES)[number]

/** A trace, its mean days, and its result on each plan with a rolling week. */
interface Judged {
  trace: Trace
  days: TypicalDays
  came: Record<PlanName, Simulated>
}

interface Row {
  cells: (string | number)[]
  ratio: number
}

/** The lines to print; with the path of a CSV file only its trace, else the three of the issue over so many weeks. */
export async function pollingTable(file?: string, weeks = WEEKS): Promise<string[]> {
  const judged = file === undefined ? builtIn(weeks) : [ofFile(file)]
  const head = [
    'trace',
    'plan',
    'polls/wk',
    'mean s',
    'p99 s',
    'foresight s',
    'expected s',
    'best s',
    'ratio',
    '√ s',
    'even s',
  ]
  const tail = ['bursts over', 'filled late', 'never', 'units/wk, most']
  const rows = judged.flatMap((one) => NAMES.map((name) => rowOf(one, name)))
  const worst = Math.max(...rows.map(({ ratio }) => ratio))
  return [
    ...judged.slice(0, 1).map(daysLine),
    ...table([[...head, ...tail], ...rows.map(({ cells }) => cells)]),
    `over the best timetable: ${worst.toFixed(2)} at most, goal at most ${GOAL_OPTIMUM}: ${verdict(worst <= GOAL_OPTIMUM)}`,
    ...judged.map(unpaidLine),
    ...(file === undefined ? goalLines(judged, weeks) : []),
  ]
}

function builtIn(weeks: number): Judged[] {
  const days = (1 + weeks) * 7
  const model = modelTrace(1, START_MS, days)
  const expected = modelTrace(5, START_MS, EXPECTED_WEEKS * 7)
  const sandboxDays = typicalDays(sandboxTrace(6, START_MS, EXPECTED_WEEKS * 7), calendar)
  return [
    judgedOf(model, typicalDays(expected, calendar)),
    judgedOf(sandboxTrace(2, START_MS, days), sandboxDays),
    judgedOf(
      shifted(model, 'shifted', HOUR_MS),
      typicalDays(shifted(expected, 'shifted', HOUR_MS), calendar),
    ),
  ]
}

function ofFile(path: string): Judged {
  const trace = fileTrace(basename(path), readFileSync(path, 'utf8'))
  return judgedOf(trace, typicalDays(trace, calendar))
}

function judgedOf(trace: Trace, days: TypicalDays): Judged {
  return { trace, days, came: simulatedPlans(trace) }
}

/** The range after the week of learning; a trace of a week or less is judged as a whole. */
function judgedRange({ startMs, endMs }: Trace): { fromMs: number; toMs: number } {
  return { fromMs: endMs - startMs > WEEK_MS ? startMs + WEEK_MS : startMs, toMs: endMs }
}

function simulated(trace: Trace, name: PlanName, fixedReset = false): Simulated {
  const quotaReset = fixedReset ? { minutesAfterMonday: 0 } : ('rolling' as const)
  const plan = { ...plans[name], quotaReset }
  return simulate(trace, plan, plannedPacing(plan, calendar), calendar)
}

/** Each plan on a rolling week. */
function simulatedPlans(trace: Trace): Record<PlanName, Simulated> {
  return {
    free: simulated(trace, 'free'),
    lite: simulated(trace, 'lite'),
    advanced: simulated(trace, 'advanced'),
    ultimate: simulated(trace, 'ultimate'),
  }
}

function daysLine({ trace }: Judged): string {
  const { fromMs, toMs } = judgedRange(trace)
  const [learnt, days] = [fromMs - trace.startMs, toMs - fromMs].map((ms) => Math.round(ms / DAY_MS))
  return `${days} days judged after ${learnt} of learning; delay from visible to polled, seconds`
}

function rowOf({ trace, days, came }: Judged, name: PlanName): Row {
  const { polls, foundMs, lateFills, unfilled, spent } = came[name]
  const range = judgedRange(trace)
  const { fromMs, toMs } = range
  const judged = polls.filter(({ atMs }) => atMs >= fromMs)
  const pollsMs = judged.map(({ atMs }) => atMs)
  const aWeek = (judged.length * WEEK_MS) / (toMs - fromMs)
  const own = delaysOf(trace, foundMs, range)
  const foresight = foresightMean(trace, foundMs, judged.length, range)
  timesOptimum(own.mean, foresight)
  const ahead = expectedArrivals(days, calendar, range)
  const best = bestOf(ahead, judged.length).mean
  const expected = expectedMean(ahead, pollsMs) + latenessOf(trace, foundMs, pollsMs, range)
  const ratio = timesOptimum(expected, best)
  const cells = [
    trace.name,
    name,
    Math.round(aWeek),
    own.mean.toFixed(1),
    own.p99.toFixed(0),
    foresight.toFixed(1),
    expected.toFixed(1),
    best.toFixed(1),
    ratio.toFixed(3),
    expectedMean(ahead, rootPolls(calendar, fromMs, toMs, aWeek)).toFixed(1),
    expectedMean(ahead, evenPolls(fromMs, toMs, aWeek)).toFixed(1),
    `${(burstsOver(trace, judged, plans[name].pageSize, fromMs) * 100).toFixed(0)} %`,
    lateFills,
    unfilled,
    mostInAWeek(spent),
  ]
  return { cells, ratio }
}

/** What the best timetable of as many polls would spend on the plan free if all that overflows were filled. */
function unpaidLine({ trace, days, came }: Judged): string {
  const { fromMs, toMs } = judgedRange(trace)
  const aWeek = (came.free.polls.filter(({ atMs }) => atMs >= fromMs).length * WEEK_MS) / (toMs - fromMs)
  const range = { fromMs: trace.startMs, toMs }
  const polls = Math.round((aWeek * (toMs - trace.startMs)) / WEEK_MS)
  const { spent } = followed(trace, bestOf(expectedArrivals(days, calendar, range), polls).pollsMs)
  const judged = spent.filter(({ atMs }) => atMs >= fromMs).reduce((sum, { units }) => sum + units, 0)
  const units = (judged * WEEK_MS) / (toMs - fromMs)
  return `${trace.name}, free: the best timetable and its fills would take ${units.toFixed(0)} units a week, ${mostInAWeek(spent)} in the dearest seven days, of ${plans.free.weeklyQuota}`
}

/** Polls at these moments on the plan free, every overflow filled, whatever the quota. */
function followed(trace: Trace, pollsMs: readonly number[]): Simulated {
  const plan = { ...plans.free, quotaReset: 'rolling' as const }
  const nextMs = (nowMs: number): number => pollsMs[placeOf(pollsMs, nowMs + 1)] ?? trace.endMs
  const pacing: Pacing = {
    ...plannedPacing(plan, calendar),
    mayRequest: () => true,
    mayFill: () => true,
    plan: ({ nowMs }) => ({ intervalMs: nextMs(nowMs) - nowMs, pollsUntilReset: 0, wantedUntilReset: 0 }),
  }
  return simulate(trace, plan, pacing, calendar)
}

function goalLines(judged: readonly Judged[], weeks: number): string[] {
  const lines: string[] = []
  for (const { trace, came } of judged.slice(0, 2)) {
    const { polls } = came.advanced
    const fromMs = trace.startMs + WEEK_MS
    const range = { fromMs, toMs: trace.endMs }
    const own = polls.filter(({ atMs }) => atMs >= fromMs)
    const aWeek = own.length / weeks
    const isOpen = (ms: number): boolean => {
      const window = calendar.releaseWindow(calendar.londonDate(ms))
      return window !== null && ms >= window.fromMs && ms < window.toMs
    }
    const even = evenPollsInHours(calendar, fromMs, trace.endMs, aWeek)
    const share =
      delaysOf(trace, came.advanced.foundMs, range, isOpen).mean /
      delaysOf(trace, foundBy(trace, even), range, isOpen).mean
    lines.push(
      `${trace.name}, advanced, items of business hours, over even polling inside them: ${share.toFixed(2)}, goal at most ${GOAL_EVEN}: ${verdict(share <= GOAL_EVEN)}`,
    )
    const ultimate = came.ultimate.polls.filter(({ atMs }) => atMs >= fromMs)
    const over = burstsOver(trace, ultimate, plans.ultimate.pageSize, fromMs)
    lines.push(
      `${trace.name}, ultimate, bursts with an overflow: ${(over * 100).toFixed(0)} %, goal at most ${GOAL_BURSTS * 100} %: ${verdict(over <= GOAL_BURSTS)}`,
    )
    for (const name of NAMES) {
      const { leftAtResets } = simulated(trace, name, true)
      const used = 1 - Math.max(...leftAtResets.slice(1))
      lines.push(
        `${trace.name}, ${name}, reset on Mondays, used by then: ${(used * 100).toFixed(1)} %, goal at least ${GOAL_USED * 100} %: ${verdict(used >= GOAL_USED)}`,
      )
    }
  }
  return lines
}

/** Share of the bursts in which a poll brought more than a page. */
function burstsOver(
  { endMs, shiftMs }: Trace,
  polls: readonly { atMs: number; items: number }[],
  pageSize: number,
  fromMs: number,
): number {
  let [bursts, over] = [0, 0]
  for (let ms = fromMs + DAY_MS / 2; ms < endMs; ms += DAY_MS) {
    const date = calendar.londonDate(ms)
    if (!calendar.isBusinessDay(date)) continue
    for (const minute of [420, 430]) {
      const startMs = calendar.momentMs(date, minute) + shiftMs
      const first = polls.filter(({ atMs }) => atMs > startMs && atMs < startMs + 10 * 60_000)
      bursts += 1
      if (first.some(({ items }) => items > pageSize)) over += 1
    }
  }
  return over / Math.max(1, bursts)
}

function mostInAWeek(spent: Simulated['spent']): number {
  let [most, units, first] = [0, 0, 0]
  for (const one of spent) {
    units += one.units
    for (; (spent[first]?.atMs ?? 0) <= one.atMs - WEEK_MS; first++) units -= spent[first]?.units ?? 0
    most = Math.max(most, units)
  }
  return most
}

function verdict(met: boolean): string {
  return met ? 'met' : 'MISSED'
}

function table(rows: readonly (readonly (string | number)[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => String(row[column]).length)),
  )
  return rows.map((row) =>
    row
      .map((cell, column) =>
        column < 2 ? String(cell).padEnd(widths[column] ?? 0) : String(cell).padStart(widths[column] ?? 0),
      )
      .join('  '),
  )
}
