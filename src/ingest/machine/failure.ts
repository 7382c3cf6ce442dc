/**
 * Decides what follows from a failed upstream request: how long to send nothing, which upstream health to report, and
 * whether to refund the quota unit.
 */
import { backoffMs } from '../../core/backoff.ts'
import { MINUTE_MS } from '../../core/durations.ts'
import type { Purpose } from '../../core/purpose.ts'
import { retryAfterMs } from '../../core/retry-after.ts'
import { quotaAt } from '../../governor/quota/ledger.ts'
import { takeRetry } from '../../governor/quota/retry-allowance.ts'
import {
  advisedWaitMs,
  afterSuccess,
  type Cause,
  classify429,
  isFarFromSpent,
  LONGEST_THROTTLE_MS,
} from '../../governor/quota/throttle-classifier.ts'
import type { PollResult } from '../../obs/metrics.ts'
import type { FundOutcome } from '../../upstream/fund-client.ts'
import { type Failure, oneLine, type Timing } from '../../upstream/outcome.ts'
import { skewsMs } from './present.ts'
import { enqueue } from './publish.ts'
import { compareQuota } from './quota-drift.ts'
import type { StepContext } from './state.ts'

/**
 * Waits after failures that may end by themselves: 1, 2, 4 … s, up to the poll interval (at least 5 s), and longer while the
 * failures last.
 */
const FAILING = { baseMs: 1000, factor: 2, jitter: 0.1 }
const LONGEST_FAILING_MS = 5_000
/** Longest wait after a request that never left this machine, and so cost nothing. */
const LONGEST_UNSENT_MS = 15_000
/** Waits after a rejected key, which only the operator can correct. */
const UNAUTHORISED = { baseMs: 10_000, factor: 2, jitter: 0.1 }
const LONGEST_UNAUTHORISED_MS = 15 * MINUTE_MS
/**
 * Long outages are probed rarely: their end is noticed late by at most a tenth of their length, and by at most these
 * limits. A week of errors then costs a quarter of the polls of the plan `advanced`.
 */
const SHARE_OF_OUTAGE = 0.1
const RAREST_FAILING_MS = 15 * MINUTE_MS
const RAREST_UNAUTHORISED_MS = 60 * MINUTE_MS
/** Share of the weekly quota, and minimum in units, for retries that are sooner than the next poll. */
const RETRY_SHARE = 0.01
const FEWEST_RETRIES = 10
/** The same after 429s, where a retry often fails again; more where the ledger is far from spent. */
const RETRY_SHARE_429 = 0.001
const FEWEST_RETRIES_429 = 2
const FAR_RETRY_SHARE_429 = 0.02
const FAR_FEWEST_RETRIES_429 = 50
/** A restart takes a second or two: a shorter Retry-After is not stored for the next process. */
const STORED_ADVICE_MS = 5_000
/** What is reported of a 429 that polls do not get: since they are answered, the quota is not spent. */
const THROTTLED = ['throttled', 'throttle'] as const
/** Upstream may never be able to answer an old page cursor. */
const RESTART_EVERY = 3

/** True when a scan that failed so often restarts at its first page instead of the page that failed. */
export function restartsAtFirstPage(failedTries: number): boolean {
  return failedTries % RESTART_EVERY === 0
}

/** What follows from a failure. */
interface Consequence {
  result: PollResult
  /** The verdict on a 429, else null. */
  cause: Cause | null
  waitMs: number
  /** How much of it upstream asks for. */
  advisedMs: number
}

/**
 * Blocks further requests for as long as the failure requires. `spentMs` is when its unit was counted. Only a request that
 * never left is refunded: a 429 that is classified as quota may still be one of the throttle, which upstream counts. Returns how
 * long upstream asks to send nothing, ms.
 */
