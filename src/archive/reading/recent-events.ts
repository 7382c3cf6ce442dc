/**
 * Keeps the newest events in a ring buffer in memory, each encoded once and shared by every reader. The last event in the
 * buffer is the last one that readers see; `replicator.ts` adds the events.
 */
import { BridgeError } from '../../errors.ts'
import type { StoredEvent } from '../store/stored.ts'

/** How much is held at most. */
export interface RecentEventsBounds {
  capacity: number
  /** Of JSON: one item may have half a megabyte. */
  maxBytes: number
}

/** Where readers come for events: 20,000 usual items are 30 MB. */
export const MANY_RECENT_EVENTS: RecentEventsBounds = { capacity: 20_000, maxBytes: 64 * 1024 * 1024 }
/**
 * Where nobody reads events, as on a node that only polls: its C heap stayed 40 MB larger with many, since they lie between what
 * a burst leaves behind.
 */
export const FEW_RECENT_EVENTS: RecentEventsBounds = { capacity: 100, maxBytes: 1024 * 1024 }

interface Waiter {
  sequence: number
  wake: () => void
}

/** The newest events without holes, in a ring. */
export class RecentEvents {
  readonly #capacity: number
  readonly #maxBytes: number
  readonly #ring: (StoredEvent | undefined)[]
  readonly #waiters = new Set<Waiter>()
  #first: number
  #latest: number
  #bytes = 0

  /** Empty; the next event is the one after `latest`. */
  constructor(latest: number, bounds: RecentEventsBounds = MANY_RECENT_EVENTS) {
    this.#capacity = bounds.capacity
    this.#maxBytes = bounds.maxBytes
    this.#ring = new Array(bounds.capacity)
    this.#first = latest + 1
    this.#latest = latest
  }

  /** Lowest sequence held; `latest + 1` where none is. */
  get first(): number {
    return this.#first
  }

  /** Highest sequence that readers may read. */
  get latest(): number {
    return this.#latest
  }

  /** The event, or undefined where it is not held. */
  at(sequence: number): StoredEvent | undefined {
    if (sequence < this.#first || sequence > this.#latest) return undefined
    return this.#ring[sequence % this.#capacity]
  }

  /**
   * Adds the events after `latest`, drops the oldest ones and wakes waiting readers.
   * @throws BridgeError `log_damaged` on a hole in the sequence
   */
  push(events: readonly StoredEvent[]): void {
    for (const event of events) {
      if (event.sequence !== this.#latest + 1) {
        throw new BridgeError(
          'log_damaged',
          `event ${event.sequence} was read after event ${this.#latest}: sequences must be consecutive`,
          {
            hint: 'Restart the process. If the error returns, report it as a bug.',
          },
        )
      }
      while (this.#first <= this.#latest && (this.#isAtCapacity() || this.#bytes >= this.#maxBytes)) {
        this.#dropFirst()
      }
      this.#latest = event.sequence
      this.#put(event)
    }
    for (const { sequence, wake } of this.#waiters) if (sequence < this.#latest) wake()
  }

  /** Adds events that end just before `first`, the newest first. False when no more fit. */
  prepend(events: readonly StoredEvent[]): boolean {
    for (const event of events.toReversed()) {
      const isFull = this.#isAtCapacity() || this.#bytes + event.json.length > this.#maxBytes
      if (isFull || event.sequence !== this.#first - 1) return false
      this.#first = event.sequence
      this.#put(event)
    }
    return events.length > 0
  }

  /** Resolves when `latest` exceeds `sequence`, the buffer was reset, or the signal aborts. Never rejects. */
  waitBeyond(sequence: number, signal: AbortSignal): Promise<void> {
    if (this.#latest > sequence || signal.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#waiters.delete(waiter)
        signal.removeEventListener('abort', wake)
        resolve()
      }
      const waiter = { sequence, wake }
      this.#waiters.add(waiter)
      signal.addEventListener('abort', wake, { once: true })
    })
  }

  /** Drops every event, sets `latest`, and wakes all waiting readers. */
  reset(latest: number): void {
    this.#ring.fill(undefined)
    this.#first = latest + 1
    this.#latest = latest
    this.#bytes = 0
    for (const { wake } of [...this.#waiters]) wake()
  }

  #isAtCapacity(): boolean {
    return this.#latest - this.#first + 1 >= this.#capacity
  }

  #put(event: StoredEvent): void {
    this.#ring[event.sequence % this.#capacity] = event
    this.#bytes += event.json.length
  }

  #dropFirst(): void {
    this.#bytes -= this.at(this.#first)?.json.length ?? 0
    this.#ring[this.#first % this.#capacity] = undefined
    this.#first += 1
  }
}
