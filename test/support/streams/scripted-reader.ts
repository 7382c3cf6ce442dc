/**
 * Implements `Reader` over events in memory, with every result available at once, for tests in simulated time.
 */
import type { Reader } from '../../../src/archive/reading/reader.ts'
import { NO_EPOCH } from '../../../src/archive/store/archive.ts'
import { COMPLETE_REPLICA, type ReplicaState } from '../../../src/archive/store/replica-progress.ts'
import type { StoredEvent } from '../../../src/archive/store/stored.ts'
import { encodeCursor } from '../../../src/core/cursor.ts'
import { encodeAttributes, GAP_OPENED, joinEvent, PUBLISHED } from '../../../src/core/event.ts'
import { type Facts, GAP_FACTS } from '../../../src/core/filter/facts.ts'
import { matches } from '../../../src/core/filter/filter.ts'
import type { Clock } from '../../../src/lifecycle/clock.ts'

export const EPOCH = 'Epoch001'

export interface ScriptedReader {
  readonly reader: Reader
  readonly events: readonly StoredEvent[]
  /** Appends one event now; `fca` null: a gap. Returns its sequence. */
  add(event: { subject?: string; fca?: string | null; id?: string }): number
  /** Deletes the events before that sequence. */
  forget(before: number): void
  /** Starts a new, empty log; null: it has no writer yet, and its first event begins an epoch. */
  restart(epoch: string | null): void
}

/** An empty log. */
export function createScriptedReader(clock: Clock, replica: ReplicaState = COMPLETE_REPLICA): ScriptedReader {
  let events: StoredEvent[] = []
  let epoch: string | null = EPOCH
  let oldest = 1
  const waiters = new Set<() => void>()
  const wakeAll = (): void => {
    for (const wake of waiters) wake()
  }
  const reader: Reader = {
    replica,
    get epoch() {
      return epoch
    },
    get oldest() {
      return oldest
    },
    get latest() {
      return events.length
    },
    async read({ after, filter, limit }) {
      const found: StoredEvent[] = []
      let position = after
      while (position < events.length && found.length < limit) {
        position += 1
        const event = events[position - 1]
        if (event === undefined || position < oldest) continue
        if (filter === null || matches(filter, event.facts)) found.push(event)
      }
      return { events: found, position, cursor: reader.cursorAt(position), more: position < events.length }
    },
    readBack: () => Promise.reject(new Error('a scripted reader reads forwards only')),
    cursorAt: (sequence) =>
      encodeCursor({ epoch: epoch ?? NO_EPOCH, sequence, timeMs: events[sequence - 1]?.timeMs ?? 0 }),
    timeOf: (sequence) => (sequence < oldest ? null : (events[sequence - 1]?.timeMs ?? null)),
    recordedAt: (sequence) => (sequence < oldest ? null : (events[sequence - 1]?.recordedMs ?? null)),
    sharedThrough: () => null,
    sequenceSince: (timeMs) =>
      (events.find((event) => event.timeMs >= timeMs)?.sequence ?? events.length + 1) - 1,
    beforeLast: async () => 0,
    waitBeyond(sequence, signal) {
      if (events.length > sequence || signal.aborted) return Promise.resolve()
      return new Promise((resolve) => {
        const wake = (): void => {
          if (events.length <= sequence && !signal.aborted) return
          waiters.delete(wake)
          signal.removeEventListener('abort', wake)
          resolve()
        }
        waiters.add(wake)
        signal.addEventListener('abort', wake)
      })
    },
  }
  return {
    reader,
    get events() {
      return events
    },
    add({ subject = 'alpha', fca = 'FR', id }) {
      const sequence = events.length + 1
      const timeMs = clock.now()
      const time = new Date(timeMs).toISOString()
      epoch ??= EPOCH
      const place = { epoch, sequence, timeMs }
      const attributes = encodeAttributes({
        ...place,
        id: id ?? `e${sequence}`,
        source: '/disclosures/sources/rns',
        type: fca === null ? GAP_OPENED : PUBLISHED,
        time,
        subject,
        recordedtime: time,
        late: false,
        replacesid: null,
        data: '{}',
      })
      const facts: Facts = { ...GAP_FACTS, kind: 'published', fca: [fca ?? ''] }
      events.push({
        sequence,
        timeMs,
        type: fca === null ? GAP_OPENED : PUBLISHED,
        recordedMs: timeMs,
        committedMs: timeMs,
        cursor: encodeCursor(place),
        facts: fca === null ? GAP_FACTS : facts,
        json: Buffer.from(joinEvent(attributes, '{"data":","}')),
      })
      wakeAll()
      return sequence
    },
    forget(before) {
      oldest = before
    },
    restart(next) {
      epoch = next
      events = []
      oldest = 1
    },
  }
}
