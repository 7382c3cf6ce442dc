/** Work of which one runs at a time, in the order in which it came. Owns the waiting line. */

/** Lets the caller in when it is its turn; what it gives lets the next one in. Callable twice. */
export type Turns = () => Promise<() => void>

/** A line in which nobody waits yet. */
export function createTurns(): Turns {
  let last = Promise.resolve()
  return async () => {
    const before = last
    const mine = Promise.withResolvers<void>()
    last = mine.promise
    await before
    return mine.resolve
  }
}
