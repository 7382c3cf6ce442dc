/**
 * Holds attempts from the journal back until many can be written to the attempt file together, grouped by endpoint: the rows
 * of an endpoint are on their own pages, and small writes would rewrite every page of the file over and over.
 */
import { type Clock, yieldToEventLoop } from '../../lifecycle/clock.ts'
import type { AttemptRecord } from './attempt-record.ts'
import type { AttemptStore } from './attempt-store.ts'

/** Most attempts that are held back. */
const MAX_HELD_BACK = 10_000
/** For how long they are held back while the journal goes on, ms. */
const HOLD_BACK_MS = 5000
/** Attempts written between two turns of the event loop: some five milliseconds. */
const SLICE = 500

/**
 * The attempts held back for one file. They are not durable: the position in the file moves only when all of them are written,
 * and after a crash the journal is read again from there. Operations throw as the store does.
 */
export class AttemptBuffer {
  readonly #store: AttemptStore
  readonly #clock: Clock
  readonly #byEndpoint = new Map<string, AttemptRecord[]>()
  #count = 0
  #position: string | null = null
  #sinceMs: number | null = null

  constructor(store: AttemptStore, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** Adds attempts, and the position in the journal after them. */
  add(attempts: readonly AttemptRecord[], position: string): void {
    for (const record of attempts) {
      const own = this.#byEndpoint.get(record.endpointId)
      if (own === undefined) this.#byEndpoint.set(record.endpointId, [record])
      else own.push(record)
    }
    this.#count += attempts.length
    this.#position = position
    this.#sinceMs ??= this.#clock.now()
  }

  /** Whether it is time to write. */
  isDue(): boolean {
    if (this.#count >= MAX_HELD_BACK) return true
    return this.#sinceMs !== null && Math.abs(this.#clock.now() - this.#sinceMs) >= HOLD_BACK_MS
  }

  /** Writes everything in slices, then the position; less when the signal aborts. Nothing may be added meanwhile. */
  async write(signal: AbortSignal): Promise<void> {
    while (this.#count > 0 && !signal.aborted) {
      this.#writeSlice()
      await yieldToEventLoop()
    }
    if (signal.aborted) return
    this.#store.write([], this.#position)
    this.#sinceMs = null
  }

  /** Writes the attempts of one endpoint now. */
  writeOf(endpointId: string): void {
    const attempts = this.#byEndpoint.get(endpointId) ?? []
    if (attempts.length > 0) this.#store.write(attempts, null)
    this.#byEndpoint.delete(endpointId)
    this.#count -= attempts.length
  }

  #writeSlice(): void {
    const slice: AttemptRecord[] = []
    for (const [endpointId, attempts] of this.#byEndpoint) {
      slice.push(...attempts.splice(0, SLICE - slice.length))
      if (attempts.length > 0) break
      this.#byEndpoint.delete(endpointId)
    }
    this.#store.write(slice, null)
    this.#count -= slice.length
  }
}
