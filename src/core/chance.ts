/**
 * Generates pseudo-random numbers from a seed (mulberry32): the same seed gives the same numbers on every machine.
 * Not for secrets.
 */

/** Draws from one seeded sequence. */
export interface SeededChance {
  /** A number in [0, 1). */
  next(): number
  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number
  /** One member, each equally likely. Throws RangeError on an empty list. */
  pick<T>(members: readonly T[]): T
  /** True with the given probability. */
  yes(probability: number): boolean
}

/** A generator whose sequence depends on `seed` only. */
export function seededChance(seed: number): SeededChance {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const between = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1))
  return {
    next,
    between,
    pick: (members) => {
      const member = members[between(0, members.length - 1)]
      if (member === undefined) throw new RangeError('nothing to pick from')
      return member
    },
    yes: (probability) => next() < probability,
  }
}
