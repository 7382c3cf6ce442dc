/**
 * Simulates weeks on a key that other processes use too: the real poller's state machine in simulated time, against the
 * sandbox's limits. The market is empty, because only requests matter here.
 */
import { createCalendar } from '../../../src/core/calendar/calendar.ts'
import { type SeededChance, seededChance } from '../../../src/core/chance.ts'
import { DAY_MS, SECOND_MS, WEEK_MS } from '../../../src/core/durations.ts'
import { type PlanName, plans } from '../../../src/core/plans.ts'
import { Limits } from '../../../src/sandbox/limits.ts'
import { World } from './ingest-world.ts'
import { lasting, otherProcess } from './other-process.ts'

const START_MS = Date.parse('2026-01-05T00:00:00Z')
const calendar = createCalendar()
/** Retry-After values, one per simulation. */
const HEADERS = [null, null, '1', '60', '3600', '604800', '-1', 'soon']

/** Requests and losses of one week. */
export interface SharedWeek {
  plan: PlanName
  requests: number
  /** Units of ours that upstream counted for 429s. */
  lost: number
  /** 429s of the quota: our ledger counts them, upstream does not. */
  quotaRefused: number
  /** Requests of other processes. */
  others: number
  /** Time without an answer in release hours, by the cause of the 429 before it. */
  blindMs: BlindMs
}

/** Ms by cause. */
export interface BlindMs {
  throttle: number
  quota: number
}

/** So many weeks in a row on one plan, with up to twenty jobs of others in each. The same seed gives the same. */
export function playSharedWeeks(seed: number, weeks: number): SharedWeek[] {
  const chance = seededChance(seed)
  const plan = chance.pick(['free', 'lite', 'advanced', 'ultimate'] as const)
  const figures = plans[plan]
  const limits = new Limits(figures, START_MS)
  const retryAfter = chance.pick(HEADERS)
  const jobs = Array.from({ length: weeks }, (_, week) =>
    jobsOf(START_MS + week * WEEK_MS, plan, chance),
  ).flat()
  const others = jobs.map((job) => otherProcess(limits, job))
  let week: SharedWeek = newWeek(plan)
  const blind = createBlindCount()
  const world: World = new World({
    ...figures,
    ...{ seed, startMs: START_MS, items: [] },
    fails: () => {
      for (const other of others) week.others += other(world.nowMs)
      week.requests += 1
      const taken = limits.take(world.nowMs)
      if (taken === 'throttle') week.lost += 1
      if (taken === 'quota') week.quotaRefused += 1
      blind.answered(taken, world.nowMs)
      return taken === 'ok' ? undefined : { kind: 'too_many', retryAfter }
    },
  })
  return Array.from({ length: weeks }, (_, index) => {
    week = newWeek(plan)
    const endMs = START_MS + (index + 1) * WEEK_MS
    world.run(endMs)
    return { ...week, blindMs: blind.until(endMs) }
  })
}

function newWeek(plan: PlanName): SharedWeek {
  const blindMs = { throttle: 0, quota: 0 }
  return { plan, requests: 0, lost: 0, quotaRefused: 0, others: 0, blindMs }
}

/** Counts the time in release hours between a 429 and the next response, by the cause of that 429. */
export function createBlindCount() {
  let counted: BlindMs = { throttle: 0, quota: 0 }
  let refused: { cause: keyof BlindMs; sinceMs: number } | null = null
  const count = (nowMs: number): void => {
    if (refused !== null) counted[refused.cause] += releaseHoursMs(refused.sinceMs, nowMs)
  }
  return {
    answered(cause: keyof BlindMs | 'ok', nowMs: number): void {
      count(nowMs)
      refused = cause === 'ok' ? null : { cause, sinceMs: nowMs }
    },
    /** The time up to this moment since the last call; what lasts on counts for the next. */
    until(nowMs: number): BlindMs {
      count(nowMs)
      if (refused !== null) refused = { ...refused, sinceMs: nowMs }
      const before = counted
      counted = { throttle: 0, quota: 0 }
      return before
    },
  }
}

/** How much of a time is inside the release hours of business days; ms. */
function releaseHoursMs(fromMs: number, toMs: number): number {
  const lastDate = calendar.londonDate(toMs)
  let sumMs = 0
  for (let ms = fromMs; ; ms += DAY_MS) {
    const date = calendar.londonDate(Math.min(ms, toMs))
    const window = calendar.releaseWindow(date)
    if (window !== null) {
      sumMs += Math.max(0, Math.min(toMs, window.toMs) - Math.max(fromMs, window.fromMs))
    }
    if (date === lastDate) return sumMs
  }
}

/** Other processes' jobs: up to a tenth of the quota each; half of them ignore the throttle. */
function jobsOf(weekMs: number, plan: PlanName, chance: SeededChance) {
  const { ratePerSecond, weeklyQuota } = plans[plan]
  return Array.from({ length: chance.between(0, 20) }, () => {
    const isUnruly = chance.yes(0.5)
    return {
      startMs: weekMs + chance.between(0, WEEK_MS - 1),
      requests: Math.round(lasting(5, weeklyQuota / 10, chance)),
      everyMs: SECOND_MS / (ratePerSecond * (isUnruly ? 3 : 1.02)),
      waitMs: isUnruly ? 0 : SECOND_MS,
    }
  })
}
