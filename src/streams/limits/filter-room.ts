/**
 * Limits the bytes of stream filters, per token and in all: a filter of ten thousand identifiers takes 0.7 MB of memory in
 * the index, and a token may have thousands of smaller ones.
 */
import type { Filter } from '../../core/filter/filter.ts'
import { settingsCaller } from '../../http/auth.ts'

/** Most JSON of the different filters of one token, and of all: each byte takes seven of memory, up to 13 in short names. */
const TOKEN_BYTES = 8 * 1024 * 1024
const ALL_BYTES = 64 * 1024 * 1024
/** Filters up to this size are counted for their token only, so that no large ones of others keep them out. */
const SMALL_BYTES = 256

/** Whose room is used up: the token's, or the node's. */
export type NoFilterRoom = 'token_full' | 'full'

/** A filter that streams of a token use. */
interface Held {
  bytes: number
  streams: number
}

/** The filters of a token by their keys, and the sum of their bytes. */
interface TokenFilters {
  bytes: number
  readonly filters: Map<string, Held>
}

/** The filters that the streams of a node use, by token. A filter counts once for each token that uses it. */
export class FilterRoom {
  readonly #byToken = new Map<string, TokenFilters>()
  readonly #tokenBytes: number
  readonly #allBytes: number
  /** Of all filters that are not small. */
  #bytes = 0

  /** Limits smaller than the usual are for tests. */
  constructor({ tokenBytes = TOKEN_BYTES, allBytes = ALL_BYTES } = {}) {
    this.#tokenBytes = tokenBytes
    this.#allBytes = allBytes
  }

  /**
   * Why a stream of that token may not use this filter; null where it may. `key`: equal for equal filters. The token of the
   * settings has the room of all.
   */
  refusal(token: string, key: string, filter: Filter | null): NoFilterRoom | null {
    const own = this.#byToken.get(token)
    if (filter === null || own?.filters.has(key)) return null
    const bytes = sizeOf(filter)
    const hasShare = token !== settingsCaller.tokenId
    if (hasShare && (own?.bytes ?? 0) + bytes > this.#tokenBytes) return 'token_full'
    return this.#bytes + sharedBytes(bytes) > this.#allBytes ? 'full' : null
  }

  /** Counts a stream of that token with this filter. */
  add(token: string, key: string, filter: Filter | null): void {
    if (filter === null) return
    const own = this.#byToken.get(token) ?? { bytes: 0, filters: new Map<string, Held>() }
    this.#byToken.set(token, own)
    const held = own.filters.get(key)
    if (held !== undefined) {
      held.streams += 1
      return
    }
    const bytes = sizeOf(filter)
    own.filters.set(key, { bytes, streams: 1 })
    own.bytes += bytes
    this.#bytes += sharedBytes(bytes)
  }

  /** Ends what `add` counted. */
  remove(token: string, key: string): void {
    const own = this.#byToken.get(token)
    const held = own?.filters.get(key)
    if (own === undefined || held === undefined) return
    held.streams -= 1
    if (held.streams > 0) return
    own.filters.delete(key)
    own.bytes -= held.bytes
    this.#bytes -= sharedBytes(held.bytes)
    if (own.filters.size === 0) this.#byToken.delete(token)
  }
}

function sizeOf(filter: Filter): number {
  return JSON.stringify(filter).length
}

/** What a filter of that size takes of the room of all. */
function sharedBytes(bytes: number): number {
  return bytes > SMALL_BYTES ? bytes : 0
}
