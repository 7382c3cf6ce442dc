/**
 * How far a cursor has come, where deliveries end in any order. Owns the position: the place up to which nothing is open.
 * Refuses to know what a delivery is, and what is durable: whoever marks does.
 */

/** A cursor's book. Sequences are read in rising order and decided in any. */
export interface Progress {
  /** Everything up to here is decided. */
  readonly base: number
  /** Everything up to here has been read. */
  readonly readTo: number
  /** Matching events behind `base` that were read. */
  readonly size: number
  /** A matching event is read. False where it is done already, so nothing is to be done. */
  seen(sequence: number): boolean
  /** Everything up to here is read; what was not `seen` does not match. */
  passedTo(sequence: number): void
  /** A row of its own keeps it: the position may pass it. */
  kept(sequence: number): void
  /**
   * It is over: delivered or dead. The position row itself says so, until the position has passed it. One that was not read
   * yet is not to be done again when it is.
   */
  done(sequence: number): void
  /** What is `done` behind `base`, rising. */
  ahead(): number[]
}

type Mark = 'open' | 'kept' | 'done'

/** A book that goes on from a position row. */
export function createProgress(base: number, ahead: readonly number[]): Progress {
  /** In the order of reading, which is that of the sequences. */
  const marks = new Map<number, Mark>()
  /** Done before it was read, or read again. */
  const before = new Set(ahead.filter((sequence) => sequence > base))
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
      // What was done before it is read must never keep anybody from reading: only that takes it out of the book.
      return marks.size
    },
    seen(sequence) {
      const isNew = !before.delete(sequence)
      readTo = sequence
      marks.set(sequence, isNew ? 'open' : 'done')
      advance()
      return isNew
    },
    passedTo(sequence) {
      if (sequence <= readTo) return
      readTo = sequence
      for (const done of before) if (done <= sequence) before.delete(done)
      advance()
    },
    kept: (sequence) => mark(sequence, 'kept'),
    done(sequence) {
      if (sequence > readTo) before.add(sequence)
      else mark(sequence, 'done')
    },
    ahead() {
      const done = [...marks].filter(([, as]) => as === 'done').map(([sequence]) => sequence)
      return [...done, ...[...before].sort((one, other) => one - other)]
    },
  }
}
