/**
 * Computes the position of a cursor whose deliveries end in any order: the place up to which everything is decided.
 */

/** The progress of a cursor. Sequences are read in rising order and decided in any order. */
export interface Progress {
  /** Everything up to here is decided. */
  readonly base: number
  /** Everything up to here has been read. */
  readonly readTo: number
  /** Matching events after `base` that were read. */
  readonly size: number
  /** A matching event was read. False where it is done already. */
  seen(sequence: number): boolean
  /** Everything up to here was read; what was not `seen` does not match. */
  passedTo(sequence: number): void
  /** A durable retry row holds it: the position may pass it. */
  kept(sequence: number): void
  /**
   * It is delivered or dead. The position row records that until the position has passed it. One that was not read yet is
   * skipped when it is read.
   */
  done(sequence: number): void
  /** The sequences after `base` that are done, rising. */
  ahead(): number[]
}

type Mark = 'open' | 'kept' | 'done'

/** Continues from a position row. */
export function createProgress(base: number, ahead: readonly number[]): Progress {
  /** In the order of reading, which is that of the sequences. */
  const marks = new Map<number, Mark>()
  /** Done before they were read, or read again. */
  const doneUnread = new Set(ahead.filter((sequence) => sequence > base))
  let position = base
  let readTo = base
  const advance = (): void => {
    for (const [sequence, mark] of marks) {
      if (mark === 'open') {
        position = sequence - 1
        return
      }
      marks.delete(sequence)
    }
    position = readTo
  }
  const mark = (sequence: number, as: Mark): void => {
    if (!marks.has(sequence)) return
    marks.set(sequence, as)
    advance()
  }
  return {
    get base() {
      return position
    },
    get readTo() {
      return readTo
    },
    get size() {
      return marks.size
    },
    seen(sequence) {
      const isNew = !doneUnread.delete(sequence)
      readTo = sequence
      marks.set(sequence, isNew ? 'open' : 'done')
      advance()
      return isNew
    },
    passedTo(sequence) {
      if (sequence <= readTo) return
      readTo = sequence
      for (const done of doneUnread) if (done <= sequence) doneUnread.delete(done)
      advance()
    },
    kept: (sequence) => mark(sequence, 'kept'),
    done(sequence) {
      if (sequence > readTo) doneUnread.add(sequence)
      else mark(sequence, 'done')
    },
    ahead() {
      const done = [...marks].filter(([, as]) => as === 'done').map(([sequence]) => sequence)
      return [...done, ...[...doneUnread].sort((one, other) => one - other)]
    },
  }
}
