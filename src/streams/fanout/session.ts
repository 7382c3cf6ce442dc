/**
 * Sends one client its matching events from a position in the log on, batch by batch, as fast as the client takes them.
 * Replayed and live events take the same path, so a slow client costs one batch of memory.
 */
import type { Reader } from '../../archive/reading/reader.ts'
import { type LocalGap, resumeAt } from '../../archive/reading/resume.ts'
import { GAP_OPENED } from '../../core/event.ts'
import type { Filter } from '../../core/filter/filter.ts'
import type { Caller } from '../../http/auth.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import type { TimerEntry, TimerWheel } from '../limits/timer-wheel.ts'
import type { CaughtUpReader, FanoutIndex, ReaderGroup } from './fanout-index.ts'
import type { FrameBatch, FrameBatches } from './frame-batches.ts'
import type { Framing, UpstreamSnapshot } from './framing.ts'
import type { RecentSends } from './recent-sends.ts'
import type { SocketWriter } from './socket-writer.ts'
import type { StreamAccount } from './stream-account.ts'

/** Where a session begins. */
export interface SessionStart {
  /** The epoch that `after` belongs to; null before the log has one. */
  epoch: string | null
  after: number
  /** The resume point at `after`; the client's own cursor if that is ahead of this replica. */
  cursor: string
  /** A gap event to send first. */
  localGap: LocalGap | null
}

/** Why a session ended by itself: its lifetime is over, or its next events are beyond retention. */
export type SessionEnd = 'lifetime_over' | 'fell_behind'

/** The connection that a session writes to. Once it has taken what was written, it calls `onRoom`. */
export interface SessionClient {
  readonly framing: Framing
  readonly writer: Pick<SocketWriter, 'isFull' | 'write'>
  readonly account: Pick<StreamAccount, 'onSent'>
  /** Called once, unless `stop` came first. */
  onEnd(end: SessionEnd): void
  /** Called instead of `onEnd` when reading failed. */
  onFault(error: unknown): void
}

/** What the sessions of a node share. */
export interface SessionParts {
  reader: Reader
  frameBatches: FrameBatches
  fanoutIndex: FanoutIndex
  timerWheel: TimerWheel
  recentSends: Pick<RecentSends, 'note'>
  /** What the leader said last. */
  upstream: () => Pick<UpstreamSnapshot, 'asOf'>
  clock: Clock
  /** Aborts when the node stops: sessions read nothing more, and their streams are closed one by one. */
  stopping: AbortSignal
}

/** Silence after which a heartbeat is sent. */
export const HEARTBEAT_MS = 15_000
/** A leader says something every 5 s. One whose last word is older is silent, and clients hear of that at once. */
const LEADER_SILENT_MS = 10_000

/** The session of one client, from `start` to `stop` or its end. */
export class Session implements CaughtUpReader, TimerEntry {
  /** Owned by the timer wheel. */
  slot = -1
  readonly #parts: SessionParts
  readonly #client: SessionClient
  readonly #group: ReaderGroup
  readonly #endsMs: number
  readonly #caller: string | undefined
  readonly #tenant: string | null
  #epoch: string | null
  #position: number
  /** The resume point at the position; the client's own cursor if that is ahead of this replica. */
  #cursor: string
  /** Frames to send before the next batch: at the start and after a change of epoch. */
  #pending: readonly Buffer[]
  /** Whether the position is ahead of this replica: the cursor is resolved again once the replica has reached it. */
  #isAhead: boolean
  #isLive = false
  #isWaiting = false
  #isReading = false
  #isOver = false
  #writtenMs: number
  /** When it sent a heartbeat, or began. */
  #beatMs: number
  /** The leader was silent at the last heartbeat, or when the session began. */
  #wasSilent = false

