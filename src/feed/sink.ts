/**
 * The bytes of one stream on their way to its socket. Owns when a client is slow and when it makes no progress at all:
 * the socket's own timer, which looks at what the kernel has taken and not only at whole writes. Refuses frames.
 */
import type { Writable } from 'node:stream'

/** Where frames go. */
export interface Sink {
  /** Takes whole frames; false when the client has not taken everything, and `room` should be awaited. */
  write(frames: Buffer): boolean
  /** Resolves when everything is taken: true; or when the client made no progress, or the signal aborts: false. */
  room(signal: AbortSignal): Promise<boolean>
}

/** An HTTP answer or a bare socket. Its `timeout` event tells that nothing moved for the time set. */
export type Outlet = Writable & { setTimeout(stallMs: number): unknown }

/** A sink over an answer whose head is written, or over a socket. `stallMs`: time in which some byte must be taken. */
export function outletSink(outlet: Outlet, stallMs: number): Sink {
  const waiting = new Set<() => void>()
  outlet.setTimeout(stallMs)
  // The timer runs on an idle connection too; a listener keeps Node from closing it then.
  outlet.on('timeout', () => {
    for (const giveUp of waiting) giveUp()
  })
  return {
    write: (frames) => outlet.write(frames),
    room(signal) {
      if (signal.aborted) return Promise.resolve(false)
      if (!outlet.writableNeedDrain) return Promise.resolve(true)
      return new Promise((resolve) => {
        const settle = (hasRoom: boolean): void => {
          outlet.off('drain', onDrain)
          signal.removeEventListener('abort', giveUp)
          waiting.delete(giveUp)
          resolve(hasRoom)
        }
        const onDrain = (): void => settle(true)
        const giveUp = (): void => settle(false)
        waiting.add(giveUp)
        outlet.on('drain', onDrain)
        signal.addEventListener('abort', giveUp, { once: true })
      })
    },
  }
}
