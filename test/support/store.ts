/** Keeps events in memory behind the one read path, for tests of readers. */
import { eventsBetween } from '../../src/archive/reading/query.ts'
import { createReader, type Reader } from '../../src/archive/reading/reader.ts'
import { RecentEvents } from '../../src/archive/reading/recent-events.ts'
import { type Archive, openArchive } from '../../src/archive/store/archive.ts'
import { COMPLETE_REPLICA, type ReplicaState } from '../../src/archive/store/replica-progress.ts'
import type { Committed } from '../../src/core/event.ts'
import { PUBLISHED } from '../../src/core/event.ts'
import type { Clock } from '../../src/lifecycle/clock.ts'

export const EPOCH = 'Epoch001'
const FIRST_MS = Date.parse('2026-01-06T07:00:00Z')

/** The event at `sequence`: one per second from 07:00, headline `item <sequence>`, category FR on every tenth. */
export function eventAt(sequence: number, epoch = EPOCH): Committed {
  const timeMs = FIRST_MS + sequence * 1000
  const time = new Date(timeMs).toISOString()
  const code = sequence % 10 === 0 ? 'FR' : 'NAV'
  const item = {
    guid: `urn:newsml:example:${sequence}`,
    timestamp: time,
    headline: `Item ${sequence}`,
    issuer: { name: 'Alpha' },
    category: [{ kind: 'FCA', code, name: code, importance: 'high' }],
  }
  return {
    sequence,
    epoch,
    id: item.guid,
    source: '/disclosures/sources/rns',
    type: PUBLISHED,
    time,
    timeMs,
    subject: 'alpha',
    recordedtime: time,
    late: false,
    replacesid: null,
    data: JSON.stringify(item),
  }
}

export interface Store {
  archive: Archive
  recentEvents: RecentEvents
  reader: Reader
  /** Commits the next `count` events and shows them to readers. */
  grow(count: number): void
}

/** The state of a complete replica of a log on Kafka. */
export const REPLICA: ReplicaState = { ...COMPLETE_REPLICA, isLog: false }

/** A store that holds the first `count` events, from `first` on. `replica`: by default the store is the log itself. */
export function createStore(
  clock: Clock,
  count: number,
  first = 1,
  epoch = EPOCH,
  replica: ReplicaState = COMPLETE_REPLICA,
): Store {
  const archive = openArchive({ path: ':memory:', nativeKind: 'Native', durable: false })
  const range = (from: number, size: number) =>
    Array.from({ length: size }, (_, index) => eventAt(from + index, epoch))
  archive.append(range(first, count))
  const recentEvents = new RecentEvents(archive.latest)
  return {
    archive,
    recentEvents,
    reader: createReader(archive, recentEvents, clock, replica),
    grow(size) {
      const before = archive.latest
      archive.append(range(before + 1, size))
      recentEvents.push(eventsBetween(archive, before, before + size))
    },
  }
}
