/** Divides the way of an event into the spans of time between its stations, each with the reason why it took so long. */
import { type PollHolds, readHolds } from '../../archive/journeys.ts'
import { durationWords } from '../../core/durations.ts'
import {
  type JourneyEndpoint,
  type JourneyFacts,
  publishedMs,
  type RequestsAround,
  requestedMs,
} from './journey-facts.ts'
import { explainingHold } from './poll-holds.ts'
import { isGood, type PollWait, pollAnsweredAt, pollWait, type WaitCause, waitCauses } from './poll-wait.ts'

/** Why a span took as long as it did. */
export const spanCauses = [...waitCauses, 'answer', 'commit', 'replication', 'endpoint'] as const
/** One of them. */
export type SpanCause = WaitCause | 'answer' | 'commit' | 'replication' | 'endpoint'

/** A span of the way. */
export interface JourneySpan {
  cause: SpanCause
  /** As a clause that follows "because". */
  because: string
  fromMs: number
  toMs: number
  /** Up to where: `this node`, or the address of an endpoint. */
  end: string
  /** True where the endpoint is paused or disabled, and the event waits for that. */
  isHeld?: boolean
}

/** The spans, and the wait for a poll, which the timeline shows too; null where no poll was waited for. */
export interface JourneySpans {
  spans: readonly JourneySpan[]
  wait: PollWait | null
}

/** Up to readers of the node that answers. */
export const THIS_NODE = 'readers of this node'

/** The spans from upstream to the readers of this node, then one for each endpoint that took the event or still waits. */
export function spansOf(facts: JourneyFacts, nowMs: number): JourneySpans {
  const { recordedMs, committedMs } = facts
  const askedMs = requestedMs(facts)
  const { spans: found, wait } = findingSpans(facts, askedMs ?? recordedMs)
  const spans: JourneySpan[] = [...found]
  const add = (cause: SpanCause, because: string, fromMs: number | null, toMs: number | null): void => {
    if (fromMs !== null && toMs !== null) spans.push({ cause, because, fromMs, toMs, end: THIS_NODE })
  }
  add('answer', 'the answer of upstream took that long', askedMs, recordedMs)
  add('commit', commitWords(facts), recordedMs, committedMs)
  const own = facts.nodes.find(({ isSelf }) => isSelf)?.reached
  const visibleMs = own?.kind === 'at' ? own.atMs : null
  add('replication', 'the copy of this node was behind the log', committedMs, visibleMs)
  for (const endpoint of facts.webhooks?.endpoints ?? []) {
    const span = deliverySpan(endpoint, committedMs ?? recordedMs, nowMs)
    if (span !== null) spans.push(span)
  }
  return { spans, wait }
}

/** From upstream to the request that found the item. */
function findingSpans(facts: JourneyFacts, askedMs: number): JourneySpans {
  const { kind, foundBy, kept, around } = facts
  const fromMs = publishedMs(facts)
  const end = THIS_NODE
  // When upstream changed an item is not told, and a gap event is not from there.
  if (kind !== 'announcement' || foundBy === null || foundBy === 'backfill') return { spans: [], wait: null }
  if (foundBy === 'sweep') return sweepSpans(facts, askedMs)
  if (foundBy === 'fill')
    return kept?.scan === 'gap_retry' ? gapSpans(facts, askedMs) : fillSpans(facts, askedMs)
  const { sincePollMs, plannedMs } = kept ?? {}
  const holds = holdsOf(facts, askedMs)
  const wait = pollWait({ publishedMs: fromMs, askedMs, sincePollMs, plannedMs, holds, around })
  return { spans: [{ ...wait, fromMs, toMs: askedMs, end }], wait }
}

/** Upstream listed it behind the cursor only if a good poll was after its time: the re-scan may also have come before the next. */
function sweepSpans(facts: JourneyFacts, toMs: number): JourneySpans {
  const { around } = facts
  const fromMs = publishedMs(facts)
  const holds = holdsOf(facts, toMs)
  const wait = pollWait({ ...WITHOUT_POLL, publishedMs: fromMs, askedMs: toMs, holds, around })
  return { spans: [{ ...whySwept(wait, around), fromMs, toMs, end: THIS_NODE }], wait }
}