export function blockAfter(context: StepContext, failure: Failure & Timing, spentMs: number): number {
  const { state, nowMs } = context
  const request = state.request
  if (request === null) throw new Error('the poller got a failure, but no request is in flight')
  if (!failure.sent) refund(context, request.purpose, spentMs)
  if (failure.kind === 'too_many') state.pageRefusals = 'none'
  const { result, cause, waitMs: wantedMs, advisedMs } = consequenceOf(context, failure)
  const isPaid = !failure.sent || payForRetry(context, wantedMs, cause !== null)
  const waitMs = isPaid ? wantedMs : Math.max(wantedMs, context.config.pacing.meanIntervalMs)
  state.blockedUntilMs = nowMs + waitMs
  storeAdvice(context, request.purpose, advisedMs)
  reportFailure(context, request.purpose, failure, { result, cause, waitMs })
  return advisedMs
}

/** Stores how long upstream asks to send nothing, where that is long: the next process keeps to it too. */
function storeAdvice(context: StepContext, purpose: Purpose, advisedMs: number): void {
  if (advisedMs < STORED_ADVICE_MS) return
  enqueue(context, purpose, { events: [], head: { refusedUntilMs: context.nowMs + advisedMs } })
}

/** Until when the present process keeps to what upstream asked an earlier one, ms since 1970; 0: a clock was set since. */
export function advisedUntilMs(refusedUntilMs: number | null, nowMs: number): number {
  return refusedUntilMs === null || refusedUntilMs > nowMs + LONGEST_THROTTLE_MS ? 0 : refusedUntilMs
}

/**
 * As `blockAfter`, for a page of a scan. Only a failure that every request would share blocks polls too: a 429, unless polls
 * get none, no connection, or a key that polls were rejected with too. Returns false where the scan must not retry the page
 * soon.
 */
export function blockScansAfter(context: StepContext, failure: Failure & Timing, spentMs: number): boolean {
  const { state, nowMs, config } = context
  const { request } = state
  const isKeyRejected = failure.kind === 'unauthorised' && state.upstream === 'unauthorised'
  const isShared429 = failure.kind === 'too_many' && state.pageRefusals !== 'only'
  if (request === null || !failure.sent || isShared429 || isKeyRejected) {
    const advisedMs = blockAfter(context, failure, spentMs)
    if (isShared429) {
      state.pageRefusals = 'some'
      if (advisedMs === 0) keepPlannedPoll(context)
    }
    return state.upstream !== 'quota'
  }
  state.failedPagesInARow += 1
  const maxMs = Math.max(LONGEST_FAILING_MS, config.pacing.meanIntervalMs)
  const isRefused = failure.kind === 'too_many'
  const advisedMs = isRefused ? advisedWaitMs(askedWaitMs(failure, nowMs)) : 0
  const waitMs = Math.max(advisedMs, backoffMs(state.failedPagesInARow, { ...FAILING, maxMs }, config.chance))
  state.scansBlockedUntilMs = nowMs + waitMs
  if (advisedMs > 0) {
    state.blockedUntilMs = Math.max(state.blockedUntilMs, nowMs + advisedMs)
    // No order and no other request leaves before it is over either.
    state.upstream = 'throttled'
  }
  storeAdvice(context, request.purpose, advisedMs)
  const [result, cause] = isRefused ? THROTTLED : ([resultOf(failure), null] as const)
  reportFailure(context, request.purpose, failure, { result, cause, waitMs })
  // Polls wait as long as upstream asks, so a page that asks for long is not retried soon.
  return payForRetry(context, waitMs, false) && advisedMs <= LONGEST_FAILING_MS
}

/**
 * After a 429 of a page that may be one of polls too: the first in a row keeps no planned poll waiting, whose answer shows whether
 * polls get 429s.
 */
function keepPlannedPoll({ state, nowMs }: StepContext): void {
  if (state.classifier.inARow > 1) return
  state.scansBlockedUntilMs = Math.max(state.scansBlockedUntilMs, state.blockedUntilMs)
  state.blockedUntilMs = Math.min(state.blockedUntilMs, Math.max(nowMs, state.nextPollMs))
}

/**
 * Applies the outcome of a proxied request: a 429 blocks polls as one of their own would. Other failures do not, because
 * upstream may handle fund requests separately. `spentMs` is when its unit was counted.
 */
