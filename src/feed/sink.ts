/**
 * The bytes of one stream on their way to its socket. Owns when a client is slow and when it makes no progress at all:
 * the socket's own timer, which looks at what the kernel has taken and not only at whole writes. Refuses frames.
 */
import type { ServerResponse } from 'node:http'

/** Where frames go. */
export interface Sink {
  /** Takes whole frames; false when the client has not taken everything, and `room` should be awaited. */
  write(frames: Buffer): boolean
  /** Resolves when everything is taken: true; or when the client made no progress, or the signal aborts: false. */
  room(signal: AbortSignal): Promise<boolean>
}

/** A sink over an answer whose head is written. `stallMs`: time in which some byte must be taken. */
export function responseSink(response: ServerResponse, stallMs: number): Sink {
  let onStall = (): void => {}
  // The timer runs on an idle connection too; a listener keeps Node from closing it then.
  response.setTimeout(stallMs, () => onStall())
  return {
    write: (frames) => response.write(frames),
    room(signal) {
      if (signal.aborted) return Promise.resolve(false)
      if (!response.writableNeedDrain) return Promise.resolve(true)
      return new Promise((resolve) => {
        const settle = (hasRoom: boolean): void => {
          response.off('drain', onDrain)
          signal.removeEventListener('abort', onAbort)
          onStall = () => {}
          resolve(hasRoom)
        }
        const onDrain = (): void => settle(true)
        const onAbort = (): void => settle(false)
        onStall = onAbort
        response.on('drain', onDrain)
        signal.addEventListener('abort', onAbort, { once: true })
      })
    },
  }
}
