/**
 * Derives the worlds of the campaign: a scenario, a set of faults and a seed determine plan, faults and times. The same
 * three always give the same world, so that a failure can be replayed alone.
 */
import { crc32 } from 'node:zlib'
import { type SeededChance, seededChance } from '../../../src/core/chance.ts'
import { DAY_MS, MINUTE_MS, SECOND_MS, WEEK_MS } from '../../../src/core/durations.ts'
import { plans } from '../../../src/core/plans.ts'
import { reservedShares } from '../../../src/governor/schedule/pacing.ts'
import { type FaultKind, type FaultSetting, faultKinds } from '../../../src/sandbox/faults/fault-kinds.ts'
import { scenarios } from '../../../src/sandbox/scenario-list.ts'
import type { TimedEnd, TimedFault, WorldPlan } from './sandbox-world.ts'

/** Identifies a world. */
export interface WorldCase {
  scenario: string
  faults: readonly FaultKind[]
  seed: number
}

/** Share of a fast world's quota for polls; `governor/schedule/pacing.ts` reserves the rest for page scans. */
const POLL_SHARE = 0.78
/** Time by which both bursts and the minutes after them are over. */
const MARKET_MS = 13 * MINUTE_MS
/** Busy ones that are soon over: the faults alone are tried in these. */
const BUSY = ['flood', 'morning-short', 'slipped-burst', 'tvr-flood', 'out-of-order-burst'] as const
/** Share of the worlds with the plan's own quota: a poll every few minutes, and few page scans. */
const AS_SOLD_SHARE = 0.15
const SOLD = ['free', 'lite', 'advanced', 'ultimate'] as const
/** Plans of the other worlds, with quota enough for a poll every few seconds. */
const FAST = ['lite', 'advanced', 'ultimate'] as const
/** Faults start within this time, or within this many polls if that is longer. */
const FAULTS_MS = 2 * MINUTE_MS
const FAULT_POLLS = 8
/** Scenarios whose second burst comes ten minutes after the first, and that time. */
const LONG = { morning: true, normal: true }
const LONG_MS = 9 * MINUTE_MS
/** Random pairs a seed, of each sort. */
const PAIRS = 6
/** Values of a Retry-After header: both forms, absurd ones, none. */
const RETRY_AFTER = [
  null,
  '1',
  '30',
  '0',
  '-1',
  'soon',
  '1000000000',
  '604800',
  'Wed, 21 Oct 2015 07:28:00 GMT',
]
const STATUSES = [500, 500, 502, 503, 401, 403, 404, 418]

/** Every scenario alone, every fault alone, and random pairs of both sorts. */
export function casesOf(seed: number): WorldCase[] {
  const chance = seededChance(crc32(`cases ${seed}`))
  const names = Object.keys(scenarios)
  const pairs = Array.from({ length: PAIRS }, () => [
    { scenario: chance.pick(names), faults: [chance.pick(faultKinds)], seed },
    { scenario: chance.pick(BUSY), faults: [chance.pick(faultKinds), chance.pick(faultKinds)], seed },
  ])
  return [
    ...names.map((scenario) => ({ scenario, faults: [], seed })),
    ...faultKinds.map((kind) => ({ scenario: chance.pick(BUSY), faults: [kind], seed })),
    ...pairs.flat(),
  ]
}

/** The world of that name. */
export function planOf({ scenario, faults, seed }: WorldCase): WorldPlan {
  const chance = seededChance(crc32([scenario, ...faults, seed].join(' ')))
  const asSold = chance.yes(AS_SOLD_SHARE)
  const plan = chance.pick(asSold ? SOLD : FAST)
  const fastMs = chance.pick([1, 1, 2, 5, 15]) * SECOND_MS
  const { weeklyQuota } = asSold ? plans[plan] : { weeklyQuota: Math.ceil(WEEK_MS / fastMs / POLL_SHARE) }
  const { fills, rescans } = reservedShares({ weeklyQuota, pageSize: plans[plan].pageSize })
  const intervalMs = WEEK_MS / weeklyQuota / (1 - fills - rescans)
  const backfillMs = chance.yes(0.2) ? DAY_MS : 0
  const faultsMs = Math.max(FAULTS_MS + (scenario in LONG ? LONG_MS : 0), FAULT_POLLS * intervalMs)
  const faultsUntilMs = faults.length === 0 ? 0 : Math.ceil(faultsMs)
  return {
    scenario,
    seed,
    plan,
    weeklyQuota,
    backfillMs,
    clockOffMs: chance.yes(0.3) ? chance.between(-20, 20) * MINUTE_MS : 0,
    faults: faults.flatMap((kind) => timedFaults(kind, chance, { untilMs: faultsUntilMs, mayPass: !asSold })),
    faultsUntilMs,
    ends: chance.yes(0.3) ? timedEnds(chance) : [],
    marketMs: MARKET_MS,
  }
}

/** Never before the first second, so that the first cursor is received: earlier items are not expected in the log. */
function timedFaults(
  kind: FaultKind,
  chance: SeededChance,
  { untilMs, mayPass }: { untilMs: number; mayPass: boolean },
): TimedFault[] {
  return Array.from({ length: chance.between(2, 5) }, () => {
    const early = chance.between(SECOND_MS, 100 * SECOND_MS)
    const atMs = chance.yes(0.5) ? early : chance.between(SECOND_MS, untilMs - SECOND_MS)
    return { atMs, setting: faultSetting(kind, chance, mayPass) }
  })
}

/** `mayPass`: it may be over before a request has met it. */
function faultSetting(kind: FaultKind, chance: SeededChance, mayPass: boolean): FaultSetting {
  const lasts =
    mayPass && chance.yes(0.5)
      ? { forMs: chance.between(1, 60) * SECOND_MS }
      : { count: chance.between(1, 8) }
  const retryAfter = chance.pick(RETRY_AFTER)
  const status = kind === 'status' ? { status: chance.pick(STATUSES) } : {}
  const is429 = kind === 'throttle-429' || kind === 'quota-429'
  return { kind, ...lasts, ...status, ...(is429 && retryAfter !== null ? { retryAfter } : {}) }
}

function timedEnds(chance: SeededChance): TimedEnd[] {
  return Array.from({ length: chance.between(1, 3) }, () => ({
    atMs: chance.between(2 * SECOND_MS, 90 * SECOND_MS),
    how: chance.pick(['stop', 'crash'] as const),
  }))
}
