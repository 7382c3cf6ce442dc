/**
 * Classifies a 429 from upstream as rate limit (throttle) or spent weekly quota, and computes how long to send nothing.
 * Upstream uses one status for both and promises no header, so the evidence is weighed as odds. The next request tests the
 * verdict.
 */
import { type Backoff, backoffMs } from '../../core/backoff.ts'
import { HOUR_MS, MINUTE_MS } from '../../core/durations.ts'
import type { Chance } from '../../lifecycle/clock.ts'

/** Requests after the first 429 that may be spent before a final verdict. */
const PROBES = 2
/** Odds, or their inverse, at which no further probe is needed. */
const SURE = 20

/**
 * Odds before any evidence, by the largest share of the quota that our ledger has left. With much left, either cause needs
 * another process on the key, since our own requests keep below the throttle; near zero a small counting error is enough.
 */
const PRIOR: readonly (readonly [left: number, odds: number])[] = [
  [0, 50],
  [0.02, 4],
  [0.1, 1],
  [1, 1 / 4],
]
/** A throttle clears within seconds (burst / rate is 2 s on every plan), so a longer Retry-After suggests the quota. */
export const LONGEST_THROTTLE_MS = 2 * MINUTE_MS
/** A quota never needs more than a week: a longer Retry-After is ignored. */
const LONGEST_QUOTA_MS = 7 * 24 * HOUR_MS
/** Retry-After: absent or senseless, a time typical of a throttle, or one typical of a quota. */
type Hint = 'none' | 'short' | 'long'
/** Likelihood ratio of each hint, quota to throttle. Modest, because a service may send one fixed value for both causes. */
const HINT_ODDS: Readonly<Record<Hint, number>> = { none: 1, short: 1 / 4, long: 12 }
/**
 * Likelihood ratio of a repeated 429, by how many refill times nothing was sent. A spent quota rejects every request; a throttle
 * only while another process keeps it full, which would spend any plan's quota within six minutes.
 */
const REPEATED: readonly (readonly [refills: number, odds: number])[] = [
  [16, 12],
  [10, 4],
  [1, 1.5],
  [0, 1.1],
]

/** First wait for a throttle, in refill times of an empty bucket, and the growth of each further wait. */
const FIRST_WAIT_REFILLS = 1.5
const THROTTLE_GROWTH = 20
const MAX_THROTTLE_WAIT_MS = 5 * MINUTE_MS
/** Probes of a spent quota: the first after a minute, so that a wrong verdict costs little, then ever fewer. */
const QUOTA_PROBES = { baseMs: MINUTE_MS, factor: 2, maxMs: 6 * HOUR_MS, jitter: 0.1 }

/** From this share of the quota on our ledger is far from spent: a 429 is then retried soon, for a retry costs one unit. */
const FAR_FROM_SPENT = 0.1
/**
 * Retries within half a minute while the ledger is far from spent. More would cost a quota that others have spent over two
 * units a day above the probes of a quota verdict.
 */
const SOON_RETRIES = 6
/** Longest of their waits, before jitter. */
const LONGEST_SOON_MS = 25_000
const SOON_GROWTH = 2
/** A short Retry-After is followed to the moment by so many first: a service that says seconds has a throttle in mind. */
const ADVISED_RETRIES = 12
/** For so long after a quota that others have spent, no further 429s are retried so soon. */
const WARY_MS = 72 * HOUR_MS
/**
 * That many verdicts in a row make others the cause, after eleven to thirteen minutes: a shorter throttle slows no later
 * retries.
 */
const WARY_AFTER_QUOTAS = 4
/**
 * Probes after the early retries: the first one soon and the next not much rarer, for a throttle too may last. Those of a
 * day cost the quota of others two requests more than probes after 1, 2, 4 min … 6 h from the third 429 on.
 */
const FAR_QUOTA_PROBES = { baseMs: MINUTE_MS, factor: 2.6, maxMs: 6 * HOUR_MS, jitter: 0.1 }

