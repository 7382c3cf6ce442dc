/** Splits a list into portions, each bounded by its number of members and by their size. */

/** Most members of a portion, and the most that they have together, in whatever unit the members are measured. */
export interface PortionLimits {
  members: number
  size: number
}

/** The members in order, in portions of at least one: a member above the limit of size is a portion of its own. */
export function portionsOf<T>(
  members: readonly T[],
  limits: PortionLimits,
  sizeOf: (member: T) => number,
): T[][] {
  const portions: T[][] = []
  let portion: T[] = []
  let size = 0
  for (const member of members) {
    const added = sizeOf(member)
    const isFull = portion.length === limits.members || size + added > limits.size
    if (portions.length === 0 || isFull) {
      portion = []
      size = 0
      portions.push(portion)
    }
    portion.push(member)
    size += added
  }
  return portions
}
