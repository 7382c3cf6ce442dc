/**
 * Bounds what an unauthenticated WebSocket client may cost: the bytes that it sends and the time until it authenticates.
 */
import type { Duplex } from 'node:stream'
import type { Clock } from '../../lifecycle/clock.ts'
import { StreamRefusal, tooLarge } from './refusal.ts'

/** Bytes that a client may send before it has authenticated, frame headers included. */
const MAX_BYTES_BEFORE_AUTH = 4 * 1024
const AUTH_TIMEOUT_MS = 10_000

/** The bounds of one client, from construction to `stop`. */
export class UnauthenticatedBounds {
  readonly #socket: Duplex
  readonly #onExceeded: (refusal: StreamRefusal) => void
  readonly #cancelTimer: () => void
  #bytes = 0

  /** `onExceeded` may be called more than once. */
  constructor(socket: Duplex, clock: Clock, onExceeded: (refusal: StreamRefusal) => void) {
    this.#socket = socket
    this.#onExceeded = onExceeded
    this.#cancelTimer = clock.after(AUTH_TIMEOUT_MS, () =>
      onExceeded(new StreamRefusal(404, 'no authentication within 10 s', 4001)),
    )
    socket.on('data', this.#count)
  }

  /** Lifts the bounds. */
  stop(): void {
    this.#cancelTimer()
    this.#socket.off('data', this.#count)
  }

  readonly #count = (chunk: Buffer): void => {
    this.#bytes += chunk.length
    if (this.#bytes > MAX_BYTES_BEFORE_AUTH) {
      this.#onExceeded(tooLarge(MAX_BYTES_BEFORE_AUTH, ' before authentication'))
    }
  }
}