export function onProxied(context: StepContext, outcome: FundOutcome, spentMs: number): void {
  const { state, nowMs } = context
  compareQuota(context, outcome)
  if (!outcome.sent) refund(context, 'gateway', spentMs)
  if (outcome.kind !== 'too_many') {
    const isGood = outcome.kind === 'ok' || outcome.kind === 'not_found'
    if (isGood && state.upstream === 'ok') state.classifier = afterSuccess(state.classifier)
    context.actions.push({ type: 'tally', purpose: 'gateway', result: resultOf(outcome) })
    return
  }
  const consequence = judged(context, outcome)
  state.blockedUntilMs = Math.max(state.blockedUntilMs, nowMs + consequence.waitMs)
  storeAdvice(context, 'gateway', consequence.advisedMs)
  reportFailure(context, 'gateway', outcome, consequence)
}

/** How long a 429 asks to send nothing, ms; null where it does not say. */
function askedWaitMs(failure: Extract<Failure, { kind: 'too_many' }> & Timing, nowMs: number): number | null {
  return retryAfterMs(failure.retryAfter, failure.serverMs ?? nowMs)
}

function resultOf({ kind }: Pick<Exclude<FundOutcome, { kind: 'too_many' }>, 'kind'>): PollResult {
  if (kind === 'ok') return 'new'
  if (kind === 'not_found') return 'empty'
  return kind === 'refused' || kind === 'unauthorised' ? 'client_error' : kind
}

/** Gives a unit back with the next commit: its request never left. */
export function refund({ state }: StepContext, purpose: Purpose, spentMs: number): void {
  state.refunds = [...state.refunds, { atMs: spentMs, units: 1, purpose }]
}

/** Counts and logs a failed request; `waitMs` is how long nothing is sent because of it. */
function reportFailure(
  context: StepContext,
  purpose: Purpose,
  failure: Failure,
  { result, cause, waitMs }: Omit<Consequence, 'advisedMs'>,
): void {
  context.actions.push({ type: 'tally', purpose, result, ...(cause !== null && { cause }) })
  context.actions.push({
    type: 'report',
    level: 'warn',
    event: 'upstream.request_failed',
    fields: {
      purpose,
      result,
      ...(cause !== null && { verdict: cause }),
      ...detailsOf(failure),
      waitMs: Math.round(waitMs),
    },
  })
}

/** Resets the failure counts of polls after a good poll. */
export function unblock({ state }: StepContext): void {
  state.failuresInARow = 0
  state.keyRefusalsInARow = 0
  state.failingSinceMs = null
  state.classifier = afterSuccess(state.classifier)
  state.blockedUntilMs = 0
  state.upstream = 'ok'
  if (state.pageRefusals === 'some') state.pageRefusals = 'only'
}

/**
 * Resets the failure counts of page scans after a good page. Polls that fail by themselves stay so, and so does a 429 that a
 * proxied request got while the page was under way.
 */
export function unblockScans({ state, nowMs }: StepContext): void {
  state.failedPagesInARow = 0
  state.pageRefusals = 'none'
  state.scansBlockedUntilMs = 0
  state.keyRefusalsInARow = 0
  state.classifier = afterSuccess(state.classifier)
  if (state.failuresInARow === 0 && nowMs >= state.blockedUntilMs) state.upstream = 'ok'
}

function consequenceOf(context: StepContext, failure: Failure & Timing): Consequence {
  if (failure.kind === 'too_many') return judged(context, failure)
  const { state, config, nowMs } = context
  state.failuresInARow += 1
  state.failingSinceMs ??= nowMs
  const lastingMs = Math.max(0, nowMs - state.failingSinceMs) * SHARE_OF_OUTAGE
  if (failure.kind === 'unauthorised') {
    state.upstream = 'unauthorised'
    state.keyRefusalsInARow += 1
    const maxMs = Math.max(LONGEST_UNAUTHORISED_MS, Math.min(RAREST_UNAUTHORISED_MS, lastingMs))
    const waitMs = backoffMs(state.keyRefusalsInARow, { ...UNAUTHORISED, maxMs }, config.chance)
    return { result: 'client_error', cause: null, waitMs, advisedMs: 0 }
  }
  state.upstream = 'failing'
  const usualMs = Math.max(LONGEST_FAILING_MS, config.pacing.meanIntervalMs)
  const maxMs = failure.sent ? Math.max(usualMs, Math.min(RAREST_FAILING_MS, lastingMs)) : LONGEST_UNSENT_MS
  const waitMs = backoffMs(state.failuresInARow, { ...FAILING, maxMs }, config.chance)
  return { result: resultOf(failure), cause: null, waitMs, advisedMs: 0 }
}

