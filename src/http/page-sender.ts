/**
 * Sends large JSON answers in parts of 64 KB from buffers that are used again. A page as one buffer would leave a
 * megabyte of garbage for each request, which V8 collects late because it lies outside its heap.
 */
import type { ServerResponse } from 'node:http'
import type { SendBuffers } from './bounds/send-buffers.ts'
import { beginJson, sendJson } from './route.ts'

const PART_BYTES = 64 * 1024
/** Buffers that wait for the next page: 1 MiB. */
const MOST_FREE = 16

/** The sender of a node. */
export class PageSender {
  readonly #sendBuffers: SendBuffers
  readonly #free: Buffer[] = []

  constructor(sendBuffers: SendBuffers) {
    this.#sendBuffers = sendBuffers
  }

  /**
   * Sends the joined bytes with status 200 and counts them until the answer is out. Resolves when the last part has been
   * handed over, or the client is gone.
   */
  async send(response: ServerResponse, pieces: readonly Buffer[]): Promise<void> {
    const bytes = pieces.reduce((sum, piece) => sum + piece.length, 0)
    this.#sendBuffers.holdUntilOut(bytes, response)
    if (bytes <= PART_BYTES || response.req.method === 'HEAD') {
      sendJson(response, 200, Buffer.concat(pieces, bytes))
      return
    }
    beginJson(response, 200, bytes)
    const buffer = this.#free.pop() ?? Buffer.allocUnsafeSlow(PART_BYTES)
    for (const part of partsOf(pieces, buffer)) {
      // Of a client that is gone a write may be under way: the buffer must not be used again.
      if (!(await isTaken(response, part))) return
    }
    if (this.#free.length < MOST_FREE) this.#free.push(buffer)
    response.end()
  }
}

/** The joined bytes, part by part, each in this buffer: take one before asking for the next. */
function* partsOf(pieces: readonly Buffer[], buffer: Buffer): Generator<Buffer> {
  let filled = 0
  for (const piece of pieces) {
    for (let from = 0; from < piece.length; ) {
      const copied = piece.copy(buffer, filled, from)
      from += copied
      filled += copied
      if (filled < buffer.length) continue
      yield buffer
      filled = 0
    }
  }
  if (filled > 0) yield buffer.subarray(0, filled)
}

/** Resolves when the kernel has these bytes; false where the client is gone before. */
function isTaken(response: ServerResponse, part: Buffer): Promise<boolean> {
  if (response.destroyed) return Promise.resolve(false)
  return new Promise((resolve) => {
    const onClose = (): void => resolve(false)
    response.once('close', onClose)
    response.write(part, (error) => {
      response.off('close', onClose)
      resolve(error === undefined || error === null)
    })
  })
}
