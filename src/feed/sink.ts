/**
 * The bytes of one stream on their way to its socket. Owns when a client is slow and when it makes no progress at all:
 * the socket's own timer, which looks at what the kernel has taken and not only at whole writes. Refuses frames.
 */
import type { Writable } from 'node:stream'

/** An HTTP answer or a bare socket. Its `timeout` event tells that nothing moved for the time set. */
export type Outlet = Writable & { setTimeout(stallMs: number): unknown }

/** Whoever writes. */
export interface SinkOwner {
  /** The client has not taken what was written. */
  onFull(): void
  /** It has taken everything. */
  onRoom(): void
  /** It took nothing for the time of the sink. */
  onStalled(): void
}

/** Over an answer whose head is written, or over a socket. */
export class Sink {
  readonly #outlet: Outlet
  readonly #stallMs: number
  readonly #owner: SinkOwner
  #isFull = false

  /** `stallMs`: time in which a client that is slow must take some byte. */
  constructor(outlet: Outlet, stallMs: number, owner: SinkOwner) {
    this.#outlet = outlet
    this.#stallMs = stallMs
    this.#owner = owner
  }

  /** Whether the client has not taken yet what was written. */
  get isFull(): boolean {
    return this.#isFull
  }

  /** Takes whole frames, also while it is full. */
  write(frames: Buffer): void {
    if (!this.#outlet.write(frames) && !this.#isFull) this.#fill()
  }

  /** Its listeners are there only while they are needed: thousands of streams are idle. */
  #fill(): void {
    this.#isFull = true
    const onTimeout = (): void => this.#owner.onStalled()
    this.#outlet.on('timeout', onTimeout)
    this.#outlet.setTimeout(this.#stallMs)
    this.#outlet.once('drain', () => {
      this.#outlet.off('timeout', onTimeout)
      this.#outlet.setTimeout(0)
      this.#isFull = false
      this.#owner.onRoom()
    })
    this.#owner.onFull()
  }
}
