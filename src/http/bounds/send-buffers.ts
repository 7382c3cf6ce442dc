/**
 * Accounts for the memory that slow clients hold: bytes in their sockets that the kernel has not taken, and answers that
 * are not out. A shared buffer counts once. The total decides how large the next frame batch (events encoded for one
 * write) may be. It thus stays below `LARGE_BUDGET_BYTES` plus one small batch per client, give or take an event each.
 */
import type { ServerResponse } from 'node:http'

/**
 * JSON in a frame batch while little memory is held, and while much is. Large batches need fewer writes and less kernel
 * time a byte (docs/adr/0007-fan-out-index.md); small ones of a thousand clients hold 31 MiB.
 */
export const LARGE_BATCH_BYTES = 256 * 1024
export const SMALL_BATCH_BYTES = 32 * 1024
/** Most bytes held, the next batch included, for that batch to be a large one. */
export const LARGE_BUDGET_BYTES = 16 * 1024 * 1024

/** Memory set aside for a batch that is being built. */
export interface Reservation {
  /** JSON that the batch may have. */
  readonly maxBytes: number
  /** Ends the reservation, once the clients that cannot send the batch at once have retained it. Call it once. */
  end(): void
}

/** The send-buffer account of a node. */
export class SendBuffers {
  readonly #holders = new Map<Buffer, number>()
  #bytes = 0

  /** Reserves memory for a batch or an answer: its bytes, `largeBytes` or fewer, count as held until the reservation ends. */
  reserve(largeBytes: number = LARGE_BATCH_BYTES): Reservation {
    const isLarge = largeBytes > SMALL_BATCH_BYTES && this.#bytes + largeBytes <= LARGE_BUDGET_BYTES
    const maxBytes = isLarge ? largeBytes : SMALL_BATCH_BYTES
    this.#bytes += maxBytes
    return {
      maxBytes,
      end: () => {
        this.#bytes -= maxBytes
      },
    }
  }

  /** Counts a client that holds this buffer. */
  retain(buffer: Buffer): void {
    const holders = this.#holders.get(buffer) ?? 0
    if (holders === 0) this.#bytes += buffer.length
    this.#holders.set(buffer, holders + 1)
  }

  /** Counts the body of an answer until the answer is out or its client is gone. Call it before the body is sent. */
  retainUntilOut(body: Buffer, response: Pick<ServerResponse, 'destroyed' | 'once'>): void {
    if (response.destroyed) return
    this.retain(body)
    response.once('close', () => this.release(body))
  }

  /** Counts so many bytes of an answer until it is out or its client is gone. Call it before they are sent. */
  holdUntilOut(bytes: number, response: Pick<ServerResponse, 'destroyed' | 'once'>): void {
    if (response.destroyed) return
    this.#bytes += bytes
    response.once('close', () => {
      this.#bytes -= bytes
    })
  }

  /** Ends one client's hold on this buffer. */
  release(buffer: Buffer): void {
    const holders = (this.#holders.get(buffer) ?? 1) - 1
    if (holders > 0) {
      this.#holders.set(buffer, holders)
      return
    }
    if (this.#holders.delete(buffer)) this.#bytes -= buffer.length
  }
}
