/**
 * One connected reader: a filter, a position and somebody to write to. Owns the one way of reading: take the next block,
 * write it, go on when there is room, wait where there is no more; replay and live are the same. A slow reader costs a
 * position and one block, not memory; it ends when what it has not read yet is dropped. Refuses to know transports.
 */
import type { Reader } from '../../archive/reading/reader.ts'
import { type LocalGap, resumeAt } from '../../archive/reading/resume.ts'
import type { Filter } from '../../core/filter/filter.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import type { Due, Wheel } from '../limits/timer-wheel.ts'
import type { Channel, FanoutIndex, Waiting } from './fanout-index.ts'
import type { Block, Blocks } from './frame-batches.ts'
import type { Framing } from './framing.ts'

/** Where a session begins. */
export interface SessionStart {
  /** Of which `after` is a place; null before the log has one. */
  epoch: string | null
  after: number
  /** The resume point at `after`: the reader's own where it is ahead of this copy. */
  cursor: string
  /** Told before anything else. */
  localGap: LocalGap | null
}

/** Why a session ended by itself: its time is over, or what comes next is no longer kept. */
export type SessionEnd = 'over' | 'fell_behind'

/** Whoever a session writes to. */
export interface SessionClient {
  readonly framing: Framing
  /** Whether it has not taken yet what was written; when it has, it calls `onRoom`. */
  readonly isFull: boolean
  /** Takes whole frames. */
  write(frames: Buffer): void
  /** Told for each write of events: how many, and when they became readable; null while catching up. */
  onSent(events: number, readableMs: number | null): void
  /** Told once, unless `stop` came first. */
  onEnd(end: SessionEnd): void
  /** Told instead when reading failed. */
  onFault(error: unknown): void
}

/** What the sessions of a node share. */
export interface SessionParts {
  reader: Reader
  blocks: Blocks
  audience: FanoutIndex
  wheel: Wheel
  clock: Clock
  /** Aborts when the node stops: nothing more is read, and each stream is ended in its turn. */
  stopping: AbortSignal
}

/** Silence after which a sign of life is sent. */
export const HEARTBEAT_MS = 15_000

/** One reader, from `start` to `stop` or its end. */
export class Session implements Waiting, Due {
  /** The wheel's. */
  slot = -1
  readonly #parts: SessionParts
  readonly #client: SessionClient
  readonly #channel: Channel
  readonly #endsMs: number
  #epoch: string | null
  #position: number
  /** The resume point at the position, or the client's own where that is ahead of this copy. */
  #cursor: string
  /** Told to the client before what it is sent next; empty but at the beginning and after a change of epoch. */
  #pending: readonly Buffer[]
  #isLive = false
  #isWaiting = false
  #isReading = false
  #isOver = false
  /** When what is being read became readable. */
  #readableMs: number | null = null
  #writtenMs: number

