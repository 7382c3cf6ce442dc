/**
 * Whom an event concerns. Readers with the same filter and framing are one channel, and channels are found through the
 * inverted index of their filters: an event costs those who want it and nobody else. Owns the waking of readers that have
 * caught up. Refuses to read for them and to write to them.
 */
import { createHash } from 'node:crypto'
import type { Reader } from '../../archive/reading/reader.ts'
import type { StoredEvent } from '../../archive/store/stored.ts'
import type { Filter } from '../../core/filter/filter.ts'
import { createFilterIndex } from '../../core/filter/filter-index.ts'
import { type Clock, yieldToEventLoop } from '../../lifecycle/clock.ts'
import type { Holdings } from '../limits/send-buffers.ts'
import { type Block, type BlockKey, blockOf } from './frame-batches.ts'
import type { EventFraming } from './framing.ts'

/** A reader that has caught up. */
export interface Waiting {
  /**
   * The log goes on. Everything up to `decided` is decided for this reader: it has it, or its filter does not want it.
   * `next`: what follows there; null = to be read. `readableMs`: when it became readable.
   */
  onMore(decided: number, next: Block | null, readableMs: number): void
}

/** What readers with the same filter and framing share. */
export interface Channel extends BlockKey {
  /** Those of them that have caught up. */
  readonly waiting: Set<Waiting>
}

interface CountedChannel extends Channel {
  key: string
  readers: number
}

export interface FanoutIndex {
  /** Every reader that waits has what it wants up to here. */
  readonly decided: number
  /** The channel of this filter and framing, with one reader more. */
  join(filter: Filter | null, framing: EventFraming): Channel
  /** A reader less. */
  leave(channel: Channel): void
  /** Readers whose place is not in this copy yet: they are woken whatever comes. */
  readonly ahead: Set<Waiting>
  /** Wakes readers until the signal aborts. Rejects with a fault of the store. */
  run(signal: AbortSignal): Promise<void>
}

/** Events that are looked at together. */
const SLICE_EVENTS = 500
/** Time that waking may take before others get their turn. */
const SLICE_MS = 10

export interface FanoutIndexParts {
  reader: Reader
  clock: Clock
  /** Says how large a block may be. */
  holdings: Holdings
}

/** Nobody listens yet. */
export function createFanoutIndex({ reader, clock, holdings }: FanoutIndexParts): FanoutIndex {
  const channels = new Map<string, CountedChannel>()
  const index = createFilterIndex<CountedChannel>()
  const ahead = new Set<Waiting>()
  let opened = 0
  let decided = reader.latest
  let epoch = reader.epoch

  const open = (key: string, filter: Filter | null, framing: EventFraming): CountedChannel => {
    opened += 1
    const channel: CountedChannel = {
      key,
      id: opened,
      filter,
      framing,
      readers: 0,
      waiting: new Set(),
      get isShared() {
        return channel.readers > 1
      },
    }
    channels.set(key, channel)
    index.add(channel, filter ?? {})
    return channel
  }

  /** Wakes the readers of a channel, giving others their turn. */
  const wake = async (readers: Set<Waiting>, next: Block | null, readableMs: number): Promise<void> => {
    let sinceMs = clock.now()
    for (const one of [...readers]) {
      if (readers.delete(one)) one.onMore(decided, next, readableMs)
      if (clock.now() - sinceMs < SLICE_MS) continue
      await yieldToEventLoop()
      sinceMs = clock.now()
    }
  }

  /** The copy is another one: everybody looks for itself. */
  const wakeAll = async (): Promise<void> => {
    epoch = reader.epoch
    // What comes while they are woken is for the next time.
    const { latest } = reader
    const nowMs = clock.now()
    for (const { waiting } of [...channels.values()]) await wake(waiting, null, nowMs)
    await wake(ahead, null, nowMs)
    decided = latest
  }

  const wakeConcerned = async (signal: AbortSignal): Promise<void> => {
    const readableMs = clock.now()
    const { events, position, cursor } = await reader.read({
      after: decided,
      filter: null,
      limit: SLICE_EVENTS,
      signal,
    })
    const wanted = new Map<CountedChannel, StoredEvent[]>()
    for (const event of events) {
      for (const channel of index.match(event.facts)) {
        const others = wanted.get(channel)
        if (others === undefined) wanted.set(channel, [event])
        else others.push(event)
      }
    }
    const frameOf = sharedFrames(clock.now())
    for (const [{ framing, waiting }, own] of wanted) {
      if (waiting.size === 0) continue
      const making = holdings.make()
      const block = blockOf(own, (event) => frameOf(framing, event), making.maxBytes, { position, cursor })
      await wake(waiting, block, readableMs)
      making.done()
    }
    await wake(ahead, null, readableMs)
    decided = position
  }

  return {
    get decided() {
      return decided
    },
    ahead,
    join(filter, framing) {
      const key = keyOf(filter, framing)
      const channel = channels.get(key) ?? open(key, filter, framing)
      channel.readers += 1
      return channel
    },
    leave(channel) {
      const counted = channel as CountedChannel
      counted.readers -= 1
      if (counted.readers > 0) return
      channels.delete(counted.key)
      index.remove(counted)
    },
    async run(signal) {
      while (!signal.aborted) {
        const isAnother = reader.replica.filling !== null || reader.epoch !== epoch || reader.latest < decided
        if (isAnother) {
          // Places of the copy before say nothing about this one.
          decided = 0
          await reader.replica.untilComplete(signal)
          await wakeAll()
        }
        if (reader.latest > decided) await wakeConcerned(signal)
        else await reader.waitBeyond(decided, signal)
      }
    },
  }
}

/** Frames that are built once for all channels of a framing. */
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

/** The same for equal filters; short, since thousands are held. */
function keyOf(filter: Filter | null, { name }: EventFraming): string {
  return createHash('sha256')
    .update(`${name} ${JSON.stringify(filter)}`)
    .digest('base64')
}
