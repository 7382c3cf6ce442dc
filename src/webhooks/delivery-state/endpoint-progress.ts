/**
 * Computes the position of an endpoint's cursor: every event up to it is delivered, given up, or stored for a later
 * try. Deliveries may end in any order.
 */

/** The progress of a cursor. Sequences are read in rising order and decided in any order. */
export class Progress {
  /** Matching events that were read, in the order of their sequences, and whether they are decided. */
  readonly #marks = new Map<number, 'open' | 'kept' | 'done'>()
  /** Done before they were read, or read again. */
  readonly #doneUnread: Set<number>
  #base: number
  #readTo: number

  /** Continues from a position row. */
  constructor(base: number, ahead: readonly number[]) {
    this.#base = base
    this.#readTo = base
    this.#doneUnread = new Set(ahead.filter((sequence) => sequence > base))
  }

  /** Everything up to here is decided. */
  get base(): number {
    return this.#base
  }

  /** Everything up to here has been read. */
  get readTo(): number {
    return this.#readTo
  }

  /** Matching events after `base` that were read. */
  get size(): number {
    return this.#marks.size
  }

  /** A matching event was read. False where it is done already. */
  seen(sequence: number): boolean {
    const isNew = !this.#doneUnread.delete(sequence)
    this.#readTo = sequence
    this.#marks.set(sequence, isNew ? 'open' : 'done')
    this.#advance()
    return isNew
  }

  /** Everything up to here was read; what was not `seen` does not match. */
  passedTo(sequence: number): void {
    if (sequence <= this.#readTo) return
    this.#readTo = sequence
    for (const done of this.#doneUnread) if (done <= sequence) this.#doneUnread.delete(done)
    this.#advance()
  }

  /** A durable retry row holds it: the position may pass it. */
  kept(sequence: number): void {
    this.#mark(sequence, 'kept')
  }

  /**
   * It is delivered or dead. The position row records that until the position has passed it. One that was not read yet is
   * skipped when it is read.
   */
  done(sequence: number): void {
    if (sequence > this.#readTo) this.#doneUnread.add(sequence)
    else this.#mark(sequence, 'done')
  }

  /** The sequences after `base` that are done, rising. */
  ahead(): number[] {
    const done = [...this.#marks].filter(([, as]) => as === 'done').map(([sequence]) => sequence)
    return [...done, ...[...this.#doneUnread].sort((one, other) => one - other)]
  }

  #mark(sequence: number, as: 'kept' | 'done'): void {
    if (!this.#marks.has(sequence)) return
    this.#marks.set(sequence, as)
    this.#advance()
  }

  #advance(): void {
    for (const [sequence, mark] of this.#marks) {
      if (mark === 'open') {
        this.#base = sequence - 1
        return
      }
      this.#marks.delete(sequence)
    }
    this.#base = this.#readTo
  }
}
