/** Tells the way of an event as a timeline: what happened, when, and how long after the station before it. */
import { durationWords } from '../../core/durations.ts'
import type { JourneyEndpoint, JourneyFacts } from './journey-facts.ts'
import { publishedMs, requestedMs } from './journey-facts.ts'
import { isGood, type KnownPoll, type PollWait } from './poll-wait.ts'
import { NOT_KEPT } from './verdict.ts'

/** The stations of an event. */
export const journeySteps = [
  'poll_before',
  'published',
  'poll_missed',
  'requested',
  'received',
  'committed',
  'visible',
  'webhook',
  'stream',
] as const

/** One line of the timeline. */
export interface TimelineEntry {
  step: (typeof journeySteps)[number]
  /** ms since 1970; null where that is not kept. */
  atMs: number | null
  /** After the station that it follows; null where either time is not known. */
  afterMs: number | null
  text: string
  /** Of a webhook. */
  endpointId?: string
}

/** Most polls that missed the event that are listed one by one. */
const MOST_MISSED = 10
/** Clocks that are known to differ by less are taken for one. */
const SAME_CLOCK_MS = 1500

/** The timeline. `wait`: the wait for the poll that found it, if one did. */
export function timelineOf(facts: JourneyFacts, wait: PollWait | null): TimelineEntry[] {
  return [...upstreamPart(facts, wait), ...bridgePart(facts), ...readersPart(facts)]
}

function upstreamPart(facts: JourneyFacts, wait: PollWait | null): TimelineEntry[] {
  const { kind, timeMs, around } = facts
  if (kind === 'gap') return []
  const startMs = publishedMs(facts)
  const { before = null, missed = [] } = wait ?? {}
  const shown = missed.slice(0, MOST_MISSED)
  const rest = missed.length - shown.length
  const entries: TimelineEntry[] = [
    ...(before === null ? [] : [pollBefore(before)]),
    { step: 'published', atMs: timeMs, afterMs: null, text: publishedText(facts) },
    ...shown.map((poll) => pollMissed(poll, startMs)),
  ]
  const add = (text: string): void =>
    void entries.push({ step: 'poll_missed', atMs: null, afterMs: null, text })
  if (rest > 0) add(`${rest} more polls missed it.`)
  const { polls = 0, failed = 0 } = around?.summed ?? {}
  if (wait !== null && polls > 0)
    add(`Polls were so frequent that only sums by minute are kept: ${polls} then, of which ${failed} failed.`)
  if (wait !== null && around === null) add('The polls around it could not be read on this node.')
  return entries
}

function publishedText({ kind, aheadMs }: JourneyFacts): string {
  const what =
    kind === 'amendment'
      ? 'Its time upstream. It is a later content of its item: when upstream changed that is not told.'
      : 'Its time upstream.'
  if (aheadMs === null) return `${what} How far upstream’s clock was from ours is not known.`
  if (Math.abs(aheadMs) < SAME_CLOCK_MS) return what
  return `${what} Upstream’s clock was ${durationWords(Math.abs(aheadMs))} ${aheadMs > 0 ? 'ahead of' : 'behind'} ours.`
}

function pollBefore({ atMs, result, plannedMs }: KnownPoll): TimelineEntry {
  const next = plannedMs === null ? '' : ` The next was planned ${durationWords(plannedMs)} later.`
  const how = isGood({ result }) ? 'was good' : `ended with ${result}`
  return { step: 'poll_before', atMs, afterMs: null, text: `The last poll before it ${how}.${next}` }
}

function pollMissed({ atMs, result }: KnownPoll, startMs: number): TimelineEntry {
  const text = isGood({ result })
    ? 'A poll that could have seen it: the answer was without it.'
    : `A poll that could have seen it: it ended with ${result}.`
  return { step: 'poll_missed', atMs, afterMs: atMs - startMs, text }
}

const SCANS = {
  fill: 'A page of the fill that reads what an overflowing poll left out.',
  gap_retry: 'A page of a try to fill an open gap.',
  overlap_rescan: 'A page of the re-scan after a burst.',
  scheduled_rescan: 'A page of a scheduled re-scan.',
  daily_reconciliation: 'A page of the reconciliation of its day.',
  backfill: 'A page of the backfill of the first start.',
} as const

const FOUND = {
  poll: 'The poll that found it left.',
  fill: 'A page of a fill that found it was requested.',
  sweep: 'A page of a re-scan that found it was requested.',
  backfill: 'A page of the backfill that found it was requested.',
} as const

