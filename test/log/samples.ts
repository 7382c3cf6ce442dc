/** Creates events, gaps and closed gaps for the log suites. */
import { readDisclosure } from '../../src/core/disclosure.ts'
import type { Committed, NewEvent } from '../../src/core/event.ts'
import { disclosureEvent, GAP_FILLED, GAP_OPENED, gapEvent } from '../../src/core/event.ts'
import type { OpenGap } from '../../src/ingest/writer-state/head.ts'
import { PollerWriter } from '../../src/ingest/writer-state/poller-writer.ts'
import type { RejectedItem } from '../../src/log/events.ts'
import type { Log } from '../../src/log/log.ts'

export const START_MS = Date.UTC(2026, 0, 6, 7)

/** The n-th item as its first revision, one per second. */
export function sampleEvent(n: number): NewEvent {
  const timestamp = new Date(START_MS + n * 1000).toISOString()
  const item = {
    guid: `urn:newsml:example:${n}`,
    timestamp,
    headline: `Item ${n} “✓”`,
    issuer: { name: 'Alpha' },
  }
  const read = readDisclosure(item)
  if (!read.ok) throw new Error(read.reason)
  const late = n % 7 === 0
  const data = JSON.stringify(item)
  return {
    ...disclosureEvent(read.disclosure, { data, revision: 1, recordedMs: START_MS, late }),
    replacesid: null,
  }
}

/** The n-th item, with that FCA code. */
export function sampleOfCode(n: number, code: string): NewEvent {
  const event = sampleEvent(n)
  const category = [{ kind: 'FCA', code }]
  return { ...event, data: JSON.stringify({ ...(JSON.parse(event.data) as object), category }) }
}

/** Items from `first` to `last`. */
export function sampleEvents(first: number, last: number): NewEvent[] {
  return Array.from({ length: last - first + 1 }, (_, index) => sampleEvent(first + index))
}

export function sampleGap(id: string): OpenGap {
  return {
    id,
    from: '2026-01-06T07:00:00.000Z',
    to: '2026-01-06T07:05:00.000Z',
    cause: 'overflow',
    openedAt: '2026-01-06T07:05:00.000Z',
    found: 0,
    closedAt: null,
    attempts: 0,
    retryAtMs: START_MS,
  }
}

export function gapOpened(gap: OpenGap): NewEvent {
  return gapEvent(gap, GAP_OPENED, { timeMs: START_MS, recordedMs: START_MS })
}

export function gapFilled(gap: OpenGap): NewEvent {
  return gapEvent({ ...gap, closedAt: gap.openedAt }, GAP_FILLED, { timeMs: START_MS, recordedMs: START_MS })
}

export function sampleRejected(n: number): RejectedItem {
  return { raw: `{"broken":${n}`, reason: 'no guid', guid: null, recordedtime: '2026-01-06T07:00:00.000Z' }
}

/** The writer of the log's next claim, as the poller gets it. */
export async function claimed(log: Log): Promise<PollerWriter> {
  const { signal } = new AbortController()
  return new PollerWriter(await log.claim(await log.campaign(signal), signal))
}

/** The next `count` events committed after `after`: waits until they exist, then stops reading. */
export async function followed(log: Log, after: number, count: number): Promise<Committed[]> {
  const ended = new AbortController()
  const events: Committed[] = []
  for await (const batch of log.follow(after, ended.signal)) {
    events.push(...batch)
    if (events.length >= count) ended.abort()
  }
  return events
}

export function idsOf(events: readonly { id: string }[]): string[] {
  return events.map((event) => event.id)
}

export function sequencesOf(events: readonly Committed[]): number[] {
  return events.map((event) => event.sequence)
}

/** The event without what the log adds when it stores it. */
export function asGiven({ committedMs, topics, ...event }: Committed): Committed {
  return event
}
