/**
 * Keeps the new events of an endpoint that were read and not sent yet, in the order of the log, and takes those that go
 * into the next request.
 */
import type { Matched } from './endpoint-state.ts'

/** Events that are taken for one request, by sequence. */
type Taken = ReadonlyMap<number, Matched>
const NONE: Taken = new Map()

/** What the queue asks of its endpoint. */
export interface QueueRules {
  /** No unfinished event of its issuer comes before it, other than those `taken` for the same request. */
  isFirst: (event: Matched, taken: Taken) => boolean
  /** Takes an event out of the queue that waits for an earlier one of its issuer. */
  setAside: (event: Matched) => void
}

/** The queue of one endpoint. */
export class EventQueue {
  readonly #events: Matched[] = []

  /** How many events wait. */
  get size(): number {
    return this.#events.length
  }

  /** All of them, in their order. */
  values(): readonly Matched[] {
    return this.#events
  }

  /** Whether the event of that sequence waits. */
  has(sequence: number): boolean {
    return this.#events.some((event) => event.sequence === sequence)
  }

  /** Adds the event that follows all others. */
  push(event: Matched): void {
    this.#events.push(event)
  }

  /** The event that is next, once blocked ones before it are set aside. */
  first(rules: QueueRules): Matched | undefined {
    this.#setBlockedAside(rules, NONE)
    return this.#events[0]
  }

  /** Takes the next events, `most` at most. */
  take(most: number, rules: QueueRules): Matched[] {
    const taken = new Map<number, Matched>()
    while (taken.size < most) {
      this.#setBlockedAside(rules, taken)
      const head = this.#events.shift()
      if (head === undefined) break
      taken.set(head.sequence, head)
    }
    return [...taken.values()]
  }

  #setBlockedAside({ isFirst, setAside }: QueueRules, taken: Taken): void {
    for (let [head] = this.#events; head !== undefined; [head] = this.#events) {
      if (isFirst(head, taken)) return
      this.#events.shift()
      setAside(head)
    }
  }
}
