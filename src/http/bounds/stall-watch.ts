/**
 * Detects clients that take nothing of what was written to them for about 30 s, by looking at their sockets twice a second. Node's
 * own time-out of a socket starts anew where its first look finds any progress, so it can take twice its time.
 */
import type { Clock } from '../../lifecycle/clock.ts'

const LOOK_MS = 500
/**
 * Looks at which a client has taken nothing since the one before: it stalls 29 to 29.5 s after the last byte. So it is gone
 * by about 30 s, for a WebSocket has a second to answer its close.
 */
const IDLE_LOOKS = 58

/** The part of a socket that is looked at. `_handle` is no documented part of Node; its own time-out reads the same. */
export interface WatchedSocket {
  readonly writableLength: number
  readonly _handle?: { readonly bytesWritten: number; readonly writeQueueSize: number } | null
}

interface Watched {
  readonly socket: WatchedSocket
  readonly onStalled: () => void
  /** Bytes that the kernel had taken at the last look. */
  taken: number
  /** Looks since then that found the same; −1 before the first one. */
  idleLooks: number
}

/** The sockets of a node that are watched. One timer runs while there are any. */
export class StallWatch {
  readonly #clock: Clock
  readonly #watched = new Set<Watched>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Calls back once, when bytes waited for the client of this socket and it took none of them for the stall time. Returns
   * the function that ends the watch, callable twice.
   */
  add(socket: WatchedSocket, onStalled: () => void): () => void {
    const watched: Watched = { socket, onStalled, taken: bytesTaken(socket), idleLooks: -1 }
    this.#watched.add(watched)
    if (this.#watched.size === 1) this.#arm()
    return () => {
      this.#watched.delete(watched)
      if (this.#watched.size === 0) this.#cancel()
    }
  }

  #cancel = (): void => {}

  /** The next look comes sooner by what the last was late: 58 late looks must not add up. */
  #arm(lateMs = 0): void {
    this.#cancel()
    const delayMs = Math.min(LOOK_MS, Math.max(LOOK_MS / 2, LOOK_MS - lateMs))
    const dueMs = this.#clock.now() + delayMs
    this.#cancel = this.#clock.after(delayMs, () => this.#look(this.#clock.now() - dueMs))
  }

  #look(lateMs: number): void {
    for (const watched of this.#watched) {
      const taken = bytesTaken(watched.socket)
      const isIdle = watched.socket.writableLength > 0 && taken === watched.taken
      watched.idleLooks = isIdle ? watched.idleLooks + 1 : 0
      watched.taken = taken
      if (watched.idleLooks < IDLE_LOOKS) continue
      this.#watched.delete(watched)
      watched.onStalled()
    }
    if (this.#watched.size > 0) this.#arm(lateMs)
  }
}

/** Bytes that the kernel has taken: those handed to the socket, without those that wait in it. */
function bytesTaken({ _handle: handle }: WatchedSocket): number {
  return handle ? handle.bytesWritten - handle.writeQueueSize : 0
}
