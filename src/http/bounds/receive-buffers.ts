/**
 * Accounts for the memory of what clients have begun to send and not ended: bodies of requests and messages of WebSockets.
 * A client that never ends one holds it until it is cut off, and a token may have thousands of them at a time.
 */

/** Most bytes of one holder, 32 of the largest bodies, and of all. */
const HOLDER_BYTES = 8 * 1024 * 1024
const ALL_BYTES = 32 * 1024 * 1024
/** Up to this size it counts for its holder only, so that large ones of others keep no usual request out. */
const SMALL_BYTES = 4 * 1024

/** Who sends. The token of the settings, which sees all tenants, has the room of all. */
export interface Sender {
  tokenId: string
  seesAllTenants: boolean
}

/** What one client has begun to send. */
export interface Received {
  /** It has so many bytes now. Returns why they may not be held; null where they may, and only then they count. */
  grow(bytes: number): 'holder_full' | 'full' | null
  /** It is complete, or its client is gone; `grow` begins anew. */
  end(): void
}

/** The account of a node. */
export class ReceiveBuffers {
  readonly #byHolder = new Map<string, number>()
  readonly #holderBytes: number
  readonly #allBytes: number
  #bytes = 0

  /** Limits smaller than the usual are for tests. */
  constructor({ holderBytes = HOLDER_BYTES, allBytes = ALL_BYTES } = {}) {
    this.#holderBytes = holderBytes
    this.#allBytes = allBytes
  }

  /** Nothing yet of that sender. */
  of({ tokenId, seesAllTenants }: Sender): Received {
    const most = seesAllTenants ? Number.POSITIVE_INFINITY : this.#holderBytes
    let held = 0
    const set = (bytes: number): void => {
      const own = (this.#byHolder.get(tokenId) ?? 0) + bytes - held
      if (own > 0) this.#byHolder.set(tokenId, own)
      else this.#byHolder.delete(tokenId)
      this.#bytes += sharedBytes(bytes) - sharedBytes(held)
      held = bytes
    }
    return {
      grow: (bytes) => {
        if ((this.#byHolder.get(tokenId) ?? 0) + bytes - held > most) return 'holder_full'
        const shared = sharedBytes(bytes)
        if (shared > 0 && this.#bytes + shared - sharedBytes(held) > this.#allBytes) return 'full'
        set(bytes)
        return null
      },
      end: () => set(0),
    }
  }
}

/** What so many bytes take of the room of all. */
function sharedBytes(bytes: number): number {
  return bytes > SMALL_BYTES ? bytes : 0
}
