/** Says of a status, in words, whether the bridge works, whether anything is missing, and how late it is. Pure. */
import type { OpenGapAnswer, StatusAnswer } from '../../shell/answers.ts'
import { judgedAtMs, type Reported } from '../../shell/status-watch.ts'
import type { StateTone } from '../state.ts'
import { inWholeSeconds, inWords, millisOf, shortMoment } from '../times.ts'
import { type Delays, OTHER_CLOCK_MS } from './delays.ts'

/** The answer to one question. */
export interface GlanceAnswer {
  tone: StateTone
  /** A few words. */
  answer: string
  /** A sentence or two. */
  detail: string
}

/** The answers to the three questions; `late` is null while the page waits for the first delays. */
export interface Glance {
  working: GlanceAnswer
  missing: GlanceAnswer
  late: GlanceAnswer | null
}

/** What else the answers are made of; null: not known. */
export interface GlanceFacts {
  delays: Delays | null
  /** Why there are no newer delays; null where there are. */
  delaysProblem: { detail: string } | null
  /** Gaps that were given up, as far as their events are kept. */
  givenUp: readonly Pick<OpenGapAnswer, 'from' | 'to'>[] | null
  /** Why those are not known; null where they are, or are asked for. */
  givenUpProblem: { detail: string } | null
}

type Polling = NonNullable<StatusAnswer['polling']>

/** A pause before the next poll that is worth a word. */
const LONG_PAUSE_MS = 90_000
/** A poll that is overdue by this much was not made. */
const OVERDUE_MS = 30_000
/** A leader reports every 5 s, and another takes over within seconds. */
const SILENT_LEADER_MS = 60_000
/** A poll that fails once is tried again sooner than that. */
const FAILING_MS = 30_000
const LATE_MS = 120_000
/** More than a tenth of them waited that long, as after an outage. */
const LATE_MOST_MS = 15 * 60_000

/** The status alone is judged. */
const NOTHING_ELSE: GlanceFacts = { delays: null, delaysProblem: null, givenUp: [], givenUpProblem: null }

/** The three answers. `presentMs`: the bridge's present. */
export function glanceOf(reported: Reported, presentMs: number, facts: GlanceFacts = NOTHING_ELSE): Glance {
  const { delays, delaysProblem } = facts
  // Without an answer nothing is judged, and times are told as from the present.
  const nowMs = reported.problem === null ? judgedAtMs(reported, presentMs) : presentMs
  const blind = blindSince(reported, nowMs)
  return {
    working: workingOf(reported, nowMs),
    missing: missingOf(reported, nowMs, blind, facts),
    late:
      delays === null && delaysProblem === null && blind === null
        ? null
        : lateOf(reported, nowMs, blind, facts),
  }
}

/** Whether what the status says of the upstream and its gaps may be old. `presentMs`: the bridge's present. */
export function isOldNews(reported: Reported, presentMs: number): boolean {
  return blindSince(reported, judgedAtMs(reported, presentMs)) !== null
}

/** Why nothing is known of the newest time, and where that begins; `sinceMs` null: nothing was known before. */
interface Blind {
  sinceMs: number | null
  why: string
}

/**
 * Since when nobody knows what the upstream published: nothing is polled, or what the page shows is old. null where all is known.
 */
function blindSince({ status, problem, atMs }: Reported, nowMs: number): Blind | null {
  if (problem !== null && problem.kind !== 'signed_out') {
    return { sinceMs: atMs, why: 'The bridge does not answer.' }
  }
  if (status === null) return null
  const { leader, upstream, polling, asOf } = status
  const [heardMs, lastMs, nextMs] = [asOf, upstream.lastGoodPoll, upstream.nextPoll].map(millisOf)
  if (leader.id === null || heardMs == null) return { sinceMs: lastMs ?? null, why: 'Nobody polls.' }
  if (nowMs - heardMs > SILENT_LEADER_MS) {
    return { sinceMs: lastMs ?? heardMs, why: 'The process that polls is silent.' }
  }
  if (polling?.paused === true) {
    return { sinceMs: lastMs ?? millisOf(polling.since), why: 'Polling is paused.' }
  }
  if (lastMs == null) return { sinceMs: null, why: 'No poll has brought an answer yet.' }
  const isOverdue = nextMs != null && nowMs - nextMs > OVERDUE_MS
  const fails = upstream.state !== 'ok' && nowMs - lastMs > FAILING_MS
  if (isOverdue || fails) return { sinceMs: lastMs, why: 'No poll has brought an answer since.' }
  return null
}

function notKnown({ sinceMs, why }: Blind, nowMs: number, before: string): GlanceAnswer {
  if (sinceMs === null) return { tone: 'idle', answer: 'Not known yet', detail: why }
  return {
    tone: 'notice',
    answer: `Not known since ${shortMoment(sinceMs, nowMs)}`,
    detail: `${why} ${before}`.trim(),
  }
}

const order: readonly StateTone[] = ['good', 'idle', 'notice', 'bad']

