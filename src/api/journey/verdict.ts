/** Judges the way of an event in one sentence: whether it was late, and why. */
import { durationWords, SECOND_MS } from '../../core/durations.ts'
import { type JourneyFacts, publishedMs } from './journey-facts.ts'
import { type JourneySpan, type SpanCause, THIS_NODE } from './segments.ts'

/** Up to here an event counts as on time, from its time upstream to a reader, ms. */
export const ON_TIME_MS = 5 * SECOND_MS

/** The verdict. */
export interface JourneyVerdict {
  late: boolean
  /** Of the longest span; null where the event is not late, or no span is known. */
  cause: SpanCause | null
  /** How long that span was, ms; null as `cause`. */
  spanMs: number | null
  /** From its time upstream to the end of the span's reader, ms. */
  totalMs: number
  text: string
}

/** The verdict over these spans. */
export function journeyVerdict(facts: JourneyFacts, spans: readonly JourneySpan[]): JourneyVerdict {
  const { kind, foundBy, recordedMs } = facts
  const isAnnouncement = kind === 'announcement' && foundBy !== 'backfill'
  const startMs = isAnnouncement ? publishedMs(facts) : recordedMs
  const lengthOf = ({ fromMs, toMs }: JourneySpan): number => toMs - fromMs
  const longest = spans.toSorted((one, other) => lengthOf(other) - lengthOf(one))[0]
  const endOf = (end: string): number =>
    spans.reduce((latest, span) => (span.end === end ? Math.max(latest, span.toMs) : latest), recordedMs)
  const seenMs = Math.max(0, endOf(THIS_NODE) - startMs)
  const since = isAnnouncement ? 'its time upstream' : 'its arrival at the bridge'
  const isLate =
    seenMs > ON_TIME_MS || spans.some((span) => span.end !== THIS_NODE && lengthOf(span) > ON_TIME_MS)
  if (!isLate) {
    const text =
      foundBy === 'backfill'
        ? 'Not late: it is older than the bridge, whose first start read it with the days before.'
        : `Not late: ${durationWords(seenMs)} from ${since} to readers of this node.`
    return { late: false, cause: null, spanMs: null, totalMs: seenMs, text }
  }
  if (longest === undefined || lengthOf(longest) <= 0) {
    const text = `Late: ${durationWords(seenMs)} from ${since} to the bridge. Why is not kept: ${NOT_KEPT}.`
    return { late: true, cause: null, spanMs: null, totalMs: seenMs, text }
  }
  const totalMs = Math.max(0, endOf(longest.end) - startMs)
  const spanMs = lengthOf(longest)
  const whole = `That took ${durationWords(spanMs)} of the ${durationWords(totalMs)} from ${since} to ${longest.end}.`
  return {
    late: true,
    cause: longest.cause,
    spanMs,
    totalMs,
    text: `Late because ${longest.because}. ${whole}`,
  }
}

/** Why a part of the journey of an old event is missing. */
export const NOT_KEPT = 'this event is from before the version of the bridge that keeps it'
