/** Explains why no poll found an item earlier: which poll could have seen it, and why it did not, or why none was made. */
import type { PollHolds } from '../../archive/journeys.ts'
import { durationWords, SECOND_MS } from '../../core/durations.ts'
import type { PollResult } from '../../obs/metrics.ts'
import type { MadeRequest, RequestsAround } from './journey-facts.ts'
import { explainingHold, holdCauses } from './poll-holds.ts'

/** Why an item waited for the request that found it. */
export const waitCauses = [
  'planned',
  'throttled',
  'quota',
  'refused',
  'upstream_failing',
  'upstream_late',
  'no_leader',
  ...holdCauses,
  'page_scan',
  'overflow',
  'gap',
  'behind_cursor',
  'unknown',
] as const
/** One of them. */
export type WaitCause = (typeof waitCauses)[number]

/** A poll that is known of: one that is kept singly, or the last good one, by the time of its answer, that an event keeps. */
export type KnownPoll = Pick<MadeRequest, 'atMs' | 'result' | 'plannedMs' | 'durationMs'>

/** The wait for a poll. */
export interface PollWait {
  cause: WaitCause
  /** The cause as a clause that follows "because". */
  because: string
  /** The last poll before the item was published; null where none is kept. */
  before: KnownPoll | null
  /** Polls that could have seen it, and brought no page or one without it. */
  missed: readonly KnownPoll[]
}

/** What a wait is explained from; `askedMs`: when the poll that found it left. */
export interface WaitFacts {
  publishedMs: number
  askedMs: number
  /** From the answer of the last good poll before to `askedMs`; undefined where that is not kept. */
  sincePollMs: number | undefined
  /** The planned time between the two; undefined where that is not kept. */
  plannedMs: number | undefined
  holds: PollHolds
  around: RequestsAround | null
}

/** Upstream's times have whole seconds, and its clock is known to about a second. */
const CLOCK_MS = 2 * SECOND_MS
/** A poll may leave so much later than planned, in parts of the interval, before the plan is no explanation. */
const LATENESS = 0.25

/** Explains the wait. */
export function pollWait(facts: WaitFacts): PollWait {
  const { publishedMs } = facts
  const { polls, kept } = knownPolls(facts)
  const couldSee = (poll: KnownPoll): boolean =>
    poll === kept ? poll.atMs > publishedMs + CLOCK_MS : poll.atMs >= publishedMs
  const before = polls.findLast((poll) => !couldSee(poll)) ?? null
  const missed = polls.filter((poll) => couldSee(poll) && !mayBeUnstored(poll, facts))
  const plan = planOf(facts, before)
  const [cause, because] = whyHeld(facts, missed, plan) ??
    whyMissed(facts, missed) ??
    whySummed(facts) ??
    whyNone(facts, before, plan) ?? ['unknown', unknownWords(facts)]
  return { cause, because, before, missed }
}

/** The polls before the one that found the item, in order. `kept`: the last good one, where only the event keeps it. */
function knownPolls({ askedMs, sincePollMs, plannedMs, around }: WaitFacts): {
  polls: readonly KnownPoll[]
  kept: KnownPoll | null
} {
  const polls = (around?.requests ?? []).filter(isPollRequest).filter(({ atMs }) => atMs < askedMs)
  if (sincePollMs === undefined) return { polls, kept: null }
  const answeredMs = askedMs - sincePollMs
  if (pollAnsweredAt(polls, answeredMs) !== undefined) return { polls, kept: null }
  const later = polls.filter(({ atMs }) => atMs > answeredMs)
  // What is planned is kept of the poll before the item's, which may have failed since.
  const isLast = later.length === 0 && (around?.summed.failed ?? 0) === 0
  const kept: KnownPoll = {
    atMs: answeredMs,
    result: 'empty',
    plannedMs: isLast ? (plannedMs ?? null) : null,
    durationMs: null,
  }
  return { polls: [...polls.filter(({ atMs }) => atMs <= answeredMs), kept, ...later], kept }
}

/** The good poll whose answer was read at that time; undefined where it is not among them. */
export function pollAnsweredAt(
  requests: readonly MadeRequest[],
  answeredMs: number,
): MadeRequest | undefined {
  const last = requests.findLast((one) => isPollRequest(one) && isGood(one) && one.atMs <= answeredMs)
  return last !== undefined && answeredMs - last.atMs - (last.durationMs ?? 0) <= CLOCK_MS ? last : undefined
}

/** True for a good poll while the log could not be written: it may have brought the item, which a later one brought again. */
function mayBeUnstored(poll: KnownPoll, { holds: { outage } }: WaitFacts): boolean {
  if (outage === null || !isGood(poll)) return false
  return poll.atMs + (poll.durationMs ?? 0) >= outage.fromMs - CLOCK_MS && poll.atMs <= outage.toMs
}

/** From the poll before to the one that found the item, and what was planned between them; null where that is not known. */
interface PlannedInterval {
  intervalMs: number
  plannedMs: number
}