/** The worst of them. */
export function overallTone({ working, missing, late }: Glance): StateTone {
  const tones = [working, missing, ...(late === null ? [] : [late])].map(({ tone }) => tone)
  return tones.reduce((worst, tone) => (order.indexOf(tone) > order.indexOf(worst) ? tone : worst), 'good')
}

function workingOf({ status, problem }: Reported, nowMs: number): GlanceAnswer {
  if (problem !== null && problem.kind !== 'signed_out') {
    return { tone: 'bad', answer: 'No answer', detail: problem.detail }
  }
  if (status === null) return { tone: 'idle', answer: 'Asking', detail: 'Waiting for the first answer.' }
  const { leader, upstream, polling, asOf } = status
  if (polling?.paused === true) return pausedWords(polling, nowMs)
  const heardMs = millisOf(asOf)
  if (leader.id === null || heardMs === null) {
    return {
      tone: 'bad',
      answer: 'Nobody polls',
      detail:
        'No process leads, so the upstream is not asked for anything new. One takes over by itself within seconds.',
    }
  }
  if (nowMs - heardMs > SILENT_LEADER_MS) {
    const detail = `The process that polls was last heard of ${inWholeSeconds(nowMs - heardMs)} ago.`
    return { tone: 'bad', answer: 'Leader silent', detail }
  }
  const lastMs = millisOf(upstream.lastGoodPoll)
  const last =
    lastMs === null ? 'no good answer yet' : `last good answer ${inWholeSeconds(nowMs - lastMs)} ago`
  const refused = refusalWords[upstream.state ?? 'unknown']
  if (refused !== undefined) return { ...refused, detail: `${refused.detail} Upstream: ${last}.` }
  return pollingWords(millisOf(upstream.nextPoll), last, nowMs)
}

/** Comes first: whatever else is wrong, nothing is polled before an operator resumes. */
function pausedWords({ since, by, reason }: Polling, nowMs: number): GlanceAnswer {
  const sinceMs = millisOf(since)
  const time = sinceMs === null ? '' : ` since ${shortMoment(sinceMs, nowMs)}`
  const who = by === null ? 'An operator' : by
  const why = reason === null ? '' : ` Reason: ${reason}`
  return {
    tone: 'bad',
    answer: 'Polling paused',
    detail: `${who} has paused polling${time}; bridge admin resume ends it.${why}`,
  }
}

/** What to say of a state of the upstream in which polls do not bring anything. */
const refusalWords: Readonly<Record<string, GlanceAnswer>> = {
  throttled: {
    tone: 'notice',
    answer: 'Slowed down',
    detail:
      'The upstream refuses some requests as too many at a time; the bridge polls less and goes on by itself.',
  },
  quota: {
    tone: 'bad',
    answer: 'Quota spent',
    detail: "The week's units are spent. Polling goes on when units come back.",
  },
  unauthorised: {
    tone: 'bad',
    answer: 'Key refused',
    detail: 'The upstream refuses the key. The operator has to set BRIDGE_UPSTREAM_KEY.',
  },
  failing: {
    tone: 'bad',
    answer: 'Upstream fails',
    detail: 'The upstream does not answer well. The bridge tries again by itself and reads what it missed.',
  },
  waiting: { tone: 'idle', answer: 'Starting', detail: 'The first request is not answered yet.' },
  unknown: { tone: 'idle', answer: 'Not known', detail: 'The leader has not reported about the upstream.' },
}

function pollingWords(nextMs: number | null, last: string, nowMs: number): GlanceAnswer {
  if (nextMs === null) return { tone: 'good', answer: 'Yes', detail: `Polling: ${last}.` }
  const waitMs = nextMs - nowMs
  if (waitMs < -OVERDUE_MS) {
    const detail = `The next poll was due ${inWholeSeconds(-waitMs)} ago; ${last}.`
    return { tone: 'notice', answer: 'Poll overdue', detail }
  }
  if (waitMs > LONG_PAUSE_MS) {
    const until = shortMoment(nextMs, nowMs)
    const detail = `Silence until ${until} is planned (${inWords(waitMs)}); ${last}.`
    return { tone: 'good', answer: 'Yes, at rest', detail }
  }
  const next = waitMs < 1000 ? 'the next now' : `the next in ${inWholeSeconds(waitMs)}`
  return { tone: 'good', answer: 'Yes', detail: `Polling: ${last}, ${next}.` }
}

