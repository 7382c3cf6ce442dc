/**
 * Simulates weeks on a key that other processes use too: the real poller's state machine in simulated time, against the
 * sandbox's limits. The market is empty, because only requests matter here.
 */
import { createCalendar } from '../../../src/core/calendar/calendar.ts'
import { type SeededChance, seededChance } from '../../../src/core/chance.ts'
import { type PlanName, plans } from '../../../src/core/plans.ts'
import { Limits } from '../../../src/sandbox/limits.ts'
import { World } from './ingest-world.ts'
import { lasting, otherProcess } from './other-process.ts'

const SECOND_MS = 1000
const DAY_MS = 24 * 3_600_000
const WEEK_MS = 7 * DAY_MS
const START_MS = Date.parse('2026-01-05T00:00:00Z')
const calendar = createCalendar()
const STEP_MS = 10 * SECOND_MS
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
  /** Time in business hours from a first 429 to the next answer, by the cause of that 429; ms. */
  blindMs: { throttle: number; quota: number }
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
  let refused: { cause: 'throttle' | 'quota'; sinceMs: number } | null = null
  const world: World = new World({
    ...figures,
    ...{ seed, startMs: START_MS, items: [] },
    fails: () => {
      for (const other of others) week.others += other(world.nowMs)
      week.requests += 1
      const taken = limits.take(world.nowMs)
      if (taken === 'throttle') week.lost += 1
      if (taken === 'quota') week.quotaRefused += 1
      if (taken !== 'ok') refused ??= { cause: taken, sinceMs: world.nowMs }
      else if (refused !== null) {
        week.blindMs[refused.cause] += businessMs(refused.sinceMs, world.nowMs)
        refused = null
      }
      return taken === 'ok' ? undefined : { kind: 'too_many', retryAfter }
    },
  })
  return Array.from({ length: weeks }, (_, index) => {
    week = newWeek(plan)
    world.run(START_MS + (index + 1) * WEEK_MS)
    return week
  })
}

function newWeek(plan: PlanName): SharedWeek {
  const blindMs = { throttle: 0, quota: 0 }
  return { plan, requests: 0, lost: 0, quotaRefused: 0, others: 0, blindMs }
}

/** How much of a time is inside the release hours of business days, in steps of ten seconds; ms. */
function businessMs(fromMs: number, toMs: number): number {
  let sumMs = 0
  for (let atMs = fromMs; atMs < toMs; atMs += STEP_MS) {
    if (calendar.phase(atMs) !== 'closed') sumMs += Math.min(STEP_MS, toMs - atMs)
  }
  return sumMs
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
