/**
 * Decides when the owner of an endpoint is notified that deliveries were given up, and that the endpoint accepts
 * deliveries again. What is due is stored with the endpoint's position, so no crash loses a notification.
 */
import { HOUR_MS } from '../../core/durations.ts'

/** At most one notification of an endpoint's dead deliveries in this time; those in between are counted in the next. */
const EXHAUSTED_EVERY_MS = HOUR_MS
/** An endpoint without a success for so long, when a delivery is given up, is one that may recover. */
const LONG_FAILING_MS = HOUR_MS

/** A notification that is due. Times are ms since 1970. */
export type DueNotice =
  | { kind: 'exhausted'; count: number; firstMs: number; lastMs: number }
  | { kind: 'recovered'; sinceMs: number; atMs: number }

/** What is stored of it. Times are ms since 1970. */
export interface StoredTrouble {
  /** Deliveries given up that no notification has named, and when the first and the last of them were; 0 where there is none. */
  deaths: number
  firstMs: number
  lastMs: number
  /** When the last notification of dead deliveries was made; null: never. */
  noticedMs: number | null
  /** Since when it fails for long or is disabled; null: it does not, or the owner knows that it works again. */
  troubledMs: number | null
  /** When it accepted a delivery again, which the owner does not know yet; null: it did not. */
  recoveredMs: number | null
}

const NONE: StoredTrouble = Object.freeze({
  deaths: 0,
  firstMs: 0,
  lastMs: 0,
  noticedMs: null,
  troubledMs: null,
  recoveredMs: null,
})

/** The trouble of one endpoint. */
export class EndpointTrouble {
  #now: StoredTrouble
  #isChanged = false

  /** Continues from what was stored. */
  constructor(stored: StoredTrouble = NONE) {
    this.#now = stored
  }

  /** It differs from what is stored. */
  get isChanged(): boolean {
    return this.#isChanged
  }

  /** What is to be stored; undefined: nothing. */
  take(): StoredTrouble | undefined {
    this.#isChanged = false
    return this.#now === NONE ? undefined : this.#now
  }

  /** A delivery was given up. `failingSinceMs`: since when no attempt succeeded. */
  died(nowMs: number, failingSinceMs: number | null): void {
    const { deaths, firstMs, troubledMs } = this.#now
    const isLong = failingSinceMs !== null && nowMs - failingSinceMs >= LONG_FAILING_MS
    this.#set({
      deaths: deaths + 1,
      firstMs: deaths === 0 ? nowMs : firstMs,
      lastMs: nowMs,
      ...(isLong && { troubledMs: troubledMs ?? failingSinceMs }),
    })
  }

  /** It is being disabled, because it answered 410 or failed for too long. */
  disabled(nowMs: number): void {
    if (this.#now.troubledMs === null) this.#set({ troubledMs: nowMs })
  }

  /** An attempt was delivered. */
  succeeded(nowMs: number): void {
    const { troubledMs, recoveredMs } = this.#now
    if (troubledMs !== null && recoveredMs === null) this.#set({ recoveredMs: nowMs })
  }

  /** The notification that is due; null: none. */
  due(nowMs: number): DueNotice | null {
    const { deaths: count, firstMs, lastMs, troubledMs, recoveredMs } = this.#now
    if (count > 0 && this.#waitMs(nowMs) === 0) return { kind: 'exhausted', count, firstMs, lastMs }
    if (troubledMs === null || recoveredMs === null) return null
    return { kind: 'recovered', sinceMs: troubledMs, atMs: recoveredMs }
  }

  /** How long until the next notification is due, ms; null: none is. */
  dueInMs(nowMs: number): number | null {
    return this.#now.deaths > 0 ? this.#waitMs(nowMs) : null
  }

  /** The notification is made, durably. */
  noticed(notice: DueNotice, nowMs: number): void {
    if (notice.kind === 'recovered') return this.#set({ troubledMs: null, recoveredMs: null })
    const { deaths, lastMs } = this.#now
    this.#set({ deaths: Math.max(0, deaths - notice.count), firstMs: lastMs, noticedMs: nowMs })
  }

  /** Where the clock was set back, the wait is no longer than from now. */
  #waitMs(nowMs: number): number {
    const { noticedMs } = this.#now
    const sinceMs = noticedMs === null ? EXHAUSTED_EVERY_MS : Math.max(0, nowMs - noticedMs)
    return Math.max(0, EXHAUSTED_EVERY_MS - sinceMs)
  }

  #set(change: Partial<StoredTrouble>): void {
    this.#now = { ...this.#now, ...change }
    this.#isChanged = true
  }
}
