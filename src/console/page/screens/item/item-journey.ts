/** Tells how an event came from the upstream into the log: its stations, each with its time and what happened there. */
import { counted, elapsedWords } from '../../parts/elapsed.ts'
import type { EventAnswer, PollAnswer } from '../../parts/reading-answers.ts'

/** One station of an event. */
export interface Station {
  /** What happened. */
  title: string
  /** When, ISO 8601; null where it is not known. */
  at: string | null
  /** How long after the last known time before it, in words; null for the first one and where a time is missing. */
  after: string | null
  /** What is known about it, a sentence each. */
  lines: readonly string[]
}

/** Where the log is stored, as `GET /v1/status` says. */
export type LogKind = 'kafka' | 'embedded' | 'memory'

interface FoundWords {
  title: string
  line: string
}

const FOUND: Readonly<Record<string, FoundWords>> = {
  poll: { title: 'Found by a poll', line: 'It was on the newest page of the upstream.' },
  fill: {
    title: 'Found by a fill',
    line: 'More items had come than fit on the page of a poll. The bridge fetched the rest, and this was among it.',
  },
  sweep: {
    title: 'Found by a re-scan',
    line: 'It became visible behind the cursor, where no poll looks again. A second reading of that time found it.',
  },
  backfill: {
    title: 'Found by the backfill',
    line: 'It is older than the bridge, which read past days on its first start.',
  },
}

/** What else is known; null: not known. */
export interface JourneyContext {
  logKind: LogKind | null
  /** The upstream's clock minus the bridge's at present, ms. */
  aheadMs: number | null
  /** The request that brought it, see `foundRequest`. */
  request?: PollAnswer | null
  /** Puts a time into words. */
  momentOf?: (iso: string) => string
}

/** The upstream's clock minus the bridge's, ms; 0 where they count as one. `isThen`: when the item came, not at present. */
interface ClockDifference {
  aheadMs: number
  isThen: boolean
}

/** Clocks that differ by less are taken for the same: the difference is known to a second or two only. */
const SAME_CLOCK_MS = 60_000

/** The stations from the upstream to the topics. */
export function journeyOf(event: EventAnswer, context: JourneyContext): Station[] {
  const { logKind, request = null, momentOf = (iso) => iso } = context
  const clock = clockDifference(context)
  const isGap = event.type.startsWith('bridge.gap.')
  const found = FOUND[event.foundBy ?? '']
  return [
    isGap
      ? { title: 'The gap changed', at: event.time, after: null, lines: clockLines(clock) }
      : {
          title: 'Published upstream',
          at: event.time,
          after: null,
          lines: [...clockLines(clock), ...upstreamLines(event)],
        },
    {
      title: isGap ? 'Noticed by the bridge' : (found?.title ?? 'Received'),
      at: event.recordedtime,
      after: afterWords(event.time, event.recordedtime, clock),
      lines: isGap
        ? []
        : [
            found?.line ?? 'How it was found is not known: an older version of the bridge stored it.',
            ...(request === null ? [] : [requestWords(request, momentOf)]),
          ],
    },
    {
      title: 'Committed',
      at: event.committedTime,
      after: afterWords(event.recordedtime, event.committedTime),
      lines: [
        `Sequence ${Number(event.sequence).toLocaleString('en-GB')} of epoch ${event.epoch}.`,
        ...(event.committedTime === null
          ? ['When is not known: an older version of the bridge stored it.']
          : logKind === 'kafka'
            ? ['By the clock of the Kafka broker.']
            : []),
      ],
    },
    { title: 'Topics', at: null, after: null, lines: topicLines(event.topics, logKind) },
  ]
}

function clockDifference({ aheadMs, request = null }: JourneyContext): ClockDifference {
  const upstreamAt = request?.upstreamAt ?? null
  const isThen = request !== null && upstreamAt !== null
  const ms = isThen ? Date.parse(upstreamAt) - Date.parse(request.at) : (aheadMs ?? 0)
  return { aheadMs: Math.abs(ms) < SAME_CLOCK_MS ? 0 : ms, isThen }
}

