/**
 * Finds the streams that a new event concerns and wakes them. Streams with the same filter and framing (byte format)
 * form a group, and an inverted index over the filters finds the groups. An event costs only the streams that want it.
 */
import { createHash } from 'node:crypto'
import type { Reader } from '../../archive/reading/reader.ts'
import type { StoredEvent } from '../../archive/store/stored.ts'
import type { Filter } from '../../core/filter/filter.ts'
import { FilterIndex } from '../../core/filter/filter-index.ts'
import type { SendBuffers } from '../../http/bounds/send-buffers.ts'
import { type Clock, yieldToEventLoop } from '../../lifecycle/clock.ts'
import { FilterRoom, type NoFilterRoom } from '../limits/filter-room.ts'
import { type BatchKey, type FrameBatch, frameBatchOf } from './frame-batches.ts'
import type { EventFraming } from './framing.ts'

/** A reader that has caught up with the log. */
export interface CaughtUpReader {
  /**
   * The log has new events. Up to `scannedTo` none of them is for this reader. `next`: the batch after that position, or
   * null where the reader has to read on itself.
   */
  onNewEvents(scannedTo: number, next: FrameBatch | null): void
}

/** Events that are matched together. */
const MATCHED_EVENTS = 500
/** Time that waking readers may take before the event loop runs other work. */
const WAKE_MS = 10

/** Readers with the same filter and framing. */
export class ReaderGroup implements BatchKey {
  readonly id: number
  readonly key: string
  readonly filter: Filter | null
  readonly framing: EventFraming
  /** Its readers that have caught up. */
  readonly caughtUp = new Set<CaughtUpReader>()
  /** Owned by the index: how many readers it has. */
  readers = 0

  constructor(id: number, key: string, filter: Filter | null, framing: EventFraming) {
    this.id = id
    this.key = key
    this.filter = filter
    this.framing = framing
  }

  get isShared(): boolean {
    return this.readers > 1
  }
}

/** The reader groups of a node. */
export class FanoutIndex {
  /** Readers whose position is ahead of this node's replica: they are woken by every change. */
  readonly ahead = new Set<CaughtUpReader>()
  readonly #reader: Reader
  readonly #clock: Clock
  readonly #sendBuffers: SendBuffers
  readonly #filterRoom = new FilterRoom()
  readonly #groups = new Map<string, ReaderGroup>()
  readonly #byFilter = new FilterIndex<ReaderGroup>()
  #groupsMade = 0
  #scannedTo: number
  #epoch: string | null

  constructor(reader: Reader, clock: Clock, sendBuffers: SendBuffers) {
    this.#reader = reader
    this.#clock = clock
    this.#sendBuffers = sendBuffers
    this.#scannedTo = reader.latest
    this.#epoch = reader.epoch
  }

  /** Sequence up to which every caught-up reader has the events that it wants. */
  get scannedTo(): number {
    return this.#scannedTo
  }

  /** Why a stream of that token may not use this filter; null where it may. */
  roomRefusal(token: string, filter: Filter | null, framing: EventFraming): NoFilterRoom | null {
    return this.#filterRoom.refusal(token, keyOf(filter, framing), filter)
  }

  /** Adds a reader of that token to the group of this filter and framing. */
  join(filter: Filter | null, framing: EventFraming, token = ''): ReaderGroup {
    const key = keyOf(filter, framing)
    this.#filterRoom.add(token, key, filter)
    const group = this.#groups.get(key) ?? this.#addGroup(key, filter, framing)
    group.readers += 1
    return group
  }

  /** Removes a reader of that token from its group. */
  leave(group: ReaderGroup, token = ''): void {
    this.#filterRoom.remove(token, group.key)
    group.readers -= 1
    if (group.readers > 0) return
    this.#groups.delete(group.key)
    this.#byFilter.remove(group)
  }

  /** Wakes readers until the signal aborts. Rejects with a fault of the store. */
  async run(signal: AbortSignal): Promise<void> {
    const reader = this.#reader
    while (!signal.aborted) {
      const wasRebuilt =
        reader.replica.filling !== null || reader.epoch !== this.#epoch || reader.latest < this.#scannedTo
      if (wasRebuilt) {
        // Positions in the old replica mean nothing in the new one.
        this.#scannedTo = 0
        await reader.replica.untilComplete(signal)
        await this.#wakeAll()
      }
      if (reader.latest > this.#scannedTo) await this.#wakeMatching(signal)
      else await reader.waitBeyond(this.#scannedTo, signal)
    }
  }

  #addGroup(key: string, filter: Filter | null, framing: EventFraming): ReaderGroup {
    this.#groupsMade += 1
    const group = new ReaderGroup(this.#groupsMade, key, filter, framing)
    this.#groups.set(key, group)
    this.#byFilter.add(group, filter ?? {})
    return group
  }

  /** The replica was rebuilt: every reader resolves its position again. */
  async #wakeAll(): Promise<void> {
    this.#epoch = this.#reader.epoch
    // Events that arrive while readers are woken are matched afterwards.
    const { latest } = this.#reader
    for (const { caughtUp } of [...this.#groups.values()]) await this.#wake(caughtUp, null)
    await this.#wake(this.ahead, null)
    this.#scannedTo = latest
  }

  async #wakeMatching(signal: AbortSignal): Promise<void> {
    const { events, position, cursor } = await this.#reader.read({
      after: this.#scannedTo,
      filter: null,
      limit: MATCHED_EVENTS,
      signal,
    })
    const matching = this.#match(events)
    const frameOf = sharedFrames(this.#clock.now())
    for (const [{ framing, caughtUp }, own] of matching) {
      if (caughtUp.size === 0) continue
      const reservation = this.#sendBuffers.reserve()
      const toFrame = (event: StoredEvent): Buffer => frameOf(framing, event)
      const batch = frameBatchOf(own, toFrame, reservation.maxBytes, { position, cursor })
      await this.#wake(caughtUp, batch)
      reservation.end()
    }
    await this.#wake(this.ahead, null)
    this.#scannedTo = position
  }

  #match(events: readonly StoredEvent[]): Map<ReaderGroup, StoredEvent[]> {
    const matching = new Map<ReaderGroup, StoredEvent[]>()
    for (const event of events) {
      for (const group of this.#byFilter.match(event.facts)) {
        const others = matching.get(group)
        if (others === undefined) matching.set(group, [event])
        else others.push(event)
      }
    }
    return matching
  }

  async #wake(readers: Set<CaughtUpReader>, next: FrameBatch | null): Promise<void> {
    let sinceMs = this.#clock.now()
    for (const one of [...readers]) {
      if (readers.delete(one)) one.onNewEvents(this.#scannedTo, next)
      if (this.#clock.now() - sinceMs < WAKE_MS) continue
      await yieldToEventLoop()
      sinceMs = this.#clock.now()
    }
  }
}

/** Builds each event's frame once per framing. */
function sharedFrames(sentMs: number): (framing: EventFraming, event: StoredEvent) => Buffer {
  const frames = new Map<EventFraming, Map<StoredEvent, Buffer>>()
  return (framing, event) => {
    const own = frames.get(framing) ?? new Map<StoredEvent, Buffer>()
    frames.set(framing, own)
    const frame = own.get(event) ?? Buffer.concat(framing.events([event], sentMs))
    own.set(event, frame)
    return frame
  }
}

/** Equal for equal filters; hashed because thousands are held. */
function keyOf(filter: Filter | null, { name }: EventFraming): string {
  return createHash('sha256')
    .update(`${name} ${JSON.stringify(filter)}`)
    .digest('base64')
}
