/**
 * Both directions of one WebSocket. Owns when a client is not read from: while its commands are being done, and while it
 * does not take what is written, so that neither commands nor their answers can pile up. Refuses to know what is said.
 */
import type { Sink } from './sink.ts'

export interface FlowOptions {
  sink: Sink
  /** The connection's reading side. */
  reading: { pause(): void; resume(): void }
  /** Aborts when closing has begun or the socket is gone: nothing is written or held from then on. */
  ended: AbortSignal
  /** When a write meets a full socket, and when there is room again. */
  onSlow: (slow: boolean) => void
  /** The client took nothing for the time of the sink. */
  onStalled: () => void
}

/** A sink that holds reading up while it is full. */
export interface Flow extends Sink {
  readonly isHeld: boolean
  /** Reads nothing until the same number of `letRead`. */
  hold(): void
  letRead(): void
}

/** A flow that reads. */
export function createFlow({ sink, reading, ended, onSlow, onStalled }: FlowOptions): Flow {
  let holds = 0
  let isFull = false
  const hold = (): void => {
    holds += 1
    if (!ended.aborted) reading.pause()
  }
  const letRead = (): void => {
    holds -= 1
    if (holds === 0) reading.resume()
  }
  const holdUntilRoom = async (): Promise<void> => {
    isFull = true
    onSlow(true)
    hold()
    const hasRoom = await sink.room(ended)
    isFull = false
    onSlow(false)
    letRead()
    if (!hasRoom && !ended.aborted) onStalled()
  }
  return {
    get isHeld() {
      return holds > 0
    },
    hold,
    letRead,
    write(frames) {
      if (ended.aborted) return true
      const taken = sink.write(frames)
      if (!taken && !isFull) void holdUntilRoom()
      return taken
    },
    room: (signal) => sink.room(signal),
  }
}