/** Classifies a 429 and remembers the verdict in the state. */
function judged(
  context: StepContext,
  failure: Extract<Failure, { kind: 'too_many' }> & Timing,
): Consequence & { cause: Cause } {
  const { state, config, nowMs } = context
  const quota = quotaAt(state.ledger, config.weeklyQuota, config.quotaReset, nowMs)
  const { state: classifier, verdict } = classify429(
    state.classifier,
    {
      retryAfterMs: askedWaitMs(failure, nowMs),
      leftShare: quota.remaining / quota.limit,
      resetMs: config.quotaReset === 'rolling' ? null : quota.resetMs,
      refillMs: config.breathMs,
      nowMs,
    },
    config.chance,
  )
  state.classifier = classifier
  state.upstream = verdict.kind === 'quota' ? 'quota' : 'throttled'
  const result = verdict.kind === 'quota' ? 'quota' : 'throttled'
  const { kind: cause, waitMs, advisedMs } = verdict
  const mostMs = Math.min(waitMs, untilOpeningMs(context))
  return { result, cause, waitMs: Math.max(advisedMs, mostMs), advisedMs }
}

/**
 * Time until the release hours of today begin: no wait after a 429 goes past them, unless upstream asks for it. Infinite
 * after that moment.
 */
function untilOpeningMs({ state, config, nowMs }: StepContext): number {
  const presentMs = nowMs + skewsMs(state)[0]
  const { calendar } = config
  const openingMs = calendar.releaseWindow(calendar.londonDate(presentMs))?.fromMs ?? presentMs
  return openingMs > presentMs ? openingMs - presentMs : Number.POSITIVE_INFINITY
}

/** Takes a unit for a retry after that wait, where it is sooner than a poll; false where none is left. */
function payForRetry(context: StepContext, waitMs: number, is429: boolean): boolean {
  const { state, config, nowMs } = context
  if (waitMs >= config.pacing.meanIntervalMs) return true
  const [fewest, share] = is429 ? sharesAfter429(context) : [FEWEST_RETRIES, RETRY_SHARE]
  const unitsAWeek = Math.max(fewest, config.weeklyQuota * share)
  const which = is429 ? 'refused' : 'failed'
  const left = takeRetry(state.retries[which], unitsAWeek, nowMs)
  if (left === null) return false
  state.retries = { ...state.retries, [which]: left }
  return true
}

function sharesAfter429(context: StepContext): readonly [fewest: number, share: number] {
  return isFarFromSpent({ leftShare: leftShare(context) }) && !context.state.classifier.isWary
    ? [FAR_FEWEST_RETRIES_429, FAR_RETRY_SHARE_429]
    : [FEWEST_RETRIES_429, RETRY_SHARE_429]
}

function leftShare({ state, config, nowMs }: StepContext): number {
  const { remaining, limit } = quotaAt(state.ledger, config.weeklyQuota, config.quotaReset, nowMs)
  return remaining / limit
}

function detailsOf(failure: Failure): Record<string, unknown> {
  if (failure.kind === 'timeout') return { phase: failure.phase }
  if (failure.kind === 'invalid') return { reason: failure.reason }
  if (failure.kind === 'network') return { reason: failure.message }
  const reason = oneLine(failure)
  return {
    ...(failure.kind === 'too_many' ? { retryAfter: failure.retryAfter } : { status: failure.status }),
    ...(reason !== '' && { reason }),
  }
}
