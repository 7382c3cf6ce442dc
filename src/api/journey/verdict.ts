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

/**
 * The verdict over these spans. Where readers of this node had the event late, it is about that; otherwise about the endpoint that
 * waited longest. What waits for an endpoint that is paused or disabled is not late.
 */
export function journeyVerdict(facts: JourneyFacts, spans: readonly JourneySpan[]): JourneyVerdict {
  const { kind, foundBy, recordedMs } = facts
  const isAnnouncement = kind === 'announcement' && foundBy !== 'backfill'
  const startMs = isAnnouncement ? publishedMs(facts) : recordedMs
  const since = isAnnouncement ? 'its time upstream' : 'its arrival at the bridge'
  const toNode = spans.filter(({ end }) => end === THIS_NODE)
  const slow = spans.filter((span) => span.end !== THIS_NODE && lengthOf(span) > ON_TIME_MS)
  const delivery = longestOf(slow.filter(({ isHeld }) => isHeld !== true)) ?? longestOf(slow)
  const seenMs = Math.max(0, Math.max(recordedMs, ...toNode.map(({ toMs }) => toMs)) - startMs)
  if (seenMs > ON_TIME_MS) {
    const waited = delivery === undefined ? '' : ` ${endpointWords(delivery)}`
    const longest = longestOf(toNode)
    if (longest !== undefined && lengthOf(longest) > 0) return lateBy(longest, seenMs, since, waited)
    const text = `Late: ${durationWords(seenMs)} from ${since} to the bridge. Why is not kept: ${NOT_KEPT}.${waited}`
    return { late: true, cause: null, spanMs: null, totalMs: seenMs, text }
  }
  if (delivery !== undefined && delivery.isHeld !== true)
    return lateBy(delivery, Math.max(0, delivery.toMs - startMs), since, '')
  const onTime =
    foundBy === 'backfill'
      ? 'Not late: it is older than the bridge, whose first start read it with the days before.'
      : `Not late: ${durationWords(seenMs)} from ${since} to readers of this node.`
  const text = delivery === undefined ? onTime : `${onTime} ${endpointWords(delivery)}`
  return { late: false, cause: null, spanMs: null, totalMs: seenMs, text }
}

function lateBy(span: JourneySpan, totalMs: number, since: string, waited: string): JourneyVerdict {
  const { cause, because, end } = span
  const spanMs = lengthOf(span)
  const whole = `That took ${durationWords(spanMs)} of the ${durationWords(totalMs)} from ${since} to ${end}.`
  return { late: true, cause, spanMs, totalMs, text: `Late because ${because}. ${whole}${waited}` }
}

function endpointWords(span: JourneySpan): string {
  return `At ${span.end} it waited for another ${durationWords(lengthOf(span))}: ${span.because}.`
}

function lengthOf({ fromMs, toMs }: JourneySpan): number {
  return toMs - fromMs
}

function longestOf(spans: readonly JourneySpan[]): JourneySpan | undefined {
  return spans.toSorted((one, other) => lengthOf(other) - lengthOf(one))[0]
}

/** Why a part of the journey of an old event is missing. */
export const NOT_KEPT = 'this event is from before the version of the bridge that keeps it'
