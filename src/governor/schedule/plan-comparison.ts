/**
 * Compares the upstream plans: plans a week of polls for each, and computes how long items would wait. Long computations, as
 * steps: a week of the largest plan takes seconds.
 */
import type { Calendar } from '../../core/calendar/calendar.ts'
import { SECOND_MS, WEEK_MS } from '../../core/durations.ts'
import { type PlanName, planIncludes, planNames, plans } from '../../core/plans.ts'
import type { Steps } from '../../lifecycle/slices.ts'
import { createForecaster, highestRate } from '../arrivals/forecast.ts'
import type { Profile } from '../arrivals/profile.ts'
import { type PlanFigures, plannedPacing } from './pacing.ts'
import { LEAST_MEAN_INTERVAL_MS } from './planned-spending.ts'
import { overflowRisk } from './poll-scheduler.ts'
import { evenInHoursDelayS, plannedPolls, type WeekPlan, weekPlan } from './week-plan.ts'

/** The figures of a plan with its name. */
export interface NamedPlan extends PlanFigures {
  name: PlanName
}

/** When the planned week begins, and when items are expected in it. */
export interface ExpectedWeek {
  profile: Profile
  calendar: Calendar
  fromMs: number
}

/** A week of polls, with the delay of as many polls spaced evenly in the release hours, seconds. */
export type Week = WeekPlan & { evenInHoursS: number }

/** What a plan gives in a week, in numbers for a choice. */
export interface ComparedPlan {
  plan: PlanName
  weeklyQuota: number
  pageSize: number
  polls: number
  meanDelayS: number
  evenMeanDelayS: number
  /** Longest possible wait in an hour of a business day in which items come, seconds. */
  worstDelayS: number
  /** Highest risk that a poll overflows. */
  overflowRisk: number
  funds: boolean
}

/** The week of one plan. */
export function* plannedWeek(plan: PlanFigures, { profile, calendar, fromMs }: ExpectedWeek): Steps<Week> {
  const pollsMs = yield* plannedPolls(plan, profile, calendar, fromMs)
  yield
  const evenInHoursS = evenInHoursDelayS(profile, calendar, pollsMs)
  yield
  return { ...weekPlan(plan, profile, calendar, pollsMs), evenInHoursS }
}

/** Every plan with its own figures; the chosen one with its overrides. */
export function* comparedPlans(chosen: NamedPlan, expected: ExpectedWeek): Steps<ComparedPlan[]> {
  const rows: ComparedPlan[] = []
  for (const plan of planNames) {
    const figures = plan === chosen.name ? chosen : { ...chosen, ...plans[plan], name: plan }
    const { weeklyQuota, pageSize } = figures
    const facts = { plan, weeklyQuota, pageSize, funds: hasFunds(plan) }
    const { meanIntervalMs } = plannedPacing(figures, expected.calendar)
    const isFrequent = meanIntervalMs < LEAST_MEAN_INTERVAL_MS
    const delays = isFrequent
      ? evenDelays(figures, meanIntervalMs, expected)
      : delaysOf(yield* plannedWeek(figures, expected))
    rows.push({ ...facts, ...delays })
  }
  return rows
}

/** Whether the upstream answers fund paths on the plan. */
export function hasFunds(plan: PlanName): boolean {
  return planIncludes(plan, 'advanced')
}

type Delays = Pick<ComparedPlan, 'polls' | 'meanDelayS' | 'evenMeanDelayS' | 'worstDelayS' | 'overflowRisk'>

function delaysOf({ hours, polls, meanDelayS, evenMeanDelayS }: Week): Delays {
  const busy = hours.filter(({ isOpen, items }) => isOpen && items >= 1)
  return {
    polls,
    meanDelayS,
    evenMeanDelayS,
    worstDelayS: Math.max(...busy.map(({ worstDelayS }) => worstDelayS)),
    overflowRisk: Math.max(...hours.map((hour) => hour.overflowRisk)),
  }
}

/** Of a plan that pays for a poll every few seconds. */
function evenDelays(
  { pageSize }: PlanFigures,
  intervalMs: number,
  { profile, calendar, fromMs }: ExpectedWeek,
): Delays {
  const intervalS = intervalMs / SECOND_MS
  const mostItems = intervalS * highestRate(createForecaster(calendar)(profile, fromMs, fromMs + WEEK_MS))
  return {
    polls: Math.floor(WEEK_MS / intervalMs),
    meanDelayS: intervalS / 2,
    evenMeanDelayS: intervalS / 2,
    worstDelayS: intervalS,
    overflowRisk: overflowRisk(mostItems, pageSize),
  }
}