  /** `opening`: frames to send first. `caller`: the id and the tenant of the client's token. `endsMs`: when the client is asked to reconnect, so that load spreads over nodes. */
  constructor(
    parts: SessionParts,
    client: SessionClient,
    options: {
      filter: Filter | null
      start: SessionStart
      opening: Buffer
      endsMs: number
      caller?: Pick<Caller, 'tokenId' | 'tenant'> | undefined
    },
  ) {
    const { filter, start, opening, endsMs } = options
    const caller = options.caller?.tokenId
    this.#parts = parts
    this.#client = client
    this.#group = parts.fanoutIndex.join(filter, client.framing.shared, caller)
    this.#endsMs = endsMs
    this.#caller = caller
    this.#tenant = options.caller?.tenant ?? null
    this.#epoch = start.epoch
    this.#position = start.after
    this.#cursor = start.cursor
    this.#isAhead = start.after > parts.reader.latest
    this.#writtenMs = parts.clock.now()
    this.#beatMs = this.#writtenMs
    this.#pending = [opening, ...this.#framesOf(start.localGap)]
  }

  /** Sends the opening and starts reading. */
  start(): void {
    const silentInMs = this.#leaderSilentInMs(this.#parts.clock.now())
    this.#wasSilent = silentInMs <= 0
    this.#setTimer(HEARTBEAT_MS, silentInMs)
    this.#send([])
    this.#read()
  }

  /** null = every event. */
  get filter(): Filter | null {
    return this.#group.filter
  }

  /** The epoch that `position` belongs to. */
  get epoch(): string | null {
    return this.#epoch
  }

  /** Whether it has caught up with the log once, and said so. */
  get isLive(): boolean {
    return this.#isLive
  }

