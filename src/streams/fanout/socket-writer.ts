/**
 * Writes the frames of one stream to its socket and detects slow and stalled clients. A stall is detected by what the
 * kernel takes, also of one long write.
 */
import type { Socket } from 'node:net'
import type { SendBuffers } from '../../http/bounds/send-buffers.ts'
import type { StallWatch, WatchedSocket } from '../../http/bounds/stall-watch.ts'
import { writeChunk } from '../../http/long-answer.ts'
import { ServerResponse } from '../../lifecycle/node-http.ts'
import type { TickBudget } from '../limits/tick-budget.ts'

/** A socket or HTTP response. `writableLength` is what the kernel has not taken, bytes. */
export type Output = WatchedSocket &
  Pick<Socket, 'write' | 'cork' | 'uncork'> & {
    on(event: 'close', listener: () => void): unknown
    off(event: 'close', listener: () => void): unknown
  }

/** The stream that uses a writer. */
export interface WriterOwner {
  /** The client has become slow: it has not taken what was written. */
  onFull(): void
  /** The client has taken everything. */
  onRoom(): void
  /** The client took nothing for the time of the stall watch. */
  onStalled(): void
}

/** What the writers of a node share. */
export interface SocketWriterParts {
  stallWatch: StallWatch
  sendBuffers: SendBuffers
  /** Spreads stalls: a thousand clients that became slow together stall together. */
  tickBudget: TickBudget
}

/**
 * `socket`: passes each write to the kernel at once, so the client is slow as soon as bytes are left over. `chunked`: the same,
 * each write as a chunk of a long answer. `response`: an HTTP response of node:http, which writes at the end of the tick; the
 * client is slow when its buffer of 64 KiB is full.
 */
export type OutputKind = 'socket' | 'chunked' | 'response'

/** The writer of one stream. */
export class SocketWriter {
  readonly #output: Output
  readonly #kind: OutputKind
  readonly #parts: SocketWriterParts
  readonly #owner: WriterOwner
  /** Frames that a slow client has not taken; null where it has taken everything. */
  #retained: Buffer[] | null = null
  #unlisten: (() => void) | null = null

  constructor(output: Output, kind: OutputKind, parts: SocketWriterParts, owner: WriterOwner) {
    this.#output = output
    this.#kind = kind
    this.#parts = parts
    this.#owner = owner
  }

  /** Whether the client has not taken yet what was written. */
  get isFull(): boolean {
    return this.#retained !== null
  }

  /** Writes whole frames, also while it is full. */
  write(frames: Buffer): void {
    const onTaken = (error?: Error | null): void => this.#onTaken(error)
    const hasRoom =
      this.#kind === 'chunked'
        ? writeChunk(this.#output, frames, onTaken)
        : this.#output.write(frames, onTaken)
    if (this.#retained === null) {
      if (this.#kind === 'response' ? hasRoom : this.#output.writableLength === 0) return
      this.#becomeFull()
    }
    this.#retained?.push(frames)
    this.#parts.sendBuffers.retain(frames)
  }

  /** Adds listeners only now: thousands of streams are idle. */
  #becomeFull(): void {
    const onClose = (): void => this.#releaseAll()
    this.#retained = []
    this.#output.on('close', onClose)
    const unwatch = this.#parts.stallWatch.add(socketOf(this.#output), () =>
      this.#parts.tickBudget.run(() => this.#onStalled()),
    )
    this.#unlisten = () => {
      this.#output.off('close', onClose)
      unwatch()
    }
    this.#owner.onFull()
  }

  #onStalled(): void {
    if (this.#retained !== null) this.#owner.onStalled()
  }

  #releaseAll(): void {
    this.#unlisten?.()
    this.#unlisten = null
    for (const frames of this.#retained?.splice(0) ?? []) this.#parts.sendBuffers.release(frames)
  }

  #onTaken(error?: Error | null): void {
    if (this.#retained === null || error || this.#output.writableLength > 0) return
    this.#releaseAll()
    this.#retained = null
    this.#owner.onRoom()
  }
}

/** What lies below an HTTP response while it is being sent. */
function socketOf(output: Output): WatchedSocket {
  return output instanceof ServerResponse ? (output.socket ?? output) : output
}
