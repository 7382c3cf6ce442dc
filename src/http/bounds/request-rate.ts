/**
 * Limits how many requests a second each key may send: a bucket of tokens for each, kept as the one moment at which it
 * will be full again. A full bucket takes no memory.
 */

/** Requests that a key may send at once, as seconds of its rate. */
export const BURST_SECONDS = 20
/** Most buckets; beyond it those that were used longest ago are taken as full. Each takes some 100 bytes. */
const MOST_KEYS = 100_000

/** What a bucket says of one request. */
export interface RateVerdict {
  isWithin: boolean
  /** Requests that may be sent at once from now on. */
  remaining: number
  /** When the bucket is full again, ms from now. */
  fullInMs: number
  /** When the next request is taken, ms from now; 0 where one would be. */
  nextInMs: number
}

/** The buckets of all keys. */
export class RequestRate {
  /** Requests that a full bucket takes at once. */
  readonly burst: number
  readonly #intervalMs: number
  readonly #windowMs = BURST_SECONDS * 1000
  /** When each bucket is full, by key, in the order of their last use. */
  readonly #fullAtMs = new Map<string, number>()

  constructor(perSecond: number) {
    this.burst = perSecond * BURST_SECONDS
    this.#intervalMs = 1000 / perSecond
  }

  /** Takes one request out of the bucket of this key, if it has one. */
  take(key: string, nowMs: number): RateVerdict {
    // A clock that was set back must not refuse requests for longer than a whole bucket takes to fill.
    const storedMs = Math.min(this.#fullAtMs.get(key) ?? nowMs, nowMs + this.#windowMs)
    const beforeMs = Math.max(0, storedMs - nowMs)
    const isWithin = beforeMs + this.#intervalMs <= this.#windowMs
    const fullInMs = isWithin ? beforeMs + this.#intervalMs : beforeMs
    this.#fullAtMs.delete(key)
    this.#fullAtMs.set(key, nowMs + fullInMs)
    this.#forgetOldest()
    return {
      isWithin,
      remaining: Math.floor((this.#windowMs - fullInMs) / this.#intervalMs),
      fullInMs,
      nextInMs: Math.max(0, fullInMs + this.#intervalMs - this.#windowMs),
    }
  }

  #forgetOldest(): void {
    if (this.#fullAtMs.size <= MOST_KEYS) return
    const [oldest] = this.#fullAtMs.keys()
    if (oldest !== undefined) this.#fullAtMs.delete(oldest)
  }
}
