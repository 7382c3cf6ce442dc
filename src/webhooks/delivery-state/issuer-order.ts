/**
 * Keeps the unfinished events of each issuer in the order in which they were read, for endpoints with `order: issuer`.
 * Such an endpoint gets an issuer's events one after the other.
 */

/** A line of unfinished events for each issuer. */
export class IssuerOrder {
  readonly #lines = new Map<string, Set<number>>()

  /** Puts the event at the end of its issuer's line. */
  enter(subject: string, sequence: number): void {
    const line = this.#lines.get(subject) ?? new Set()
    this.#lines.set(subject, line.add(sequence))
  }

  /** True where no event of its issuer is before it, other than those in `taken`. */
  isFirst(subject: string, sequence: number, taken?: Pick<ReadonlyMap<number, unknown>, 'has'>): boolean {
    for (const one of this.#lines.get(subject) ?? []) {
      if (one === sequence) return true
      if (taken?.has(one) !== true) return false
    }
    return false
  }

  /** Removes a finished event. Returns the sequence that became first; null where none did. */
  leave(subject: string, sequence: number): number | null {
    const line = this.#lines.get(subject)
    const wasFirst = this.isFirst(subject, sequence)
    line?.delete(sequence)
    if (line?.size === 0) this.#lines.delete(subject)
    const [first] = line ?? []
    return wasFirst ? (first ?? null) : null
  }
}
