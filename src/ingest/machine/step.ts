/**
 * Implements the poller's state machine: `step(state, input)` returns the next state and the actions to perform. Pure; the
 * table `transitions` has a cell for every state and input.
 */
import { backoffMs } from '../../core/backoff.ts'
import type { DayWalk } from '../../core/calendar/day-record.ts'
import { HOUR_MS, MINUTE_MS } from '../../core/durations.ts'
import { ledgerSetBack } from '../../governor/quota/time-buckets.ts'
import type { GoodPoll, Head } from '../writer-state/head.ts'
import type { WriterState } from '../writer-state/rows.ts'
import { advisedUntilMs, onProxied, refund } from './failure.ts'
import { reportFirstStart } from './first-start.ts'
import { flushQueue, isPoll, nextJob, wakeDuringRequest } from './jobs.ts'
import { planNextPoll, situationOf } from './next-poll.ts'
import { notePause, obey, pauseOrResume } from './orders.ts'
import { answerScan, wakeScan } from './page-scan.ts'
import { answerPoll } from './poll.ts'
import { clocksOf, observeClock, shownClock, sightingsOf } from './present.ts'
import { enqueue } from './publish.ts'
import { compareQuota } from './quota-drift.ts'
import { keepBackfillPage } from './scan-end.ts'
import type {
  IngestConfig,
  IngestState,
  Input,
  InputType,
  PollerAction,
  StateName,
  StepContext,
} from './state.ts'
import { initialState, UNTAUGHT } from './state.ts'

/** Waits after a failed write to the log: a second, doubling up to five minutes, because every try costs a unit. */
const BROKEN = { baseMs: 1000, factor: 2, maxMs: 5 * 60_000, jitter: 0.1 }
/** How long a leader that was ordered to step down leaves the lead to others: one that has just started joins within that. */
const STAND_BACK_MS = 10_000
/** A clock that is further from `Date` is wrong. */
const WRONG_MS = HOUR_MS
/** Smaller corrections of the clock are normal and ignored, ms. */
const SMALLEST_STEP_BACK_MS = 1000

type Of<T extends InputType> = Extract<Input, { type: T }>
type Cell<T extends InputType> = (context: StepContext, input: Of<T>) => void
type Row = { [T in InputType]: Cell<T> }

/** For inputs that may arrive late or twice and mean nothing in this state. */
const ignore = (): void => {}
/** For inputs that cannot arrive in this state: the process stops, because our code is wrong. */
const never = (context: StepContext, input: Input): never => {
  throw new Error(`the poller got the input "${input.type}" in the state "${context.state.name}"`)
}

const campaign = (context: StepContext): void => {
  leave(context)
  context.actions.push({ type: 'campaign' })
}

/** The state of a process that does not lead any more. */
const leave = (context: StepContext): void => {
  const { lastGoodPollMs, pausedSinceMs, holds } = context.state
  context.state = { ...initialState(), lastGoodPollMs, pausedSinceMs, holds, ...clocksOf(context.state) }
  context.actions.push({ type: 'abandon' })
}

const claim = (context: StepContext): void => {
  const { head, ledger, lastGoodPollMs, upstream, brokenInARow, refusedInARow } = context.state
  const { blockedUntilMs, failuresInARow, keyRefusalsInARow, failingSinceMs, classifier, retries } =
    context.state
  const { quotaDrift, pausedSinceMs, holds } = context.state
  const failures = { failuresInARow, keyRefusalsInARow, failingSinceMs, classifier, retries, quotaDrift }
  const asFarAsKnown = { head, ledger, lastGoodPollMs, upstream, brokenInARow, refusedInARow }
  const kept = {
    ...asFarAsKnown,
    ...clocksOf(context.state),
    ...failures,
    blockedUntilMs,
    pausedSinceMs,
    holds,
  }
  context.state = { ...initialState(), ...kept, name: 'claiming' }
  context.actions.push({ type: 'abandon' }, { type: 'claim' })
}

