/** Explains why no poll found an item earlier: which poll could have seen it, and why it did not, or why none was made. */
import { durationWords, SECOND_MS } from '../../core/durations.ts'
import type { PollResult } from '../../obs/metrics.ts'
import type { MadeRequest, RequestsAround } from './journey-facts.ts'

/** Why an item waited for the request that found it. */
export const waitCauses = [
  'planned',
  'throttled',
  'quota',
  'refused',
  'upstream_failing',
  'upstream_late',
  'no_leader',
  'page_scan',
  'overflow',
  'gap',
  'behind_cursor',
  'unknown',
] as const
/** One of them. */
export type WaitCause = (typeof waitCauses)[number]

/** The wait for a poll. */
export interface PollWait {
  cause: WaitCause
  /** The cause as a clause that follows "because". */
  because: string
  /** The last poll before the item was published; null where none is kept. */
  before: MadeRequest | null
  /** Polls that could have seen it, and brought no page or one without it. */
  missed: readonly MadeRequest[]
}

/** What a wait is explained from; `askedMs`: when the poll that found it left. */
export interface WaitFacts {
  publishedMs: number
  askedMs: number
  /** From the answer of the last good poll before to `askedMs`; undefined where that is not kept. */
  sincePollMs: number | undefined
  /** The planned time between the two; undefined where that is not kept. */
  plannedMs: number | undefined
  around: RequestsAround | null
}

/** Upstream's times have whole seconds, and its clock is known to about a second. */
const CLOCK_MS = 2 * SECOND_MS
/** A poll may leave so much later than planned, in parts of the interval, before the plan is no explanation. */
const LATENESS = 0.25

/** Explains the wait. */
export function pollWait(facts: WaitFacts): PollWait {
  const { publishedMs, askedMs, around } = facts
  const polls = (around?.requests ?? []).filter(isPollRequest).filter(({ atMs }) => atMs < askedMs)
  const before = polls.findLast(({ atMs }) => atMs < publishedMs) ?? null
  const missed = polls.filter(({ atMs }) => atMs >= publishedMs)
  const [cause, because] = whyMissed(facts, missed) ??
    whyWithout(facts) ??
    whySummed(facts) ??
    whyNone(facts, before) ?? [
      'unknown',
      `no poll was made for ${durationWords(askedMs - publishedMs)}, and why is not kept`,
    ]
  return { cause, because, before, missed }
}

type Why = [cause: WaitCause, because: string]

/** True where it brought a page. */
export function isGood({ result }: Pick<MadeRequest, 'result'>): boolean {
  return result === 'new' || result === 'empty'
}

/** True for polls, also those for a new cursor. */
export function isPollRequest({ purpose }: Pick<MadeRequest, 'purpose'>): boolean {
  return purpose === 'poll' || purpose === 'probe'
}

function whyMissed({ publishedMs }: WaitFacts, missed: readonly MadeRequest[]): Why | null {
  const last = missed.at(-1)
  if (last === undefined) return null
  if (isGood(last)) return withoutIt(last.atMs - publishedMs)
  const failed = missed.filter((poll) => !isGood(poll))
  const count = `${failed.length} of ${missed.length} ${missed.length === 1 ? 'poll' : 'polls'}`
  return failedWith(last.result, `${count} after its time`)
}

function failedWith(result: PollResult, which: string): Why {
  if (result === 'throttled')
    return ['throttled', `upstream throttled the bridge: it answered ${which} with 429`]
  if (result === 'quota') return ['quota', `upstream said that the quota was spent, in answer to ${which}`]
  if (result === 'client_error')
    return ['refused', `upstream refused ${which}; see the key and bridge doctor`]
  return ['upstream_failing', `upstream did not answer ${which} properly (${result})`]
}

function withoutIt(afterMs: number): Why {
  const after = afterMs > 0 ? `${durationWords(afterMs)} after its time` : 'after its time'
  return ['upstream_late', `upstream showed it late: a poll ${after} got an answer without it`]
}

/** The last good poll is kept with the event itself, also where polls are kept as sums. */
function whyWithout({ publishedMs, askedMs, sincePollMs }: WaitFacts): Why | null {
  if (sincePollMs === undefined) return null
  const answeredMs = askedMs - sincePollMs
  return answeredMs - publishedMs > CLOCK_MS ? withoutIt(answeredMs - publishedMs) : null
}

function whySummed({ around }: WaitFacts): Why | null {
  const { polls = 0, failed = 0 } = around?.summed ?? {}
  if (failed === 0) return null
  return ['upstream_failing', `upstream answered ${failed} of ${polls} polls of these minutes with an error`]
}

/** Why no poll was made between the last one before the item and the one that found it. */
function whyNone(
  { publishedMs, askedMs, sincePollMs, plannedMs, around }: WaitFacts,
  before: MadeRequest | null,
): Why | null {
  const requests = around?.requests ?? []
  const newLeader = requests.find(({ leaderSinceMs }) => leaderSinceMs > publishedMs)
  if (newLeader !== undefined) {
    const after = durationWords(newLeader.leaderSinceMs - publishedMs)
    return ['no_leader', `no process polled: the one that found it began to lead ${after} after its time`]
  }
  if (before !== null && !isGood(before))
    return failedWith(before.result, 'the poll before it, and it waited')
  const planned = plannedMs ?? before?.plannedMs ?? null
  const intervalMs = sincePollMs ?? (before === null ? null : askedMs - before.atMs)
  if (planned === null || intervalMs === null) return null
  if (intervalMs <= planned * (1 + LATENESS) + CLOCK_MS)
    return ['planned', `polls were planned every ${durationWords(planned)} then`]
  const scans = requests.filter((one) => !isPollRequest(one) && one.atMs >= publishedMs && one.atMs < askedMs)
  if (scans.length > 0)
    return ['page_scan', `a page scan of ${scans.length} requests went before the next poll`]
  return [
    'unknown',
    `the next poll was planned ${durationWords(planned)} after the one before, left after ${durationWords(intervalMs)}, and why is not kept`,
  ]
}