  /** `opening`: frames that go out before anything else. `endsMs`: when it is to come back, so that nodes share readers. */
  constructor(
    parts: SessionParts,
    client: SessionClient,
    options: { filter: Filter | null; start: SessionStart; opening: Buffer; endsMs: number },
  ) {
    const { filter, start, opening, endsMs } = options
    this.#parts = parts
    this.#client = client
    this.#channel = parts.audience.join(filter, client.framing.shared)
    this.#endsMs = endsMs
    this.#epoch = start.epoch
    this.#position = start.after
    this.#cursor = start.cursor
    this.#writtenMs = parts.clock.now()
    const localGap =
      start.localGap === null ? [] : client.framing.shared.localGap(start.localGap, this.#writtenMs)
    this.#pending = [opening, ...localGap]
  }

  /** Begins. */
  start(): void {
    this.#parts.wheel.set(this, HEARTBEAT_MS)
    this.#send([])
    this.#read()
  }

  /** The resume point behind all that was written. */
  get cursor(): string {
    const { audience, reader } = this.#parts
    if (this.#isWaiting && this.#epoch === reader.epoch && audience.decided > this.#position) {
      return reader.cursorAt(audience.decided)
    }
    return this.#cursor
  }

  /** Writes and reads nothing more. Callable twice. */
  stop(): void {
    if (this.#isOver) return
    this.#isOver = true
    const { audience, wheel } = this.#parts
    wheel.clear(this)
    this.#leaveWaiting()
    audience.leave(this.#channel)
  }

  /** The client has taken everything. */
  onRoom(): void {
    this.#read()
  }

  onMore(decided: number, next: Block | null, readableMs: number): void {
    const { reader } = this.#parts
    this.#isWaiting = false
    this.#position = Math.max(this.#position, decided)
    this.#readableMs = readableMs
    const stands = this.#position === decided && this.#epoch === reader.epoch && !this.#client.isFull
    if (stands && next !== null) this.#take(next)
    this.#read()
  }

  /** A sign of life where nothing was written for long, and the end of its time. */
  onDue(): void {
    const { clock, reader, wheel } = this.#parts
    const nowMs = clock.now()
    if (nowMs >= this.#endsMs && this.#isWaiting) return this.#end('over')
    if (this.#isWaiting && reader.epoch !== this.#epoch) this.#readAnew()
    if (this.#isOver) return
    this.#cursor = this.cursor
    const leftMs = Math.min(HEARTBEAT_MS, this.#writtenMs + HEARTBEAT_MS - nowMs)
    if (leftMs <= 0 && !this.#client.isFull) this.#send(this.#client.framing.heartbeat(this.cursor))
    wheel.set(this, leftMs > 0 ? leftMs : HEARTBEAT_MS)
  }

  #readAnew(): void {
    this.#leaveWaiting()
    this.#read()
  }

  #leaveWaiting(): void {
    this.#isWaiting = false
    this.#parts.audience.ahead.delete(this)
    this.#channel.waiting.delete(this)
  }

  /** Reads on, block by block, for as long as the client takes what it is sent and there is more. */
  #read(): void {
    while (this.#mayRead()) {
      if (this.#parts.reader.replica.filling !== null) return this.#wait(this.#parts.audience.ahead)
      if (!this.#followEpoch()) return
      const next = this.#parts.blocks.next(this.#channel, this.#position)
      if (next instanceof Promise) {
        this.#isReading = true
        // Made here: thousands of sessions are idle, and would each hold both.
        next.then(
          (block) => this.#onBlock(block),
          (error: unknown) => this.#onFault(error),
        )
        return
      }
      this.#take(next)
    }
  }

  #mayRead(): boolean {
    // A read of a node that stops ends where it began: going on from there would never end.
    if (this.#parts.stopping.aborted) return false
    return !this.#isOver && !this.#isReading && !this.#isWaiting && !this.#client.isFull
  }

  #onBlock(block: Block): void {
    this.#isReading = false
    if (this.#isOver) return
    // A block that was read before the log became another one is none of its.
    if (this.#epoch === this.#parts.reader.epoch) this.#take(block)
    this.#read()
  }

  #onFault(error: unknown): void {
    this.#isReading = false
    if (this.#isOver) return
    this.stop()
    this.#client.onFault(error)
  }

  /** False when what comes next in the other epoch cannot be read. */
  #followEpoch(): boolean {
    const { reader, clock } = this.#parts
    if (reader.epoch === this.#epoch) return true
    this.#epoch = reader.epoch
    const nowMs = clock.now()
    const resume = resumeAt(reader, this.#cursor, nowMs)
    if (resume.kind === 'too_old') {
      this.#end('fell_behind')
      return false
    }
    this.#position = resume.after
    this.#cursor = resume.cursor
    if (resume.localGap !== null)
      this.#pending = [...this.#pending, ...this.#client.framing.shared.localGap(resume.localGap, nowMs)]
    return true
  }

  #take({ bytes, events, position, cursor }: Block): void {
    const { reader } = this.#parts
    if (reader.oldest - 1 > this.#position) return this.#end('fell_behind')
    const isAhead = position > reader.latest
    const hasCaughtUp = position === reader.latest
    this.#position = position
    if (!isAhead) this.#cursor = cursor
    const becomesLive = hasCaughtUp && !this.#isLive
    if (events > 0 || becomesLive || this.#pending.length > 0) {
      this.#send([bytes, ...(becomesLive ? this.#client.framing.live(this.#cursor) : [])])
    }
    if (events > 0) this.#client.onSent(events, this.#isLive ? this.#readableMs : null)
    this.#isLive ||= hasCaughtUp
    if (isAhead) this.#wait(this.#parts.audience.ahead)
    else if (hasCaughtUp) this.#wait(this.#channel.waiting)
  }

  #wait(among: Set<Waiting>): void {
    this.#isWaiting = true
    among.add(this)
  }

  #send(frames: readonly Buffer[]): void {
    const all = [...this.#pending, ...frames].filter(({ length }) => length > 0)
    this.#pending = []
    this.#writtenMs = this.#parts.clock.now()
    // One by one: put together, a block would no longer be shared.
    for (const one of all) this.#client.write(one)
  }

  #end(end: SessionEnd): void {
    this.stop()
    this.#client.onEnd(end)
  }
}
