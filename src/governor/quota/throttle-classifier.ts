/**
 * What a 429 means. Upstream sends the same status for its throttle and for a spent weekly quota, and nothing that a
 * machine can rely on; this weighs what there is, as odds. Owns the verdict and the wait. Refuses to send probes: the
 * request that comes after the wait is one.
 */

import { backoffMs } from '../../core/backoff.ts'
import { HOUR_MS, MINUTE_MS } from '../../core/durations.ts'
import type { Chance } from '../../lifecycle/clock.ts'

/** Requests after the first 429 that may be spent on being sure. */
const PROBES = 2
/** Odds at which no further probe is needed, one way or the other. */
const SURE = 20

/**
 * Odds of the quota before any evidence, by the share of the quota that our own count has left (at most so much). With
 * much of it left, only another process on the key or a wrong figure of the plan can have spent it; so can only the
 * former have filled the throttle, since we keep below it. Near the end of the quota a small error of ours is enough.
 */
const PRIOR: readonly (readonly [left: number, odds: number])[] = [
  [0, 50],
  [0.02, 4],
  [0.1, 1],
  [1, 1 / 4],
]
/** So many requests of ours came close together just before: it may be the throttle without anybody else. */
const BUSY_REQUESTS = 4
const BUSY_ODDS = 1 / 3
/** A throttle clears within seconds (burst over rate is 2 s on every plan), so a longer Retry-After hints at the quota. */
const LONGEST_THROTTLE_MS = 2 * MINUTE_MS
/** A week is the longest that a quota can ask for; what is longer means nothing. */
const LONGEST_QUOTA_MS = 7 * 24 * HOUR_MS
/** What Retry-After says: nothing that makes sense, a time that suits the throttle, or one that suits the quota. */
type Hint = 'none' | 'short' | 'long'
/**
 * How much likelier such a hint is with a spent quota than with the throttle. Nobody promises the header: a service that
 * sends one fixed value for both is thought of in each figure.
 */
const HINT_ODDS: Readonly<Record<Hint, number>> = { none: 1, short: 1 / 4, long: 12 }
/** A hint that ends with the week as we count it, give or take so much, is no fixed value. */
const NEAR_RESET_MS = 5 * MINUTE_MS
const RESET_ODDS = 8
/**
 * How much likelier one more 429 is with a spent quota than with the throttle, by how long nothing was sent: a spent
 * quota refuses for sure, a throttle only while somebody else keeps it full. That cannot last: what is throttled counts,
 * so the quota of every plan would be spent within six minutes.
 */
const AGAIN: readonly (readonly [refills: number, odds: number])[] = [
  [16, 12],
  [1, 1.5],
  [0, 1.1],
]
/** As much where upstream had named a time and it was waited for. */
const TOLD_ODDS = 6

/** First wait for a throttle, in times that an empty bucket takes to fill; each further wait is so much longer. */
const FIRST_WAIT_REFILLS = 1.5
const THROTTLE_GROWTH = 20
const LONGEST_GROWN_MS = 5 * MINUTE_MS
/** Probes of a spent quota: after a minute, which heals a wrong verdict, then ever more rarely. */
const QUOTA = { baseMs: MINUTE_MS, factor: 2, maxMs: 6 * HOUR_MS, jitter: 0.1 }

/** What a 429 means; `unknown` while a probe is needed. */
export type Cause = 'throttle' | 'quota' | 'unknown'

/** What is remembered of the answers so far. A value: nothing changes it in place. */
export interface JudgeMemory {
  /** 429s without a good answer between them. */
  inARow: number
  /** Odds of the quota after those. */
  odds: number
  /** What the last hint said: the same again is no news. */
  hint: Hint
  /** When the last 429 came, ms since 1970. */
  refusedMs: number
  /** How long its hint said to wait, ms; 0 without one that can be believed of a throttle. */
  toldMs: number
  /** Of those in a row, verdicts of a spent quota. */
  quotasInARow: number
  /** Good answers that came within the time of a refill of each other, the newest at `goodMs`. */
  goodInARow: number
  goodMs: number
}

/** What is known when a 429 comes. */
export interface Evidence {
  /** From the Retry-After header, ms; null where it is absent or senseless. */
  retryAfterMs: number | null
  /** What our own count has left of the weekly quota, 0 to 1. */
  leftShare: number
  /** When the quota is whole again for sure, ms since 1970; null where it comes back bit by bit. */
  resetMs: number | null
  /** How long the plan's empty token bucket takes to fill, ms. */
  refillMs: number
  nowMs: number
}

export interface Verdict {
  /** `unknown`: the next request is a probe. */
  kind: Cause
  /** How long to send nothing. */
  waitMs: number
}

