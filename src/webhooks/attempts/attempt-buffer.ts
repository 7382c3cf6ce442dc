/**
 * Attempts on their way from the journal into the index, held back until writing them is worth it: the rows of each endpoint
 * lie apart, so that a burst to a thousand endpoints, written as it comes, would write every page of the file over and over.
 * Owns what is held back, by endpoint, and that an endpoint's is written before it is read. Refuses to be durable: the
 * position in the file moves when all of it is written, and until then the journal is read again.
 */
import { type Clock, yieldToEventLoop } from '../../lifecycle/clock.ts'
import type { AttemptRecord } from './attempt-record.ts'
import type { AttemptStore } from './attempt-store.ts'

/** Attempts that are held back at most. */
const MOST_GATHERED = 10_000
/** For how long, as far as something follows them; ms. */
const GATHER_MS = 5000
/** Attempts written between two turns of the event loop: some five milliseconds. */
const SLICE = 500

export interface Gathering {
  /** Takes attempts, and where the journal goes on after them. */
  add(attempts: readonly AttemptRecord[], position: string): void
  /** Whether it is time to write. */
  isDue(): boolean
  /** Writes everything, slice by slice, then the position; less when the signal aborts. Nothing may be added meanwhile. */
  write(signal: AbortSignal): Promise<void>
  /** Writes what is held back of that endpoint, now. */
  writeOf(endpointId: string): void
}

/** Nothing is held back yet. Operations throw as the store does. */
export function createGathering(store: AttemptStore, clock: Clock): Gathering {
  const byEndpoint = new Map<string, AttemptRecord[]>()
  let count = 0
  let position: string | null = null
  let sinceMs: number | null = null

  const writeOf = (endpointId: string): void => {
    const attempts = byEndpoint.get(endpointId) ?? []
    if (attempts.length > 0) store.write(attempts, null)
    byEndpoint.delete(endpointId)
    count -= attempts.length
  }
  const writeSlice = (): void => {
    const slice: AttemptRecord[] = []
    for (const [endpointId, attempts] of byEndpoint) {
      slice.push(...attempts.splice(0, SLICE - slice.length))
      if (attempts.length > 0) break
      byEndpoint.delete(endpointId)
    }
    store.write(slice, null)
    count -= slice.length
  }
  return {
    add(attempts, next) {
      for (const record of attempts) {
        const own = byEndpoint.get(record.endpointId)
        if (own === undefined) byEndpoint.set(record.endpointId, [record])
        else own.push(record)
      }
      count += attempts.length
      position = next
      sinceMs ??= clock.now()
    },
    isDue: () => count >= MOST_GATHERED || (sinceMs !== null && Math.abs(clock.now() - sinceMs) >= GATHER_MS),
    async write(signal) {
      while (count > 0 && !signal.aborted) {
        writeSlice()
        await yieldToEventLoop()
      }
      if (signal.aborted) return
      store.write([], position)
      sinceMs = null
    },
    writeOf,
  }
}