function planOf(
  { askedMs, sincePollMs, plannedMs }: WaitFacts,
  before: KnownPoll | null,
): PlannedInterval | null {
  const planned = plannedMs ?? before?.plannedMs ?? null
  const intervalMs = sincePollMs ?? (before === null ? null : askedMs - before.atMs)
  return planned === null || intervalMs === null ? null : { intervalMs, plannedMs: planned }
}

function isAsPlanned({ intervalMs, plannedMs }: PlannedInterval): boolean {
  return intervalMs <= plannedMs * (1 + LATENESS) + CLOCK_MS
}

type Why = [cause: WaitCause, because: string]

/** True where it brought a page. */
export function isGood({ result }: Pick<MadeRequest, 'result'>): boolean {
  return result === 'new' || result === 'empty'
}

/** True for polls, also those for a new cursor. */
function isPollRequest({ purpose }: Pick<MadeRequest, 'purpose'>): boolean {
  return purpose === 'poll' || purpose === 'probe'
}

/** A hold explains what it covers most of: the whole wait, or what a poll was later than planned, if no poll was without the item. */
function whyHeld(
  { publishedMs, askedMs, holds }: WaitFacts,
  missed: readonly KnownPoll[],
  plan: PlannedInterval | null,
): Why | null {
  const seen = missed.findLast(isGood)
  const dueMs = plan === null ? publishedMs : askedMs - plan.intervalMs + plan.plannedMs
  const fromMs = Math.max(publishedMs, dueMs, seen?.atMs ?? publishedMs)
  const isLate = seen === undefined && (plan === null || !isAsPlanned(plan))
  const hold = explainingHold(holds, fromMs, askedMs, askedMs - (isLate ? fromMs : publishedMs))
  return hold === null ? null : [hold.cause, hold.because]
}

function whyMissed({ publishedMs }: WaitFacts, missed: readonly KnownPoll[]): Why | null {
  const last = missed.at(-1)
  if (last === undefined) return null
  if (isGood(last)) return withoutIt(last.atMs - publishedMs)
  const failed = missed.filter((poll) => !isGood(poll))
  const count = `${failed.length} of ${missed.length} ${missed.length === 1 ? 'poll' : 'polls'}`
  return failedWith(last.result, `${count} after its time`)
}

function failedWith(result: PollResult, which: string, then = ''): Why {
  if (result === 'throttled')
    return ['throttled', `upstream throttled the bridge: it answered ${which} with 429${then}`]
  if (result === 'quota')
    return ['quota', `upstream said that the quota was spent, in answer to ${which}${then}`]
  if (result === 'client_error')
    return ['refused', `upstream refused ${which}${then}; see the key and bridge doctor`]
  return ['upstream_failing', `upstream did not answer ${which} properly (${result})${then}`]
}

function withoutIt(afterMs: number): Why {
  const after = afterMs > 0 ? `${durationWords(afterMs)} after its time` : 'after its time'
  return ['upstream_late', `upstream showed it late: a poll ${after} got an answer without it`]
}

function whySummed({ around }: WaitFacts): Why | null {
  const { polls = 0, failed = 0 } = around?.summed ?? {}
  if (failed === 0) return null
  return ['upstream_failing', `upstream answered ${failed} of ${polls} polls of these minutes with an error`]
}

/** Why no poll was made between the last one before the item and the one that found it. */
function whyNone(
  { publishedMs, askedMs, around }: WaitFacts,
  before: KnownPoll | null,
  plan: PlannedInterval | null,
): Why | null {
  const requests = around?.requests ?? []
  const newLeader = requests.find(({ leaderSinceMs }) => leaderSinceMs > publishedMs)
  if (newLeader !== undefined) {
    const after = durationWords(newLeader.leaderSinceMs - publishedMs)
    return ['no_leader', `no process polled: the one that found it began to lead ${after} after its time`]
  }
  if (before !== null && !isGood(before))
    return failedWith(before.result, 'the poll before it', ', and the next one waited')
  if (plan === null) return null
  const { intervalMs, plannedMs } = plan
  if (isAsPlanned(plan)) return ['planned', `polls were planned every ${durationWords(plannedMs)} then`]
  const scans = requests.filter((one) => !isPollRequest(one) && one.atMs >= publishedMs && one.atMs < askedMs)
  if (scans.length > 0)
    return ['page_scan', `a page scan of ${scans.length} requests went before the next poll`]
  return [
    'unknown',
    `the next poll was planned ${durationWords(plannedMs)} after the one before, left after ${durationWords(intervalMs)}, and why is not kept`,
  ]
}

function unknownWords({ publishedMs, askedMs, around }: WaitFacts): string {
  if ((around?.summed.polls ?? 0) > 0)
    return 'polls were so frequent that only sums by minute are kept, and which one could have seen it is not'
  return `no poll was made for ${durationWords(askedMs - publishedMs)}, and why is not kept`
}
