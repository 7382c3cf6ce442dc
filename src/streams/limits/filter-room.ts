/**
 * Limits the bytes of large stream filters, per token and in all: a filter of ten thousand identifiers takes a megabyte of
 * memory in the index. Small filters are bounded by the number of streams.
 */
import type { Filter } from '../../core/filter/filter.ts'
import { settingsCaller } from '../../http/auth.ts'

/** Most JSON of the different filters of one token, and of all: each byte takes some five of memory. */
const TOKEN_BYTES = 8 * 1024 * 1024
const ALL_BYTES = 64 * 1024 * 1024
/** Filters up to this size are not counted. */
const SMALL_BYTES = 2048

/** Whose room is used up: the token's, or the node's. */
export type NoFilterRoom = 'token_full' | 'full'

/** What a large filter takes. */
interface Held {
  bytes: number
  /** Streams of the token with this filter. */
  streams: number
}

/** The large filters that the streams of a node use, by token. A filter counts once for each token that uses it. */
export class FilterRoom {
  readonly #byToken = new Map<string, Map<string, Held>>()
  readonly #tokenBytes: number
  readonly #allBytes: number

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
    const bytes = sizeOf(filter)
    const own = this.#byToken.get(token)
    if (bytes === 0 || own?.has(key)) return null
    const hasShare = token !== settingsCaller.tokenId
    if (hasShare && bytesOf(own) + bytes > this.#tokenBytes) return 'token_full'
    const all = [...this.#byToken.values()].reduce((sum, one) => sum + bytesOf(one), 0)
    return all + bytes > this.#allBytes ? 'full' : null
  }

  /** Counts a stream of that token with this filter. */
  add(token: string, key: string, filter: Filter | null): void {
    const bytes = sizeOf(filter)
    if (bytes === 0) return
    const own = this.#byToken.get(token) ?? new Map<string, Held>()
    const { streams } = own.get(key) ?? { streams: 0 }
    this.#byToken.set(token, own.set(key, { bytes, streams: streams + 1 }))
  }

  /** Ends what `add` counted. */
  remove(token: string, key: string): void {
    const own = this.#byToken.get(token)
    const held = own?.get(key)
    if (own === undefined || held === undefined) return
    held.streams -= 1
    if (held.streams === 0) own.delete(key)
    if (own.size === 0) this.#byToken.delete(token)
  }
}

/** Bytes of a filter that is counted, else 0. */
function sizeOf(filter: Filter | null): number {
  const bytes = filter === null ? 0 : JSON.stringify(filter).length
  return bytes > SMALL_BYTES ? bytes : 0
}

function bytesOf(filters: ReadonlyMap<string, Held> | undefined): number {
  let sum = 0
  for (const { bytes } of filters?.values() ?? []) sum += bytes
  return sum
}