function whySwept(wait: PollWait, around: RequestsAround | null): Pick<PollWait, 'cause' | 'because'> {
  const { polls = 0, failed = 0 } = around?.summed ?? {}
  if (polls > failed || wait.missed.some(isGood)) {
    const because = 'upstream listed it behind the cursor, where no poll looks: a re-scan found it'
    return { cause: 'behind_cursor', because }
  }
  if (wait.cause !== 'unknown') return wait
  return { cause: 'unknown', because: 'a re-scan found it, and which polls were made before is not kept' }
}

/** A gap is tried again long after the polls that it is about. */
function gapSpans(facts: JourneyFacts, toMs: number): JourneySpans {
  const because = 'a gap was open: what an overflow or an outage had left out could not be read at once'
  return { spans: [{ cause: 'gap', because, fromMs: publishedMs(facts), toMs, end: THIS_NODE }], wait: null }
}

/** First the wait for the poll that overflowed, whose page was full, then the fill. */
function fillSpans(facts: JourneyFacts, askedMs: number): JourneySpans {
  const { kept, around } = facts
  const fromMs = publishedMs(facts)
  const begunMs = kept?.scanMs === undefined ? askedMs : askedMs - kept.scanMs
  const leftMs = pollAnsweredAt(around?.requests ?? [], begunMs)?.atMs ?? begunMs
  const holds = holdsOf(facts, askedMs)
  const wait = pollWait({ ...WITHOUT_POLL, publishedMs: fromMs, askedMs: leftMs, holds, around })
  const filledMs = Math.max(fromMs, leftMs)
  const because = 'more had come than fits on a page, and the pages behind it were read one after the other'
  const why = explainingHold(holds, filledMs, askedMs) ?? { cause: 'overflow' as const, because }
  const spans: JourneySpan[] = [
    { ...wait, fromMs, toMs: leftMs, end: THIS_NODE },
    { ...why, fromMs: filledMs, toMs: askedMs, end: THIS_NODE },
  ]
  return { spans, wait }
}

function holdsOf({ kept }: JourneyFacts, askedMs: number): PollHolds {
  return readHolds(kept ?? {}, askedMs)
}

const WITHOUT_POLL = { sincePollMs: undefined, plannedMs: undefined } as const

function commitWords({ foundBy, logKind }: JourneyFacts): string {
  const log = logKind === 'kafka' ? 'Kafka' : 'the disk'
  return foundBy === 'poll' || foundBy === 'fill'
    ? `it waited for the rest of its overflow, or ${log} took that long`
    : `${log} took that long`
}

/** From the commit to the answer with which the endpoint took the event, or to now while it has not. */
function deliverySpan(
  { url, state, attempts, why, isHeld }: JourneyEndpoint,
  fromMs: number,
  nowMs: number,
): JourneySpan | null {
  const last = attempts.at(-1)
  if (state === null) return null
  const span = { cause: 'endpoint' as const, fromMs, end: url }
  const failed = attempts.filter(({ outcome }) => outcome !== 'ok')
  const ends = [...new Set(failed.map(({ outcome, status }) => (status === null ? outcome : `${status}`)))]
  const tries = `${failed.length} ${failed.length === 1 ? 'attempt' : 'attempts'} failed (${ends.join(', ')})`
  if (state === 'delivered' && last !== undefined) {
    const toMs = last.atMs + last.durationMs
    if (failed.length > 0) return { ...span, toMs, because: `the endpoint was not well: ${tries}` }
    const because = `its attempt left ${durationWords(Math.max(0, last.atMs - fromMs))} after the commit and took ${durationWords(last.durationMs)}`
    return { ...span, toMs, because }
  }
  if (state === 'delivered') return null
  const toMs = state === 'dead' && last !== undefined ? last.atMs + last.durationMs : nowMs
  const still = state === 'dead' ? 'the endpoint never took it' : 'the endpoint has not taken it yet'
  return { ...span, toMs, isHeld, because: [still, why ?? tries].join(': ') }
}