/** Before any answer. */
export const NOTHING_MET: JudgeMemory = {
  inARow: 0,
  odds: 1,
  hint: 'none',
  refusedMs: 0,
  toldMs: 0,
  quotasInARow: 0,
  goodInARow: 0,
  goodMs: 0,
}

/**
 * Judges one 429. A throttle, or what may be one, waits for a bit more than a full bucket, then twenty times as long, up
 * to five minutes; or for Retry-After where that is longer and believable of a throttle. A spent quota waits for its
 * reset, with probes after 1, 2, 4 min … 6 h.
 */
export function judge429(
  memory: JudgeMemory,
  evidence: Evidence,
  chance: Chance,
): { memory: JudgeMemory; verdict: Verdict } {
  const { nowMs, retryAfterMs } = evidence
  const hint = hintOf(retryAfterMs)
  const inARow = memory.inARow + 1
  const odds =
    (inARow === 1 ? priorOdds(memory, evidence) : memory.odds * againOdds(memory, evidence)) *
    (hint === memory.hint ? 1 : hintOdds(hint, evidence))
  const kind = kindOf(odds, inARow)
  const quotasInARow = kind === 'quota' ? memory.quotasInARow + 1 : 0
  const toldMs = hint === 'short' ? (retryAfterMs ?? 0) : 0
  const waitMs =
    kind === 'quota'
      ? quotaWaitMs(quotasInARow, hint, evidence, chance)
      : Math.max(toldMs, throttleWaitMs(inARow, evidence, chance))
  const next = { ...memory, inARow, odds, hint, refusedMs: nowMs, toldMs, quotasInARow }
  return { memory: next, verdict: { kind, waitMs } }
}

/** What a good answer leaves: the row of 429s has ended. */
export function afterGoodAnswer(memory: JudgeMemory, refillMs: number, nowMs: number): JudgeMemory {
  const isClose = Math.abs(nowMs - memory.goodMs) <= refillMs
  return { ...NOTHING_MET, goodInARow: isClose ? memory.goodInARow + 1 : 1, goodMs: nowMs }
}

function hintOf(retryAfterMs: number | null): Hint {
  if (retryAfterMs === null || retryAfterMs === 0 || retryAfterMs > LONGEST_QUOTA_MS) return 'none'
  return retryAfterMs <= LONGEST_THROTTLE_MS ? 'short' : 'long'
}

function priorOdds(memory: JudgeMemory, { leftShare, refillMs, nowMs }: Evidence): number {
  const [, odds] = PRIOR.find(([left]) => leftShare <= left) ?? [1, 1]
  const isBusy = memory.goodInARow >= BUSY_REQUESTS && Math.abs(nowMs - memory.goodMs) <= refillMs
  return isBusy ? odds * BUSY_ODDS : odds
}

function hintOdds(hint: Hint, { retryAfterMs, resetMs, nowMs }: Evidence): number {
  const namesReset =
    hint === 'long' &&
    retryAfterMs !== null &&
    resetMs !== null &&
    Math.abs(nowMs + retryAfterMs - resetMs) <= NEAR_RESET_MS
  return HINT_ODDS[hint] * (namesReset ? RESET_ODDS : 1)
}

function againOdds({ refusedMs, toldMs }: JudgeMemory, { refillMs, nowMs }: Evidence): number {
  const quietMs = Math.max(0, nowMs - refusedMs)
  const [, odds] = AGAIN.find(([refills]) => quietMs >= refills * refillMs) ?? [0, 1]
  return toldMs > 0 && quietMs >= toldMs ? Math.max(odds, TOLD_ODDS) : odds
}

function kindOf(odds: number, inARow: number): Cause {
  if (odds >= SURE) return 'quota'
  if (inARow > PROBES) return odds >= 1 ? 'quota' : 'throttle'
  return odds <= 1 / SURE ? 'throttle' : 'unknown'
}

function throttleWaitMs(inARow: number, { refillMs }: Evidence, chance: Chance): number {
  const growing = {
    baseMs: refillMs * FIRST_WAIT_REFILLS,
    factor: THROTTLE_GROWTH,
    maxMs: LONGEST_GROWN_MS,
    jitter: 0.1,
  }
  return backoffMs(inARow, growing, chance)
}

/** Never later than a moment at which units are back, by our own reckoning or by a hint. */
function quotaWaitMs(
  quotasInARow: number,
  hint: Hint,
  { retryAfterMs, resetMs, refillMs, nowMs }: Evidence,
  chance: Chance,
): number {
  const hintedMs = hint === 'long' && retryAfterMs !== null ? retryAfterMs : Number.POSITIVE_INFINITY
  const resetInMs = resetMs === null ? Number.POSITIVE_INFINITY : resetMs - nowMs
  const probeMs = backoffMs(quotasInARow, QUOTA, chance)
  return Math.min(probeMs, Math.max(refillMs, Math.min(hintedMs, resetInMs)))
}