function clockLines({ aheadMs, isThen }: ClockDifference): string[] {
  if (aheadMs === 0) return []
  const far = `${elapsedWords(aheadMs)} ${aheadMs < 0 ? 'behind' : 'ahead of'} the bridge’s`
  return [`By the upstream’s clock, which ${isThen ? `was ${far}` : `is ${far} now`}.`]
}

function upstreamLines({ late, aheadof }: EventAnswer): string[] {
  return [
    ...(aheadof === undefined
      ? []
      : [`Its time was ahead of the upstream’s present, which was ${aheadof}. The bridge counts with that.`]),
    ...(late === 'true' ? ['Late: an event with a later time had been published before it.'] : []),
  ]
}

function topicLines(topics: readonly string[] | null, logKind: LogKind | null): string[] {
  if (topics === null) return ['Not known: an older version of the bridge wrote it.']
  const names = topics.join(', ')
  return logKind === 'embedded' || logKind === 'memory'
    ? [`${names}.`, 'The log is one file here. On Kafka these topics would hold it.']
    : [`${names}.`]
}

/**
 * A difference of two times in words, e.g. `+1.24 s`. Two clocks may take part: a time before that of the station before it is
 * said to be so, not hidden. `clock`: by how much the clock of `before` is ahead of the other.
 */
export function afterWords(
  before: string,
  after: string | null,
  clock: ClockDifference = { aheadMs: 0, isThen: true },
): string | null {
  if (after === null) return null
  const ms = Date.parse(after) - (Date.parse(before) - clock.aheadMs)
  if (Number.isNaN(ms)) return null
  if (ms < 0) return `${elapsedWords(ms)} before, by another clock`
  // The clocks may have differed otherwise when the item came.
  return clock.aheadMs === 0 || clock.isThen ? `+${elapsedWords(ms)}` : `about +${elapsedWords(ms)}`
}

/** A document of an announcement. */
export interface DocumentLink {
  url: string
  mime: string
}

/** The documents that an item names; whatever is no pair of texts is left out. */
export function documentsOf(data: Readonly<Record<string, unknown>>): DocumentLink[] {
  const publication = Array.isArray(data.publication) ? (data.publication as unknown[]) : []
  return publication.flatMap((entry) => {
    if (typeof entry !== 'object' || entry === null) return []
    const { url, mime } = entry as Record<string, unknown>
    return typeof url === 'string' ? [{ url, mime: typeof mime === 'string' ? mime : '' }] : []
  })
}

const FOUND_BY: Readonly<Record<string, readonly string[]>> = {
  poll: ['poll', 'probe'],
  fill: ['fill'],
  sweep: ['sweep'],
  backfill: ['backfill'],
}
/** An item is held when the answer that has it is read: this much later at most, in a busy process. */
const READ_MS = 1000

/** The request that brought an event; null where it is not among those given. */
export function foundRequest(
  { foundBy, recordedtime }: Pick<EventAnswer, 'foundBy' | 'recordedtime'>,
  requests: readonly PollAnswer[],
): PollAnswer | null {
  const recordedMs = Date.parse(recordedtime)
  const purposes = FOUND_BY[foundBy ?? ''] ?? []
  const request = requests.findLast(({ at, purpose, newItems, durationMs }) => {
    const readMs = recordedMs - Date.parse(at) - (durationMs ?? Number.NaN)
    return purposes.includes(purpose) && (newItems ?? 0) > 0 && Math.abs(readMs) <= READ_MS
  })
  return request ?? null
}

function requestWords(
  { at, newItems, pageFull, nextAfterSeconds }: PollAnswer,
  momentOf: (iso: string) => string,
): string {
  const full = pageFull === true ? ' on a full page' : ''
  const next =
    nextAfterSeconds === null
      ? ''
      : ` The next poll was planned ${elapsedWords(nextAfterSeconds * 1000)} later.`
  return `The request of ${momentOf(at)} brought ${counted(newItems ?? 0, 'new item')}${full}.${next}`
}
