/**
 * Measures for how long an endpoint has been tried without a success, and decides when that is so long that it is
 * disabled. Time without tries does not count.
 */
import { DAY_MS, HOUR_MS } from '../../core/durations.ts'
import type { StoredTrouble } from './endpoint-trouble.ts'

/** How long an endpoint may fail without one success before it is disabled. */
export const FAILING_LIMIT_MS = 5 * DAY_MS
/** How many tries must have failed in that time. */
export const FAILING_TRIES = 10
/**
 * A pause between two failed tries after which the time begins anew: the longest delay of a retry (24 h, and a tenth) is
 * shorter, so in between nothing was due.
 */
const LONGEST_PAUSE_MS = 28 * HOUR_MS
/** The count is stored again when the stored one is so old; a restart forgets that much of it. */
const STORE_EVERY_MS = HOUR_MS

/** What is stored of it. Times are ms since 1970. */
export interface StoredFailing {
  /** Since when no attempt succeeded; null while the last one did. */
  failingSinceMs: number | null
  /** Absent where the last one succeeded, and in rows of builds that did not count. */
  failing?: FailedTries
}

/** What is stored of an endpoint's condition. */
export interface StoredCondition extends StoredFailing {
  /** Until when a Retry-After holds all deliveries, ms since 1970; absent: none does. */
  heldUntilMs?: number
  /** When that was asked, ms since 1970; absent: by a build that did not store it. */
  heldSinceMs?: number
  /** Notifications of the owner that are due; absent: none. */
  trouble?: StoredTrouble
  /** How many of its dead deliveries were forgotten; absent: none. */
  forgotten?: number
}

/** The failed tries since the last success. `tries`: at most `FAILING_TRIES`, more are not counted. */
export interface FailedTries {
  tries: number
  lastMs: number
}

/** The time of one endpoint. */
export class Failing {
  #sinceMs: number | null
  #tries: number
  #lastMs: number
  #storedLastMs: number

  /** Continues from what was stored. */
  constructor({ failingSinceMs, failing }: StoredFailing) {
    this.#sinceMs = failingSinceMs
    this.#tries = failing?.tries ?? 0
    this.#lastMs = failing?.lastMs ?? failingSinceMs ?? 0
    this.#storedLastMs = this.#lastMs
  }

  /** Since when no attempt succeeded, ms since 1970; null while the last one did. */
  get sinceMs(): number | null {
    return this.#sinceMs
  }

  /** The row's part. */
  get stored(): StoredFailing {
    if (this.#sinceMs === null) return { failingSinceMs: null }
    return { failingSinceMs: this.#sinceMs, failing: { tries: this.#tries, lastMs: this.#lastMs } }
  }

  /** True where only failures were stored, and so many that the endpoint may be gone. */
  get isLikelyGone(): boolean {
    return this.#sinceMs !== null && (this.#tries === 0 || this.#tries >= FAILING_TRIES)
  }

  /** A try failed. True where it must be stored. */
  failed(nowMs: number): boolean {
    const isNew = this.#sinceMs === null || nowMs - this.#lastMs > LONGEST_PAUSE_MS
    if (isNew) {
      this.#sinceMs = nowMs
      this.#tries = 0
    }
    this.#lastMs = nowMs
    this.#tries = Math.min(this.#tries + 1, FAILING_TRIES)
    const mustStore = isNew || Math.abs(nowMs - this.#storedLastMs) >= STORE_EVERY_MS
    if (mustStore) this.#storedLastMs = nowMs
    return mustStore
  }

  /** A try succeeded, or the endpoint was repaired. True where that must be stored. */
  ended(): boolean {
    const wasFailing = this.#sinceMs !== null
    this.#sinceMs = null
    this.#tries = 0
    return wasFailing
  }

  /** Whether it has lasted so long that the endpoint is disabled. */
  isTooLong(nowMs: number): boolean {
    return this.#sinceMs !== null && this.#tries >= FAILING_TRIES && nowMs - this.#sinceMs >= FAILING_LIMIT_MS
  }
}
