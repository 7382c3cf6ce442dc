/**
 * Builds committed events from facts, and archives that hold them, for the tests of the archive.
 */
import { eventsBetween } from '../../src/archive/reading/query.ts'
import type { Reader } from '../../src/archive/reading/reader.ts'
import { createReader } from '../../src/archive/reading/reader.ts'
import { RecentEvents } from '../../src/archive/reading/recent-events.ts'
import type { Archive } from '../../src/archive/store/archive.ts'
import { openArchive } from '../../src/archive/store/archive.ts'
import { readDisclosure } from '../../src/core/disclosure.ts'
import type { Committed, NewEvent } from '../../src/core/event.ts'
import { disclosureEvent, GAP_OPENED, gapEvent, isGap } from '../../src/core/event.ts'
import type { Facts, Identifiers } from '../../src/core/filter/facts.ts'
import { disclosureFacts, GAP_FACTS } from '../../src/core/filter/facts.ts'
import { systemClock } from '../../src/lifecycle/clock.ts'

export const EPOCH = 'Epoch001'
export const START_MS = Date.UTC(2026, 0, 6, 7)

/** Puts events in their places from `first` on. */
export function inPlace(events: readonly NewEvent[], first = 1, epoch = EPOCH): Committed[] {
  return events.map((event, index) => ({ ...event, sequence: first + index, epoch }))
}

/** An item whose facts are these, as its first or second revision. */
export function eventWith(facts: Partial<Facts>, guid: string, timeMs = START_MS): NewEvent {
  if (facts.kind === 'gap') return gapAt(guid, timeMs)
  const fca = facts.fca ?? []
  const levels = facts.importance ?? []
  const item = {
    guid,
    timestamp: new Date(timeMs).toISOString(),
    headline: facts.headline ?? '',
    issuer: companyOf(facts.issuer ?? {}),
    related: (facts.related ?? []).map(companyOf),
    category: [
      ...fca.map((code, index) => ({ kind: 'FCA', code, importance: levels[index] })),
      ...(facts.native ?? []).map((code) => ({ kind: 'Native', code })),
    ],
  }
  const read = readDisclosure(item)
  if (!read.ok) throw new Error(read.reason)
  const revision = facts.kind === 'amended' ? 2 : 1
  const data = JSON.stringify(item)
  return disclosureEvent(read.disclosure, { data, revision, recordedMs: timeMs + 1000, late: false })
}

export function gapAt(id: string, timeMs: number): NewEvent {
  const at = new Date(timeMs).toISOString()
  const gap = { id, from: at, to: at, cause: 'overflow', openedAt: at, found: 0, closedAt: null } as const
  return gapEvent(gap, GAP_OPENED, { timeMs: timeMs, recordedMs: timeMs })
}

/** Plain items, one a second. */
export function items(count: number): NewEvent[] {
  return Array.from({ length: count }, (_, index) =>
    eventWith({ headline: `Item ${index + 1}` }, `guid-${index + 1}`, START_MS + index * 1000),
  )
}

function companyOf(identifiers: Identifiers): object {
  const { isin, symbol, lei } = identifiers
  const listing = symbol === undefined ? undefined : { mnemonic: symbol }
  return { name: 'A company', lei, instrument: { isin, symbol: listing } }
}

/** Facts as an event's own data give them, by the plain way. */
export function plainFacts(event: Committed): Facts {
  const read = readDisclosure(JSON.parse(event.data))
  if (isGap(event.type) || !read.ok) return GAP_FACTS
  const kind = event.type === 'disclosure.published.v1' ? 'published' : 'amended'
  return disclosureFacts(read.disclosure, kind, 'Native')
}

export function memoryArchive(events: readonly Committed[] = []): Archive {
  const archive = openArchive({ path: ':memory:', nativeKind: 'Native', durable: false })
  archive.append(events)
  return archive
}

/** A reader whose recent-events buffer holds the last `inMemory` events. */
export function readerOver(archive: Archive, inMemory = 0): { reader: Reader; recentEvents: RecentEvents } {
  const recentEvents = new RecentEvents(archive.latest)
  recentEvents.prepend(eventsBetween(archive, Math.max(0, archive.latest - inMemory), archive.latest))
  return { reader: createReader(archive, recentEvents, systemClock), recentEvents }
}

/** A signal that never aborts. */
export const { signal: never } = new AbortController()
