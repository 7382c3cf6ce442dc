/**
 * What slow readers hold of our memory: bytes that were written to them and that their kernels have not taken. Owns the
 * count, in which a block counts once however many hold it, and how large the next block may be, so that the bound stands
 * by construction: `LARGE_BUDGET_BYTES` and a small block for each reader, give or take an event each. Refuses to know
 * readers and sockets: whoever holds bytes says so.
 */

/**
 * JSON in a block while little is held, and while much is. Large ones take fewer writes and less of the kernel's time a
 * byte (docs/adr/0007-readers-wait-in-one-audience.md); of small ones a thousand readers at a thousand places hold 31 MiB.
 */
export const LARGE_BATCH_BYTES = 256 * 1024
export const SMALL_BATCH_BYTES = 32 * 1024
/** Held together with the block that is to be made, at most, for it to be a large one. */
export const LARGE_BUDGET_BYTES = 16 * 1024 * 1024

/** A block that is being made. */
export interface Making {
  /** JSON that it may have. */
  readonly maxBytes: number
  /** Whoever takes it holds it by now. Called once. */
  done(): void
}

/** The count of a node. */
export class Holdings {
  readonly #holders = new Map<Buffer, number>()
  #bytes = 0

  /** A block is begun: it counts as held from now on until it is done. */
  make(): Making {
    const maxBytes =
      this.#bytes + LARGE_BATCH_BYTES <= LARGE_BUDGET_BYTES ? LARGE_BATCH_BYTES : SMALL_BATCH_BYTES
    this.#bytes += maxBytes
    return {
      maxBytes,
      done: () => {
        this.#bytes -= maxBytes
      },
    }
  }

  /** Somebody holds these bytes. */
  hold(bytes: Buffer): void {
    const holders = this.#holders.get(bytes) ?? 0
    if (holders === 0) this.#bytes += bytes.length
    this.#holders.set(bytes, holders + 1)
  }

  /** One of them does no longer. */
  release(bytes: Buffer): void {
    const holders = (this.#holders.get(bytes) ?? 1) - 1
    if (holders > 0) {
      this.#holders.set(bytes, holders)
      return
    }
    if (this.#holders.delete(bytes)) this.#bytes -= bytes.length
  }
}
