/**
 * Remembers to how many live streams the newest events were written, and when, apart by tenant: for the journey of an event.
 * In memory, and bounded.
 */
import type { Clock } from '../../lifecycle/clock.ts'

/** Batches that are remembered, each the same events for streams with the same filter. */
const MOST_BATCHES = 1000
/** Events of these batches together. */
const MOST_EVENTS = 20_000

/** To how many streams of a tenant a batch was written. Times are ms since 1970. */
export interface Sends {
  streams: number
  firstMs: number
  lastMs: number
}

interface SentBatch {
  epoch: string
  sequences: readonly number[]
  byTenant: Map<string, Sends>
}

/** The newest writes of a node. */
export class RecentSends {
  readonly #startedMs: number
  /** By the sequences of the batch, which its streams share; the oldest first. */
  readonly #batches = new Map<readonly number[], SentBatch>()
  #events = 0
  /** When the newest batch was dropped; no event that was held before is surely remembered. */
  #droppedMs: number

  constructor(clock: Pick<Clock, 'now'>) {
    this.#startedMs = clock.now()
    this.#droppedMs = this.#startedMs
  }

  /** Notes that a live stream of that tenant got these events at `nowMs`. */
  note(tenant: string, epoch: string, sequences: readonly number[], nowMs: number): void {
    const batch = this.#batches.get(sequences) ?? this.#begin(epoch, sequences)
    const sends = batch.byTenant.get(tenant)
    if (sends === undefined) batch.byTenant.set(tenant, { streams: 1, firstMs: nowMs, lastMs: nowMs })
    else {
      sends.streams += 1
      sends.lastMs = nowMs
    }
  }

  /**
   * To how many live streams of that tenant (null: of all) the event was written that the bridge first held at `recordedMs`;
   * null where that is not kept.
   */
  of(tenant: string | null, epoch: string, sequence: number, recordedMs: number): Sends | null {
    if (recordedMs < this.#droppedMs) return null
    const found = [...this.#batches.values()].flatMap(({ epoch: own, sequences, byTenant }) =>
      own === epoch && sequences.includes(sequence) ? [...byTenant] : [],
    )
    const sends = found.flatMap(([name, one]) => (tenant === null || name === tenant ? one : []))
    if (sends.length === 0) return { streams: 0, firstMs: recordedMs, lastMs: recordedMs }
    return {
      streams: sends.reduce((sum, { streams }) => sum + streams, 0),
      firstMs: Math.min(...sends.map(({ firstMs }) => firstMs)),
      lastMs: Math.max(...sends.map(({ lastMs }) => lastMs)),
    }
  }

  #begin(epoch: string, sequences: readonly number[]): SentBatch {
    const batch = { epoch, sequences, byTenant: new Map<string, Sends>() }
    this.#batches.set(sequences, batch)
    this.#events += sequences.length
    while (this.#batches.size > MOST_BATCHES || this.#events > MOST_EVENTS) {
      const [oldest] = this.#batches.values()
      if (oldest === undefined || oldest === batch) break
      this.#batches.delete(oldest.sequences)
      this.#events -= oldest.sequences.length
      for (const { lastMs } of oldest.byTenant.values()) this.#droppedMs = Math.max(this.#droppedMs, lastMs)
    }
    return batch
  }
}
