/**
 * What readers are sent next: frames of the events that follow a place, built once for all readers of a channel that stand
 * there, from the tail or the archive alike. Owns the size of a block and how long one is kept for those who come to its
 * place a little later. Refuses to know readers.
 */
import type { Reader } from '../../archive/reading/reader.ts'
import type { StoredEvent } from '../../archive/store/stored.ts'
import type { Filter } from '../../core/filter/filter.ts'
import { type Clock, yieldToEventLoop } from '../../lifecycle/clock.ts'
import type { Holdings } from '../limits/send-buffers.ts'
import type { EventFraming } from './framing.ts'

/** Frames of events that follow each other. */
export interface Block {
  bytes: Buffer
  /** Events in it; 0 where nothing matched. */
  events: number
  /** Everything up to here is decided. */
  position: number
  /** The resume point at `position`. */
  cursor: string
}

/** Whose blocks these are: the same filter object and framing for as long as they are read. */
export interface BlockKey {
  /** Of all keys, its own. */
  readonly id: number
  readonly filter: Filter | null
  readonly framing: EventFraming
  /** Whether more than one reader may ask. */
  readonly isShared: boolean
}

/** JSON of an event, generously: a few events less in a block are better than some that are read for nothing. */
const USUAL_EVENT_BYTES = 2048
const READ_BUDGET_MS = 1000
/** Of all blocks kept together. */
const KEPT_BYTES = 16 * 1024 * 1024

/**
 * The block of these events, each with its frame: the first ones up to `maxBytes`, give or take an event. `end`: what is
 * decided where they are all of them.
 */
export function blockOf(
  events: readonly StoredEvent[],
  frameOf: (event: StoredEvent) => Buffer,
  maxBytes: number,
  end: Pick<Block, 'position' | 'cursor'>,
): Block {
  const frames: Buffer[] = []
  let bytes = 0
  for (const event of events) {
    const frame = frameOf(event)
    frames.push(frame)
    bytes += frame.length
    if (bytes >= maxBytes && frames.length < events.length) {
      const { sequence, cursor } = event
      return { bytes: Buffer.concat(frames), events: frames.length, position: sequence, cursor }
    }
  }
  const [only = Buffer.alloc(0)] = frames
  return { bytes: frames.length === 1 ? only : Buffer.concat(frames), events: frames.length, ...end }
}

/** The blocks of a node. */
export class Blocks {
  readonly #reader: Reader
  readonly #clock: Clock
  readonly #holdings: Holdings
  readonly #signal: AbortSignal
  /** By epoch, key and place, the oldest first. */
  readonly #kept = new Map<string, Block>()
  readonly #underWay = new Map<string, Promise<Block>>()
  #keptBytes = 0

  /** An abort of the signal ends long reads early. */
  constructor(reader: Reader, clock: Clock, holdings: Holdings, signal: AbortSignal) {
    this.#reader = reader
    this.#clock = clock
    this.#holdings = holdings
    this.#signal = signal
  }

  /** What follows `after`; at once where it is kept. Rejects with a fault of the store. */
  next(key: BlockKey, after: number): Block | Promise<Block> {
    if (!key.isShared) return this.#read(key, after)
    const name = `${this.#reader.epoch} ${key.id} ${after}`
    const kept = this.#kept.get(name) ?? this.#underWay.get(name)
    if (kept !== undefined) return kept
    const reading = this.#readToKeep(key, after, name)
    this.#underWay.set(name, reading)
    return reading
  }

  async #readToKeep(key: BlockKey, after: number, name: string): Promise<Block> {
    try {
      const block = await this.#read(key, after)
      if (block.events > 0) this.#keep(name, block)
      return block
    } finally {
      this.#underWay.delete(name)
    }
  }

  async #read({ filter, framing }: BlockKey, after: number): Promise<Block> {
    const making = this.#holdings.make()
    try {
      const { events, position, cursor } = await this.#reader.read({
        after,
        filter,
        limit: Math.ceil(making.maxBytes / USUAL_EVENT_BYTES),
        maxBytes: making.maxBytes,
        signal: this.#signal,
        budgetMs: READ_BUDGET_MS,
      })
      const bytes = Buffer.concat(framing.events(events, this.#clock.now()))
      return { bytes, events: events.length, position, cursor }
    } finally {
      // Those who wait for it take it in this turn.
      void yieldToEventLoop().then(() => making.done())
    }
  }

  #keep(name: string, block: Block): void {
    this.#kept.set(name, block)
    this.#keptBytes += block.bytes.length
    for (const [oldest, { bytes }] of this.#kept) {
      if (this.#keptBytes <= KEPT_BYTES) break
      this.#kept.delete(oldest)
      this.#keptBytes -= bytes.length
    }
  }
}
