/**
 * Counts what a plain poller would have lost: one that asks for the newest page at a fixed interval and follows no cursor.
 * It sends nothing; its rule is applied to what the synthetic upstream has shown.
 */

/** How a plain poller polls. */
export interface PlainPollerRule {
  intervalMs: number
  /** Items of a page. */
  pageSize: number
}

/** An item that became visible. */
interface ShownItem {
  /** Market time, ISO 8601. */
  insertedAt: string
  /** 1 for the first revision. */
  revision: number
}

/** Applies the rule as the market goes on. */
export class PlainPoller {
  readonly #rule: PlainPollerRule
  #nextMs: number
  /** Items read of the list so far, and those of them that are new since the last poll. */
  #read = 0
  #fresh = 0
  #lost = 0

  /** `startMs`: its first poll, market time, ms since 1970. */
  constructor(rule: PlainPollerRule, startMs: number) {
    this.#rule = rule
    this.#nextMs = startMs
  }

  /**
   * Makes the polls that are due until that market time, and returns the items lost by all of them. `shown`: every item
   * that became visible so far, in that order; it only grows.
   */
  lostBy(nowMs: number, shown: readonly ShownItem[]): number {
    const { intervalMs, pageSize } = this.#rule
    for (; this.#nextMs <= nowMs; this.#nextMs += intervalMs) {
      this.#readUntil(this.#nextMs, shown)
      this.#lost += Math.max(0, this.#fresh - pageSize)
      this.#fresh = 0
    }
    return this.#lost
  }

  #readUntil(pollMs: number, shown: readonly ShownItem[]): void {
    let item = shown[this.#read]
    while (item !== undefined && Date.parse(item.insertedAt) <= pollMs) {
      if (item.revision === 1) this.#fresh += 1
      this.#read += 1
      item = shown[this.#read]
    }
  }
}