const takeOver: Cell<'claimed'> = (context, { writer, sinceMs }) => {
  const { head, ledger } = writer
  const isAfterOutage = sinceMs !== undefined || context.state.brokenInARow > 0
  if (isAfterOutage) noteOutage(context, sinceMs ?? context.nowMs, context.nowMs)
  // The clock of the process before this one may have been ahead of ours.
  const backMs = Math.max(0, (head.lastSpendMs ?? 0) - context.nowMs)
  const headNow = backMs < SMALLEST_STEP_BACK_MS ? head : withTimesBack(head, backMs)
  const untilMs = advisedUntilMs(headNow.refusedUntilMs, context.nowMs)
  const claimed = {
    head: headNow,
    ...{ ledger, profile: head.profile ?? UNTAUGHT, ...lastGoodOf(context, head) },
    plan: { ...context.state.plan, intervalMs: head.lastGood?.plannedMs ?? 0 },
    blockedUntilMs: Math.max(context.state.blockedUntilMs, untilMs),
    ...(untilMs > context.nowMs && { upstream: 'throttled' as const }),
  }
  context.state = { ...context.state, name: 'catching-up', ...claimed }
  if (headNow !== head) storeTimesBack(context)
  setUnitsBack(context, head.lastSpendMs ?? 0, head.lastGood?.skewMs ?? 0)
  context.actions.push({ type: 'await-replica', sequence: writer.head.sequence })
}

/** The last good poll of any leader and which clock it knew to be right, where it is newer than what this process knows. */
function lastGoodOf({ state, nowMs }: StepContext, { lastGood }: WriterState['head']): Partial<IngestState> {
  if (lastGood === null || lastGood.atMs <= (state.lastGoodPollMs ?? 0)) return {}
  const { atMs, skewMs, right = null } = lastGood
  // Of another process, whose clock may not be as ours is.
  const sighted = { sightings: sightingsOf(right), unfitPolls: 0, sightingSkewMs: skewMs }
  return { lastGoodPollMs: Math.min(atMs, nowMs), hasDate: null, skewMs, ...sighted }
}

/**
 * Polls at once where a new leader may and the ledger allows it. Otherwise the next poll is the one after the last good poll,
 * no later than it was planned then, so that a restart costs no unit and puts nothing off; where that is over, the one after
 * the last request.
 */
const beginPolling = (context: StepContext): void => {
  const { lastSpendMs, lastGood } = context.state.head
  const { config, nowMs } = context
  context.state.name = 'polling'
  reportFirstStart(context)
  const mayPollEarly = lastSpendMs === null || config.pacing.mayPollEarly(situationOf(context))
  const isOver = lastGood === null || planAgain(context, lastGood) <= nowMs
  if (isOver || config.isShared) {
    if (mayPollEarly) context.state.nextPollMs = nowMs
    else if (isOver) planAgain(context, { ...lastGood, atMs: lastSpendMs })
  } else if (context.state.upstream === 'waiting') context.state.upstream = 'ok'
  goOn(context)
}

/** Plans the poll after the last good one of any process. Returns when it is due. */
function planAgain(
  context: StepContext,
  { atMs, plannedMs = Number.POSITIVE_INFINITY }: Pick<GoodPoll, 'atMs' | 'plannedMs'>,
): number {
  const { state } = context
  state.nextPollMs = Math.min(planNextPoll(context, atMs), atMs + plannedMs)
  state.plan = { ...state.plan, intervalMs: Math.min(state.plan.intervalMs, plannedMs) }
  return state.nextPollMs
}

/** After a failed write the next claim reads what is durable. A fenced writer campaigns again. */
const breakDown: Cell<'broke'> = (context, { code, sinceMs }) => {
  if (code === 'fenced') return campaign(context)
  const fromMs = sinceMs ?? context.state.request?.startedMs ?? context.nowMs
  claim(context)
  context.state.brokenInARow += 1
  const waitMs = backoffMs(context.state.brokenInARow, BROKEN, context.config.chance)
  context.state.blockedUntilMs = Math.max(context.state.blockedUntilMs, context.nowMs + waitMs)
  noteOutage(context, fromMs, context.nowMs + waitMs)
}

/** The log could not be written between these times. Outages that are hardly apart are one. */
function noteOutage({ state }: StepContext, fromMs: number, toMs: number): void {
  const { outage } = state.holds
  const isSame = outage !== null && fromMs - outage.toMs < MINUTE_MS
  const whole = isSame ? { fromMs: outage.fromMs, toMs: Math.max(outage.toMs, toMs) } : { fromMs, toMs }
  state.holds = { ...state.holds, outage: whole }
}

const release = (context: StepContext): void => {
  keepBackfillPage(context)
  flushQueue(context)
  context.state.name = 'releasing'
  context.actions.push({ type: 'abandon' })
  if (!context.state.committing) context.actions.push({ type: 'release' })
}