function bridgePart(facts: JourneyFacts): TimelineEntry[] {
  const { kind, foundBy, kept, recordedMs, committedMs, logKind } = facts
  const askedMs = requestedMs(facts)
  const startMs = publishedMs(facts)
  const isOther = kind === 'amendment' || foundBy === 'backfill'
  const how = kept?.scan === undefined ? foundBy && FOUND[foundBy] : `${SCANS[kept.scan]} It was requested.`
  const requested: TimelineEntry = {
    step: 'requested',
    atMs: askedMs,
    afterMs: askedMs === null || isOther ? null : askedMs - startMs,
    text: [
      how ?? 'Which request found it is not kept.',
      ...(askedMs === null ? [`When is not kept: ${NOT_KEPT}.`] : []),
    ].join(' '),
  }
  const received: TimelineEntry = {
    step: 'received',
    atMs: recordedMs,
    afterMs: kind === 'gap' || (askedMs === null && isOther) ? null : recordedMs - (askedMs ?? startMs),
    text: kind === 'gap' ? 'The bridge noticed that the gap changed.' : 'The bridge had read the answer.',
  }
  const committed: TimelineEntry = {
    step: 'committed',
    atMs: committedMs,
    afterMs: committedMs === null ? null : committedMs - recordedMs,
    text:
      committedMs === null
        ? `The log stored it. When is not kept: ${NOT_KEPT}.`
        : logKind === 'kafka'
          ? 'Kafka stored it, by the clock of its broker. Readers see it once its transaction is complete.'
          : 'The log stored it.',
  }
  return kind === 'gap' ? [received, committed] : [requested, received, committed]
}

function readersPart(facts: JourneyFacts): TimelineEntry[] {
  const { nodes, webhooks, streams, recordedMs } = facts
  const sinceMs = facts.committedMs ?? recordedMs
  return [
    ...nodes.map((node) => visibleOn(node, facts, sinceMs)),
    ...(webhooks?.endpoints ?? []).flatMap((endpoint) => webhookPart(endpoint, sinceMs)),
    ...(webhooks?.hasMore
      ? [
          {
            step: 'webhook' as const,
            atMs: null,
            afterMs: null,
            text: 'More endpoints want it than are shown.',
          },
        ]
      : []),
    ...streamPart(streams, sinceMs),
  ]
}

function visibleOn(
  { name, isSelf, state, reached }: JourneyFacts['nodes'][number],
  { logKind }: JourneyFacts,
  sinceMs: number,
): TimelineEntry {
  const node = isSelf ? `this node (${name})` : `node ${name}`
  const entry = { step: 'visible' as const, atMs: null, afterMs: null }
  if (reached.kind === 'at') {
    const clock = isSelf ? '' : ', by its clock'
    const text = `Readers of ${node} saw it${clock}.`
    return { step: 'visible', atMs: reached.atMs, afterMs: reached.atMs - sinceMs, text }
  }
  if (reached.kind === 'not_yet') {
    const text =
      state === 'up' ? 'a node tells it every 15 s' : `it ${state === 'gone' ? 'is gone' : 'has stopped'}`
    return { ...entry, text: `By its last word ${node} had not come to it: ${text}.` }
  }
  if (logKind === 'embedded')
    return {
      ...entry,
      text: `Readers of ${node} saw it milliseconds after the commit; when exactly is kept until the process stops only.`,
    }
  return {
    ...entry,
    text: `When readers of ${node} saw it is not kept: that is in memory, for the newest 4,096 commits of a process and since its copy was complete.`,
  }
}

function webhookPart(
  { endpointId, url, state, why, attempts }: JourneyEndpoint,
  sinceMs: number,
): TimelineEntry[] {
  const entries = attempts.map(({ attempt, atMs, durationMs, outcome, status }): TimelineEntry => {
    const end =
      outcome === 'ok' ? 'delivered' : `failed: ${status === null ? outcome : `${outcome}, ${status}`}`
    const text = `Webhook ${url}, attempt ${attempt}: ${end}, took ${durationWords(durationMs)}.`
    return { step: 'webhook', atMs, afterMs: atMs - sinceMs, text, endpointId }
  })
  if (state === 'delivered') return entries
  const waits = state === 'dead' ? 'it was given up' : (why ?? 'it waits for its next attempt')
  const text = `Webhook ${url}: ${waits}.`
  return [...entries, { step: 'webhook', atMs: null, afterMs: null, text, endpointId }]
}

function streamPart(streams: JourneyFacts['streams'], sinceMs: number): TimelineEntry[] {
  if (streams === undefined) return []
  const entry = { step: 'stream' as const, atMs: null, afterMs: null }
  if (streams === null)
    return [
      { ...entry, text: 'To which streams of this node it was written is not kept: it is too long ago.' },
    ]
  const { streams: count, firstMs, lastMs } = streams
  if (count === 0) return [{ ...entry, text: 'It was written to no live stream of yours on this node.' }]
  const which = count === 1 ? 'a live stream' : `${count} live streams`
  const rest = count === 1 ? '' : `, to the last one ${durationWords(lastMs - firstMs)} after the first`
  const text = `It was written to ${which} of yours on this node${rest}.`
  return [{ step: 'stream', atMs: firstMs, afterMs: firstMs - sinceMs, text }]
}