function missingOf(
  { status }: Reported,
  nowMs: number,
  blind: Blind | null,
  { givenUp, givenUpProblem }: GlanceFacts,
): GlanceAnswer {
  if (status === null) {
    return blind === null ? { tone: 'idle', answer: 'Asking', detail: '' } : notKnown(blind, nowMs, '')
  }
  const { gaps, copy, completeness, unreconciled, upstream } = status
  // Gaps are dated by upstream's clock.
  const marketMs = nowMs + (upstream.aheadMs ?? 0)
  if (gaps === null) {
    const detail = 'No leader has reported its gaps to this node.'
    return { tone: 'idle', answer: 'Not known', detail }
  }
  const lost = givenUp === null || givenUp.length === 0 ? '' : lostWords(givenUp, marketMs)
  if (gaps.length > 0) {
    const others = gaps.length === 1 ? '' : ` ${gaps.length - 1} more like it.`
    const late = blind === null ? '' : ` ${blind.why}`
    const detail = `${spanWords(gaps, marketMs)} announcements may be missing; the bridge goes on looking for them.${others}${lost}${late}`
    return { tone: 'bad', answer: gaps.length === 1 ? 'Maybe: 1 gap' : `Maybe: ${gaps.length} gaps`, detail }
  }
  if (blind !== null) return notKnown(blind, nowMs, `No gap was open then.${lost}`)
  if (copy.filled < 1) {
    const detail = `This node is still reading the log: ${Math.floor(copy.filled * 100)} % is here.`
    return { tone: 'notice', answer: 'Not here yet', detail }
  }
  if (givenUp === null) {
    const detail = `No gap is open. Gaps that were given up ${givenUpProblem === null ? 'are asked for.' : `are not known: ${givenUpProblem.detail}`}`
    return { tone: 'idle', answer: givenUpProblem === null ? 'Asking' : 'Not known', detail }
  }
  const sure = certainty(completeness, unreconciled, marketMs)
  if (givenUp.length > 0) {
    const answer = `For good: ${givenUp.length} gap${givenUp.length === 1 ? '' : 's'}`
    return { tone: 'notice', answer, detail: `No gap is open.${lost} ${sure}`.trim() }
  }
  return { tone: 'good', answer: 'No', detail: `No gap is open. ${sure}`.trim() }
}

function lostWords(givenUp: NonNullable<GlanceFacts['givenUp']>, nowMs: number): string {
  const others = givenUp.length === 1 ? '' : ` ${givenUp.length - 1} more like it.`
  return ` ${spanWords(givenUp, nowMs)} announcements may be missing for good: the bridge has given that gap up.${others}`
}

/** The first of the spans in words. */
function spanWords([first]: readonly Pick<OpenGapAnswer, 'from' | 'to'>[], nowMs: number): string {
  const [from, to] = [first?.from, first?.to].map((iso) => shortMoment(millisOf(iso) ?? nowMs, nowMs))
  return `Between ${from} and ${to}`
}

/** How sure the bridge can be, by what the plan pays for. */
function certainty(
  completeness: NonNullable<Reported['status']>['completeness'],
  unreconciled: readonly { from: string; to: string }[] | null,
  nowMs: number,
): string {
  if (completeness === 'polls+fills') return 'The plan has no units to read days a second time.'
  if (completeness === '+sweeps') return 'The newest hours are read a second time; whole days are not.'
  const fromMs = millisOf(unreconciled?.[0]?.from)
  if (completeness === null || unreconciled === null) return ''
  if (fromMs === null) return 'Every day was read a second time to its end.'
  return `Not read a second time yet: what came since ${shortMoment(fromMs, nowMs)}.`
}

function lateOf(
  { status }: Reported,
  nowMs: number,
  blind: Blind | null,
  { delays, delaysProblem }: GlanceFacts,
): GlanceAnswer {
  const before = delays === null || delays.count === 0 ? '' : `Before that: ${delayWords(delays, status)}`
  if (blind !== null) return notKnown(blind, nowMs, before)
  if (delaysProblem !== null || delays === null) {
    const detail = `The newest announcements are not known: ${delaysProblem?.detail ?? ''} ${before}`.trim()
    return { tone: 'notice', answer: 'Not known', detail }
  }
  const lagSeconds = status?.copy.lagSeconds ?? 0
  const behind = lagSeconds >= 5 ? ` This node is ${inWords(lagSeconds * 1000)} behind the log.` : ''
  const { count, medianMs, mostMs, older } = delays
  if (count === 0) {
    const why =
      older > 0
        ? `The newest ${older} announcements were old when they were read.`
        : 'Nothing has arrived yet.'
    return { tone: 'idle', answer: 'Not known yet', detail: `${why}${behind}` }
  }
  const isLate = medianMs > LATE_MS || mostMs > LATE_MOST_MS || behind !== ''
  return {
    tone: isLate ? 'notice' : 'good',
    answer: inWords(medianMs),
    detail: `${delayWords(delays, status)}${behind}`,
  }
}

function delayWords({ count, medianMs, mostMs }: Delays, status: Reported['status']): string {
  return `Half of the newest ${count} announcements were here ${inWords(medianMs)} after publication, nine of ten within ${inWords(mostMs)}${clockWords(status?.upstream.aheadMs ?? 0)}.`
}

function clockWords(aheadMs: number): string {
  if (Math.abs(aheadMs) < OTHER_CLOCK_MS) return ''
  return `, by upstream’s clock, which is ${inWords(Math.abs(aheadMs))} ${aheadMs < 0 ? 'behind' : 'ahead'}`
}
