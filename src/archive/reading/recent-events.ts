/**
 * The last events in memory, each encoded once and shared by every reader. Owns what "latest" means to readers: an
 * event is there when it is in the tail. Refuses to read the disk: the follower fills it.
 */
import { BridgeError } from '../../errors.ts'
import type { StoredEvent } from '../store/stored.ts'

const CAPACITY = 20_000
/** Bound on the JSON held: 20,000 usual items are 30 MB, and one item may have half a megabyte. */
const MAX_BYTES = 64 * 1024 * 1024

export interface Tail {
  /** Lowest sequence held; `latest + 1` where none is. */
  readonly first: number
  /** Sequence that readers may read up to. */
  readonly latest: number
  /** The event, or undefined where it is not held. */
  at(sequence: number): StoredEvent | undefined
  /** Adds events that follow `latest`, dropping the oldest ones, and wakes who waits. Throws `log_damaged` on a hole. */
  push(events: readonly StoredEvent[]): void
  /** Adds events that end just before `first`, newest first in importance. False when no more fit. */
  warm(events: readonly StoredEvent[]): boolean
  /** Resolves when `latest` is greater than `sequence`, the tail was reset, or the signal aborts. Never rejects. */
  waitBeyond(sequence: number, signal: AbortSignal): Promise<void>
  /** Forgets the events, stands just after `latest`, and wakes who waits. */
  reset(latest: number): void
}

interface Waiter {
  sequence: number
  wake: () => void
}

/** An empty tail that stands just after `latest`. */
export function createTail(
  latest: number,
  bounds: { capacity: number; maxBytes: number } = { capacity: CAPACITY, maxBytes: MAX_BYTES },
): Tail {
  const ring: (StoredEvent | undefined)[] = new Array(bounds.capacity)
  const waiters = new Set<Waiter>()
  let first = latest + 1
  let last = latest
  let bytes = 0

  const at = (sequence: number): StoredEvent | undefined =>
    sequence >= first && sequence <= last ? ring[sequence % bounds.capacity] : undefined
  const put = (event: StoredEvent): void => {
    ring[event.sequence % bounds.capacity] = event
    bytes += event.json.length
  }
  const dropFirst = (): void => {
    bytes -= at(first)?.json.length ?? 0
    ring[first % bounds.capacity] = undefined
    first += 1
  }
  const wakeReaders = (): void => {
    for (const waiter of waiters) if (waiter.sequence < last) waiter.wake()
  }

  return {
    get first() {
      return first
    },
    get latest() {
      return last
    },
    at,
    push(events) {
      for (const event of events) {
        if (event.sequence !== last + 1) {
          throw new BridgeError('log_damaged', `event ${event.sequence} does not follow ${last}`, {
            hint: 'Restart; if it comes again, report it as a fault of the program.',
          })
        }
        while (first <= last && (last - first + 1 >= bounds.capacity || bytes >= bounds.maxBytes)) dropFirst()
        last = event.sequence
        put(event)
      }
      wakeReaders()
    },
    warm(events) {
      for (const event of events.toReversed()) {
        const full = last - first + 1 >= bounds.capacity || bytes + event.json.length > bounds.maxBytes
        if (full || event.sequence !== first - 1) return false
        first = event.sequence
        put(event)
      }
      return events.length > 0
    },
    waitBeyond(sequence, signal) {
      if (last > sequence || signal.aborted) return Promise.resolve()
      return new Promise((resolve) => {
        const wake = (): void => {
          waiters.delete(waiter)
          signal.removeEventListener('abort', wake)
          resolve()
        }
        const waiter = { sequence, wake }
        waiters.add(waiter)
        signal.addEventListener('abort', wake, { once: true })
      })
    },
    reset(to) {
      ring.fill(undefined)
      first = to + 1
      last = to
      bytes = 0
      for (const { wake } of [...waiters]) wake()
    },
  }
}
