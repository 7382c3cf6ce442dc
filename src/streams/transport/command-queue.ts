/**
 * Runs the commands of one WebSocket client one after the other. Reading from the client pauses until they are done and while
 * it is slow, so neither commands nor answers pile up.
 */
import type { WebSocket } from 'ws'

/** The command queue of one connection. */
export class CommandQueue {
  readonly #webSocket: Pick<WebSocket, 'pause' | 'resume'>
  readonly #onFault: (error: unknown) => void
  #lastJob: Promise<void> = Promise.resolve()
  /** Reasons not to read from the client: unfinished commands, and slowness. */
  #pauses = 0
  #isClosed = false

  /** `onFault` gets what a job throws. */
  constructor(webSocket: Pick<WebSocket, 'pause' | 'resume'>, onFault: (error: unknown) => void) {
    this.#webSocket = webSocket
    this.#onFault = onFault
  }

  /** Whether the client is not being read from. */
  get isPaused(): boolean {
    return this.#pauses > 0
  }

  /** Runs the job after all earlier ones; skips it once the queue is closed. */
  add(job: () => Promise<void>): void {
    this.pause()
    this.#lastJob = this.#lastJob.then(async () => {
      try {
        if (!this.#isClosed) await job()
      } catch (error) {
        this.#onFault(error)
      }
      this.resume()
    })
  }

  /** Stops reading from the client until a matching `resume`. */
  pause(): void {
    this.#pauses += 1
    if (!this.#isClosed) this.#webSocket.pause()
  }

  /** Ends one `pause`. */
  resume(): void {
    this.#pauses -= 1
    if (this.#pauses === 0) this.#webSocket.resume()
  }

  /** Runs no further job. */
  close(): void {
    this.#isClosed = true
  }
}