/** Cause of a 429; `unknown` while a probe is needed. */
export type Cause = 'throttle' | 'quota' | 'unknown'

/** Immutable state of the classifier between responses; a successful response resets it. */
export interface ClassifierState {
  /** Consecutive 429s. */
  inARow: number
  /** Odds of a spent quota after them. */
  odds: number
  /** Hints of them; one that came before adds no evidence, nor does its change to another and back. */
  hints: readonly Hint[]
  /** When the last 429 came, ms since 1970. */
  refusedMs: number
  /** Consecutive verdicts `quota`. */
  quotasInARow: number
  /** When the verdict was last `quota` for the fourth time in a row or more, ms since 1970; null: never. */
  lastQuotaMs: number | null
  /** These 429s began within days of such a verdict. */
  isWary: boolean
}

/** What is known when a 429 arrives. */
export interface Evidence {
  /** From the Retry-After header, ms; null where it is absent or unreadable. */
  retryAfterMs: number | null
  /** Share of the weekly quota that our ledger has left, 0 to 1. */
  leftShare: number
  /** When a fixed week resets, ms since 1970; null where the quota is rolling. */
  resetMs: number | null
  /** How long an empty token bucket of the plan takes to fill, ms. */
  refillMs: number
  nowMs: number
}

/** The classifier's result. */
export interface Classification {
  /** `unknown`: the next request is a probe. */
  kind: Cause
  /** How long to send nothing. */
  waitMs: number
  /** How long upstream wants nothing sent, where its Retry-After is one of a throttle; else 0. */
  advisedMs: number
}

/** State before any response, and after a successful one. */
export const INITIAL_CLASSIFIER: ClassifierState = {
  inARow: 0,
  odds: 1,
  hints: ['none'],
  refusedMs: 0,
  quotasInARow: 0,
  lastQuotaMs: null,
  isWary: false,
}

/** State after a successful response. */
export function afterSuccess({ lastQuotaMs }: ClassifierState): ClassifierState {
  return { ...INITIAL_CLASSIFIER, lastQuotaMs }
}

/**
 * Classifies one 429. While our ledger is far from spent, six retries wait for 1.5 refill times, then twice as long, up to
 * 25 s; before them twelve wait exactly for a plausible Retry-After. No later 429 that counts as `throttle` waits for longer.
 * Otherwise `throttle` and `unknown` wait for 1.5 refill times, then twenty times as long, up to five minutes. `quota` waits
 * for its reset, with probes in between.
 */
export function classify429(
  state: ClassifierState,
  evidence: Evidence,
  chance: Chance,
): { state: ClassifierState; verdict: Classification } {
  const { nowMs, retryAfterMs } = evidence
  const hint = hintOf(retryAfterMs)
  const inARow = state.inARow + 1
  const odds =
    (inARow === 1 ? priorOdds(evidence) : state.odds * repeatedOdds(state, evidence)) *
    (state.hints.includes(hint) ? 1 : HINT_ODDS[hint])
  const isWary = inARow === 1 ? hadQuota(state, nowMs) : state.isWary
  const isTrusting = isFarFromSpent(evidence) && hint !== 'long' && !isWary
  const isAdvised = isTrusting && hint === 'short'
  const isEarly = isTrusting && inARow <= SOON_RETRIES + (isAdvised ? ADVISED_RETRIES : 0)
  const kind = isEarly ? soonKindOf(hint) : kindOf(odds, inARow)
  const quotasInARow = kind === 'quota' ? state.quotasInARow + 1 : 0
  const advisedMs = advisedWaitMs(retryAfterMs)
  const waitMs =
    kind === 'quota'
      ? quotaWaitMs(
          quotasInARow,
          { hint, probes: isTrusting ? FAR_QUOTA_PROBES : QUOTA_PROBES },
          evidence,
          chance,
        )
      : isTrusting
        ? soonWaitMs(inARow, advisedMs, evidence, chance)
        : Math.max(advisedMs, throttleWaitMs(inARow, evidence, chance))
  const lastQuotaMs = quotasInARow >= WARY_AFTER_QUOTAS ? nowMs : state.lastQuotaMs
  const hints = state.hints.includes(hint) ? state.hints : [...state.hints, hint]
  const next = { inARow, odds, hints, refusedMs: nowMs, quotasInARow, lastQuotaMs, isWary }
  return { state: next, verdict: { kind, waitMs, advisedMs } }
}