  /** The sequence up to which everything that matches was written. */
  get position(): number {
    const { fanoutIndex, reader } = this.#parts
    const isScanned = this.#isWaiting && this.#epoch === reader.epoch
    return isScanned ? Math.max(this.#position, fanoutIndex.scannedTo) : this.#position
  }

  /** The resume point after all that was written. */
  get cursor(): string {
    const { position } = this
    return position > this.#position ? this.#parts.reader.cursorAt(position) : this.#cursor
  }

  /** Stops reading and writing. Callable twice. */
  stop(): void {
    if (this.#isOver) return
    this.#isOver = true
    const { fanoutIndex, timerWheel } = this.#parts
    timerWheel.clear(this)
    this.#leaveWaiting()
    fanoutIndex.leave(this.#group, this.#caller)
  }

  /** The client has taken everything: read on. */
  onRoom(): void {
    this.#read()
  }

  onNewEvents(scannedTo: number, next: FrameBatch | null): void {
    const { reader } = this.#parts
    this.#isWaiting = false
    this.#position = Math.max(this.#position, scannedTo)
    const fits = this.#position === scannedTo && this.#epoch === reader.epoch && !this.#client.writer.isFull
    if (fits && next !== null) this.#take(next)
    this.#read()
  }

  /** Sends a heartbeat where one is due, and ends the session when its lifetime is over. */
  onTimer(): void {
    const { clock, reader } = this.#parts
    const nowMs = clock.now()
    if (nowMs >= this.#endsMs && this.#isWaiting) return this.#end('lifetime_over')
    if (this.#isWaiting && reader.epoch !== this.#epoch) {
      this.#leaveWaiting()
      this.#read()
    }
    if (this.#isOver) return
    this.#cursor = this.cursor
    const { framing, writer } = this.#client
    const sinceMs = framing.beatsAlways ? this.#beatMs : this.#writtenMs
    const silentInMs = this.#leaderSilentInMs(nowMs)
    const isSilent = silentInMs <= 0
    const leftMs = isSilent && !this.#wasSilent ? 0 : Math.min(HEARTBEAT_MS, sinceMs + HEARTBEAT_MS - nowMs)
    if (leftMs <= 0 && !writer.isFull) {
      this.#send(framing.heartbeat(this.cursor))
      this.#beatMs = nowMs
    }
    this.#wasSilent = isSilent
    this.#setTimer(leftMs > 0 ? leftMs : HEARTBEAT_MS, silentInMs)
  }

  /** For the next heartbeat: that after so much silence of the stream, or the one that tells of a silent leader. */
  #setTimer(leftMs: number, silentInMs: number): void {
    this.#parts.timerWheel.set(this, silentInMs > 0 ? Math.min(leftMs, silentInMs) : leftMs)
  }

  /** How long until the leader counts as silent, unless it says something, ms; 0 or less where it is silent. */
  #leaderSilentInMs(nowMs: number): number {
    const { asOf } = this.#parts.upstream()
    return asOf === null ? Number.POSITIVE_INFINITY : Date.parse(asOf) + LEADER_SILENT_MS + 1 - nowMs
  }

  #leaveWaiting(): void {
    this.#isWaiting = false
    this.#parts.fanoutIndex.ahead.delete(this)
    this.#group.caughtUp.delete(this)
  }

  /** Reads and writes batch by batch until the client is slow or the log ends. */
  #read(): void {
    while (this.#mayRead()) {
      if (this.#parts.reader.replica.filling !== null) return this.#wait(this.#parts.fanoutIndex.ahead)
      if (!this.#followLog()) return
      const next = this.#parts.frameBatches.next(this.#group, this.#position, this.#caller)
      if (next instanceof Promise) {
        this.#isReading = true
        // Closures are made here, not in the constructor: thousands of idle sessions would each hold both.
        next.then(
          (batch) => this.#onBatch(batch),
          (error: unknown) => this.#onFault(error),
        )
        return
      }
      this.#take(next)
    }
  }

  #mayRead(): boolean {
    // On a stopping node reads return nothing, so a loop would never end.
    if (this.#parts.stopping.aborted) return false
    return !this.#isOver && !this.#isReading && !this.#isWaiting && !this.#client.writer.isFull
  }

  #onBatch(batch: FrameBatch): void {
    this.#isReading = false
    if (this.#isOver) return
    // Drop a batch that was read before the epoch changed.
    if (this.#epoch === this.#parts.reader.epoch) this.#take(batch)
    this.#read()
  }

  #onFault(error: unknown): void {
    this.#isReading = false
    if (this.#isOver) return
    this.stop()
    this.#client.onFault(error)
  }

  /**
   * Resolves the cursor again if the epoch changed, or if the replica has reached a position that was ahead of it: the
   * cursor may be of another history. False when the next events are beyond retention.
   */
  #followLog(): boolean {
    const { reader, clock } = this.#parts
    const isReached = this.#isAhead && this.#position <= reader.latest
    if (reader.epoch === this.#epoch && !isReached) return true
    this.#epoch = reader.epoch
    this.#isAhead = false
    const resume = resumeAt(reader, this.#cursor, clock.now())
    if (resume.kind === 'too_old') {
      this.#end('fell_behind')
      return false
    }
    this.#position = resume.after
    this.#cursor = resume.cursor
    this.#pending = [...this.#pending, ...this.#framesOf(resume.localGap)]
    return true
  }

  /** The frame of a gap event that this node made. */
  #framesOf(localGap: LocalGap | null): Buffer[] {
    if (localGap === null) return []
    const { framing } = this.#client
    return framing.shared.events([{ type: GAP_OPENED, ...localGap }], this.#parts.clock.now())
  }

  #take({ bytes, events, sequences, committedMs, position, cursor }: FrameBatch): void {
    const { reader, recentSends } = this.#parts
    if (reader.oldest - 1 > this.#position) return this.#end('fell_behind')
    this.#isAhead = position > reader.latest
    const hasCaughtUp = position === reader.latest
    this.#position = position
    if (!this.#isAhead) this.#cursor = cursor
    const becomesLive = hasCaughtUp && !this.#isLive
    if (events > 0 || becomesLive || this.#pending.length > 0) {
      this.#send([bytes, ...(becomesLive ? this.#client.framing.live(this.#cursor) : [])])
    }
    if (events > 0) this.#client.account.onSent(events, this.#isLive ? committedMs : null)
    if (events > 0 && this.#isLive && this.#tenant !== null)
      recentSends.note(this.#tenant, this.#epoch ?? '', sequences, this.#writtenMs)
    this.#isLive ||= hasCaughtUp
    if (this.#isAhead) this.#wait(this.#parts.fanoutIndex.ahead)
    else if (hasCaughtUp) this.#wait(this.#group.caughtUp)
  }

  #wait(among: Set<CaughtUpReader>): void {
    this.#isWaiting = true
    among.add(this)
  }

  #send(frames: readonly Buffer[]): void {
    const all = [...this.#pending, ...frames].filter(({ length }) => length > 0)
    this.#pending = []
    this.#writtenMs = this.#parts.clock.now()
    // One by one: concatenated, the batch would no longer be a shared buffer.
    for (const one of all) this.#client.writer.write(one)
  }

  #end(end: SessionEnd): void {
    this.stop()
    this.#client.onEnd(end)
  }
}
