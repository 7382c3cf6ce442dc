/**
 * Reads events from the log and encodes them into frame batches, the bytes of consecutive matching events for one
 * write. Streams with the same filter and byte format share the batch at a position. Recent batches are cached for
 * streams that reach their position a little later.
 */
import type { Reader } from '../../archive/reading/reader.ts'
import type { StoredEvent } from '../../archive/store/stored.ts'
import type { Filter } from '../../core/filter/filter.ts'
import type { SendBuffers } from '../../http/bounds/send-buffers.ts'
import { type Clock, yieldToEventLoop } from '../../lifecycle/clock.ts'
import type { EventFraming } from './framing.ts'

/** Encoded frames of consecutive matching events. */
export interface FrameBatch {
  bytes: Buffer
  /** Number of events; 0 where none matched. */
  events: number
  /** Of its events, in order. */
  sequences: readonly number[]
  /** When the log stored the first of them, ms since 1970; null where none matched. */
  committedMs: number | null
  /** The batch has every match up to this sequence. */
  position: number
  /** The resume point at `position`. */
  cursor: string
}

/** What batches are shared by: the same filter object and framing as long as anybody reads with them. */
export interface BatchKey {
  /** Unique among keys. */
  readonly id: number
  readonly filter: Filter | null
  readonly framing: EventFraming
  /** Whether more than one reader uses the key. */
  readonly isShared: boolean
}

/** JSON of an event, estimated high: reading too few events for a batch costs less than reading too many. */
const USUAL_EVENT_BYTES = 2048
const READ_BUDGET_MS = 1000
/** Bytes of all cached batches together. */
const CACHE_BYTES = 16 * 1024 * 1024

/**
 * The batch of these events, cut after the first ones that reach `maxBytes`, give or take an event. `end`: position and
 * cursor of a batch that has them all.
 */
export function frameBatchOf(
  events: readonly StoredEvent[],
  frameOf: (event: StoredEvent) => Buffer,
  maxBytes: number,
  end: Pick<FrameBatch, 'position' | 'cursor'>,
): FrameBatch {
  const frames: Buffer[] = []
  let bytes = 0
  for (const event of events) {
    const frame = frameOf(event)
    frames.push(frame)
    bytes += frame.length
    if (bytes >= maxBytes && frames.length < events.length) {
      const { sequence, cursor } = event
      const facts = factsOf(events.slice(0, frames.length))
      return { bytes: Buffer.concat(frames), ...facts, position: sequence, cursor }
    }
  }
  const [only = Buffer.alloc(0)] = frames
  return { bytes: frames.length === 1 ? only : Buffer.concat(frames), ...factsOf(events), ...end }
}

/** What a batch says of its events. */
function factsOf(events: readonly StoredEvent[]): Pick<FrameBatch, 'events' | 'sequences' | 'committedMs'> {
  return {
    events: events.length,
    sequences: events.map(({ sequence }) => sequence),
    committedMs: events[0]?.committedMs ?? null,
  }
}

/** Builds and caches the frame batches of a node. */
export class FrameBatches {
  readonly #reader: Reader
  readonly #clock: Clock
  readonly #sendBuffers: SendBuffers
  readonly #signal: AbortSignal
  /** By epoch, key and position, the oldest first. */
  readonly #cache = new Map<string, FrameBatch>()
  readonly #pending = new Map<string, Promise<FrameBatch>>()
  #cachedBytes = 0

  /** An abort of the signal ends long reads early. */
  constructor(reader: Reader, clock: Clock, sendBuffers: SendBuffers, signal: AbortSignal) {
    this.#reader = reader
    this.#clock = clock
    this.#sendBuffers = sendBuffers
    this.#signal = signal
  }

  /** The batch after `after`, read for that caller; not a promise if it is cached. Rejects with a fault of the store. */
  next(key: BatchKey, after: number, caller?: string): FrameBatch | Promise<FrameBatch> {
    if (!key.isShared) return this.#read(key, after, caller)
    const name = `${this.#reader.epoch} ${key.id} ${after}`
    const known = this.#cache.get(name) ?? this.#pending.get(name)
    if (known !== undefined) return known
    const reading = this.#readShared(key, after, name, caller)
    this.#pending.set(name, reading)
    return reading
  }

  async #readShared(key: BatchKey, after: number, name: string, caller?: string): Promise<FrameBatch> {
    try {
      const batch = await this.#read(key, after, caller)
      if (batch.events > 0) this.#store(name, batch)
      return batch
    } finally {
      this.#pending.delete(name)
    }
  }

  async #read({ filter, framing }: BatchKey, after: number, caller?: string): Promise<FrameBatch> {
    const reservation = this.#sendBuffers.reserve()
    try {
      const { events, position, cursor } = await this.#reader.read({
        after,
        filter,
        limit: Math.ceil(reservation.maxBytes / USUAL_EVENT_BYTES),
        maxBytes: reservation.maxBytes,
        signal: this.#signal,
        budgetMs: READ_BUDGET_MS,
        ...(caller !== undefined && { caller }),
      })
      const bytes = Buffer.concat(framing.events(events, this.#clock.now()))
      return { bytes, ...factsOf(events), position, cursor }
    } finally {
      // The readers that wait for this batch retain it within this tick.
      void yieldToEventLoop().then(() => reservation.end())
    }
  }

  #store(name: string, batch: FrameBatch): void {
    this.#cache.set(name, batch)
    this.#cachedBytes += batch.bytes.length
    for (const [oldest, { bytes }] of this.#cache) {
      if (this.#cachedBytes <= CACHE_BYTES) break
      this.#cache.delete(oldest)
      this.#cachedBytes -= bytes.length
    }
  }
}