/** How long upstream wants nothing sent, ms: its Retry-After where it is one of a throttle, else 0. */
export function advisedWaitMs(retryAfterMs: number | null): number {
  return hintOf(retryAfterMs) === 'short' ? (retryAfterMs ?? 0) : 0
}

/** True where others have spent the quota lately: they may do so again, and early retries would be lost each time. */
function hadQuota({ lastQuotaMs }: ClassifierState, nowMs: number): boolean {
  return lastQuotaMs !== null && Math.abs(nowMs - lastQuotaMs) < WARY_MS
}

function hintOf(retryAfterMs: number | null): Hint {
  if (retryAfterMs === null || retryAfterMs === 0 || retryAfterMs > LONGEST_QUOTA_MS) return 'none'
  return retryAfterMs <= LONGEST_THROTTLE_MS ? 'short' : 'long'
}

function priorOdds({ leftShare }: Evidence): number {
  return PRIOR.find(([left]) => leftShare <= left)?.[1] ?? 1
}

function repeatedOdds({ refusedMs }: ClassifierState, { refillMs, nowMs }: Evidence): number {
  const quietMs = Math.max(0, nowMs - refusedMs)
  return REPEATED.find(([refills]) => quietMs >= refills * refillMs)?.[1] ?? 1
}

function kindOf(odds: number, inARow: number): Cause {
  if (odds >= SURE) return 'quota'
  if (inARow > PROBES) return odds >= 1 ? 'quota' : 'throttle'
  return odds <= 1 / SURE ? 'throttle' : 'unknown'
}

/** A service that names seconds has a throttle in mind, and our ledger does not contradict it. */
function soonKindOf(hint: Hint): Cause {
  return hint === 'short' ? 'throttle' : 'unknown'
}

/** True while so much of the quota is left by our ledger that a retry is cheaper than not polling. */
export function isFarFromSpent({ leftShare }: Pick<Evidence, 'leftShare'>): boolean {
  return leftShare >= FAR_FROM_SPENT
}

function soonWaitMs(inARow: number, advisedMs: number, { refillMs }: Evidence, chance: Chance): number {
  if (advisedMs > 0 && inARow <= ADVISED_RETRIES) return advisedMs
  const growing = {
    baseMs: refillMs * FIRST_WAIT_REFILLS,
    factor: SOON_GROWTH,
    maxMs: LONGEST_SOON_MS,
    jitter: 0.1,
  }
  return Math.max(advisedMs, backoffMs(inARow, growing, chance))
}

function throttleWaitMs(inARow: number, { refillMs }: Evidence, chance: Chance): number {
  const growing = {
    baseMs: refillMs * FIRST_WAIT_REFILLS,
    factor: THROTTLE_GROWTH,
    maxMs: MAX_THROTTLE_WAIT_MS,
    jitter: 0.1,
  }
  return backoffMs(inARow, growing, chance)
}

/** At most until units come back, by our ledger or by the hint. */
function quotaWaitMs(
  quotasInARow: number,
  { hint, probes }: { hint: Hint; probes: Backoff },
  { retryAfterMs, resetMs, refillMs, nowMs }: Evidence,
  chance: Chance,
): number {
  const hintedMs = hint === 'long' && retryAfterMs !== null ? retryAfterMs : Number.POSITIVE_INFINITY
  const resetInMs = resetMs === null || resetMs <= nowMs ? Number.POSITIVE_INFINITY : resetMs - nowMs
  return Math.min(backoffMs(quotasInARow, probes, chance), Math.max(refillMs, Math.min(hintedMs, resetInMs)))
}
