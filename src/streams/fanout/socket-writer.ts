/**
 * The bytes of one stream on their way to its socket. Owns when a client is slow, what it holds of our memory then, and
 * when it makes no progress at all: the socket's own timer, which looks at what the kernel has taken and not only at whole
 * writes. Refuses frames.
 */
import type { Holdings } from '../limits/send-buffers.ts'
import type { Turns } from '../limits/tick-budget.ts'

/** An HTTP answer or a bare socket. Its `timeout` event tells that nothing moved for the time set. */
export interface Outlet {
  /** Bytes that its kernel has not taken. */
  readonly writableLength: number
  write(frames: Buffer, onTaken: (error?: Error | null) => void): boolean
  on(event: 'timeout' | 'close', listener: () => void): unknown
  off(event: 'timeout' | 'close', listener: () => void): unknown
  setTimeout(stallMs: number): unknown
}

/** Whoever writes. */
export interface SinkOwner {
  /** The client has not taken what was written. */
  onFull(): void
  /** It has taken everything. */
  onRoom(): void
  /** It took nothing for the time of the sink. */
  onStalled(): void
}

/** What the sinks of a node share. */
export interface SinkParts {
  /** Time in which a client that is slow must take some byte. */
  stallMs: number
  /** Where what its client holds is counted. */
  holdings: Holdings
  /** A thousand that became slow together stall together. */
  turns: Turns
}

/**
 * `bare`: a socket gives its kernel what is written at once, so a client is slow as soon as something is left. `answer`: one
 * of node:http, whose head is written, writes at the end of the turn; a client is slow where its buffer is full, 64 KiB.
 */
export type OutletKind = 'bare' | 'answer'

/** The way to one client. */
export class Sink {
  readonly #outlet: Outlet
  readonly #kind: OutletKind
  readonly #parts: SinkParts
  readonly #owner: SinkOwner
  /** What a slow client holds; null where it has taken everything. */
  #held: Buffer[] | null = null
  #unlisten: (() => void) | null = null

  constructor(outlet: Outlet, kind: OutletKind, parts: SinkParts, owner: SinkOwner) {
    this.#outlet = outlet
    this.#kind = kind
    this.#parts = parts
    this.#owner = owner
  }

  /** Whether the client has not taken yet what was written. */
  get isFull(): boolean {
    return this.#held !== null
  }

  /** Takes whole frames, also while it is full. */
  write(frames: Buffer): void {
    const hasRoom = this.#outlet.write(frames, (error) => this.#onTaken(error))
    if (this.#held === null) {
      if (this.#kind === 'bare' ? this.#outlet.writableLength === 0 : hasRoom) return
      this.#fill()
    }
    this.#held?.push(frames)
    this.#parts.holdings.hold(frames)
  }

  /** Its listeners are there only while they are needed: thousands of streams are idle. */
  #fill(): void {
    const onTimeout = (): void => this.#parts.turns.add(() => this.#stalled())
    const onClose = (): void => this.#letGo()
    this.#held = []
    this.#outlet.on('timeout', onTimeout)
    this.#outlet.on('close', onClose)
    this.#outlet.setTimeout(this.#parts.stallMs)
    this.#unlisten = () => {
      this.#outlet.off('timeout', onTimeout)
      this.#outlet.off('close', onClose)
      this.#outlet.setTimeout(0)
    }
    this.#owner.onFull()
  }

  #stalled(): void {
    if (this.#held !== null) this.#owner.onStalled()
  }

  #letGo(): void {
    for (const frames of this.#held?.splice(0) ?? []) this.#parts.holdings.release(frames)
  }

  #onTaken(error?: Error | null): void {
    if (this.#held === null || error || this.#outlet.writableLength > 0) return
    this.#letGo()
    this.#held = null
    this.#unlisten?.()
    this.#unlisten = null
    this.#owner.onRoom()
  }
}
