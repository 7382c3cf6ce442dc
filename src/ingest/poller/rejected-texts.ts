/** Remembers the hashes of rejected item texts, so that overlapping pages store each text once. */

/** Most rejected items that are remembered. */
export const REJECTED_KEPT = 10_000

/** The newest rejected texts by their hashes. */
export class RejectedTexts {
  /** Oldest first. */
  readonly #hashes = new Set<string>()

  has(hash: string): boolean {
    return this.#hashes.has(hash)
  }

  remember(hash: string): void {
    this.#hashes.add(hash)
    const [oldest] = this.#hashes
    if (this.#hashes.size > REJECTED_KEPT && oldest !== undefined) this.#hashes.delete(oldest)
  }
}