const answer: Cell<'answered'> = (context, input) => {
  const { request, scan } = context.state
  if (request === null) return never(context, input)
  context.state.ledger = input.ledger
  observeClock(context, input.answer)
  compareQuota(context, input.answer)
  const kind = isPoll(request.purpose) ? 'poll' : 'page'
  if (input.answer.kind === 'ok') {
    context.state.tookMs = { ...context.state.tookMs, [kind]: context.nowMs - request.startedMs }
  }
  if (kind === 'poll') answerPoll(context, request.query, input.answer, input.spentMs)
  else if (scan !== null) answerScan(context, scan, input.answer, input.spentMs)
  else return never(context, input)
  goOn(context)
}

/** An abandoned request has not left: its unit comes back. */
const takeUnitBack: Cell<'unsent'> = (context, { purpose, spentMs, ledger }) => {
  context.state.ledger = ledger
  refund(context, purpose, spentMs)
  goOn(context)
}

/** A proxied request has ended. */
const afterProxied: Cell<'proxied'> = (context, { outcome, spentMs, ledger }) => {
  context.state.ledger = ledger
  onProxied(context, outcome, spentMs)
  goOn(context)
}

const settle: Cell<'committed'> = (context, { writer }) => {
  context.state.queue = context.state.queue.slice(1)
  context.state.committing = false
  context.state.brokenInARow = 0
  context.state.ledger = writer.ledger
  context.state.head = { ...context.state.head, sequence: writer.head.sequence }
  goOn(context)
}

/** Any process notes it, so that one that takes over later sends nothing either. */
const keepPause: Cell<'pause_set'> = (context, { sinceMs }) => notePause(context, sinceMs)

const setPause: Cell<'pause_set'> = (context, { sinceMs }) => {
  pauseOrResume(context, sinceMs)
  goOn(context)
}

const carryOut: Cell<'ordered'> = (context, { order }) => {
  obey(context, order)
  goOn(context)
}

const stepDown = (context: StepContext): void => {
  context.actions.push({ type: 'report', level: 'info', event: 'leader.step_down_ordered', fields: {} })
  leave(context)
  context.actions.push({ type: 'campaign', waitMs: STAND_BACK_MS })
}

const wakeUp = (context: StepContext): void => {
  if (context.state.scan !== null) wakeScan(context, context.state.scan)
  goOn(context)
}

/** After every change while leading: sends queued commits, and starts the next job when no request is in flight. */
const goOn = (context: StepContext): void => {
  flushQueue(context)
  if (context.state.request === null) nextJob(context)
  if (context.state.request !== null) wakeDuringRequest(context)
  flushQueue(context)
}

/** Items of one stop may need several commits. */
const finishRelease: Cell<'committed'> = (context) => {
  context.state.queue = context.state.queue.slice(1)
  context.state.committing = false
  flushQueue(context)
  if (!context.state.committing) context.actions.push({ type: 'release' })
}

const idle: Row = {
  started: never,
  elected: ignore,
  claimed: ignore,
  replicated: ignore,
  woke: ignore,
  answered: ignore,
  unsent: ignore,
  committed: ignore,
  proxied: ignore,
  broke: ignore,
  lost: ignore,
  pause_set: keepPause,
  ordered: ignore,
  step_down_ordered: ignore,
  stopped: release,
}

const leading: Row = {
  started: never,
  elected: never,
  claimed: never,
  replicated: ignore,
  woke: wakeUp,
  answered: answer,
  unsent: takeUnitBack,
  committed: settle,
  proxied: afterProxied,
  broke: breakDown,
  lost: campaign,
  pause_set: setPause,
  ordered: carryOut,
  step_down_ordered: stepDown,
  stopped: release,
}

/** What each input does in each state. The four leading states share a row; they differ only in the active scan. */
export const transitions: Record<StateName, Row> = {
  standby: { ...idle, started: campaign, elected: claim },
  claiming: { ...idle, claimed: takeOver, broke: breakDown, lost: campaign, step_down_ordered: stepDown },
  'catching-up': {
    ...idle,
    replicated: beginPolling,
    broke: breakDown,
    lost: campaign,
    step_down_ordered: stepDown,
  },
  polling: leading,
  filling: leading,
  rescanning: leading,
  backfilling: leading,
  releasing: {
    ...idle,
    committed: finishRelease,
    broke: (context) => void context.actions.push({ type: 'release' }),
    stopped: ignore,
  },
}

/**
 * A copy of the state at this time. When our clock was set back, every time that the state waits for is set back with it:
 * correcting the clock by an hour must not stop polls for an hour.
 */
function atTime(state: IngestState, nowMs: number): IngestState {
  const backMs = Math.max(0, state.lastSeenMs - nowMs)
  if (backMs < SMALLEST_STEP_BACK_MS) return { ...state, lastSeenMs: Math.max(state.lastSeenMs, nowMs) }
  const { head, scan, newest, hasDate, cursorSeen, failingSinceMs, failedChecks } = state
  return {
    ...state,
    lastSeenMs: nowMs,
    nextPollMs: state.nextPollMs - backMs,
    blockedUntilMs: state.blockedUntilMs - backMs,
    backfillRetryMs: state.backfillRetryMs - backMs,
    probedMs: state.probedMs - backMs,
    cursorSeen: cursorSeen === null ? null : { ...cursorSeen, atMs: cursorSeen.atMs - backMs },
    failedChecks: { ...failedChecks, againMs: failedChecks.againMs - backMs },
    failingSinceMs: failingSinceMs === null ? null : failingSinceMs - backMs,
    scansBlockedUntilMs: state.scansBlockedUntilMs - backMs,
    scan: scan === null ? null : { ...scan, startedMs: scan.startedMs - backMs },
    leadsMs: state.leadsMs.map((leadMs) => leadMs + backMs),
    // With a `Date` the items are timed by upstream's clock, which was not set.
    newest:
      newest === null
        ? null
        : {
            ...newest,
            seenMs: hasDate ? newest.seenMs : newest.seenMs - backMs,
            seenOursMs: newest.seenOursMs - backMs,
          },
    head: withTimesBack(head, backMs),
  }
}

/** The head with every time that it waits for set back. */
function withTimesBack(head: Head, backMs: number): Head {
  const { openGaps, sweep, days, round, refusedUntilMs } = head
  return {
    ...head,
    refusedUntilMs: refusedUntilMs === null ? null : refusedUntilMs - backMs,
    openGaps: openGaps.map((gap) => ({ ...gap, retryAtMs: gap.retryAtMs - backMs })),
    sweep: sweep === null ? null : { ...sweep, dueAtMs: sweep.dueAtMs - backMs },
    days: days.map((day) => (day.walk === null ? day : { ...day, walk: walkBack(day.walk, backMs) })),
    round: round === null || round.dueAtMs === null ? round : { ...round, dueAtMs: round.dueAtMs - backMs },
  }
}

/** Stores the times that were set back: the next process cannot tell that they were set by another clock. */
function storeTimesBack(context: StepContext): void {
  const { openGaps, sweep, days, round, refusedUntilMs } = context.state.head
  enqueue(context, 'poll', { events: [], head: { openGaps, sweep, days, round, refusedUntilMs } })
}

/**
 * Sets back what was counted in the ledger by a clock that was fast and is put right, and stores that: it would count until
 * its wrong time. `seenMs`: the last time by that clock; `skewMs`: upstream's `Date` minus it. Not where our clock is set to
 * before the time that `Date` had shown: then it goes wrong, and units that were set back would leave the week too early.
 */
function setUnitsBack(context: StepContext, seenMs: number, skewMs: number): void {
  const { state, nowMs } = context
  const isPutRight = nowMs < seenMs && nowMs >= seenMs + skewMs - WRONG_MS
  if (!isPutRight || skewMs > -WRONG_MS || shownClock(state) === 'ours') return
  const clock = { nowMs, backMs: -skewMs }
  const ledger = ledgerSetBack(state.ledger, clock)
  if (ledger === state.ledger) return
  state.ledger = ledger
  enqueue(context, 'poll', { events: [], clock })
}

function walkBack(walk: DayWalk, backMs: number): DayWalk {
  const { state, atMs, retryMs } = walk
  if (state === 'owed') return { ...walk, atMs: atMs - backMs }
  return retryMs === undefined ? walk : { ...walk, retryMs: retryMs - backMs }
}

/** The next state and the actions. Pure: equal arguments and equal random numbers give equal results. */
export function step(
  state: IngestState,
  input: Input,
  config: IngestConfig,
): { state: IngestState; actions: PollerAction[] } {
  const context: StepContext = { state: atTime(state, input.nowMs), actions: [], config, nowMs: input.nowMs }
  const isInformed = transitions[state.name] === leading || state.name === 'catching-up'
  if (isInformed) setUnitsBack(context, state.lastSeenMs, state.skewMs)
  const cell = transitions[state.name][input.type] as Cell<InputType>
  cell(context, input)
  return { state: context.state, actions: context.actions }
}
