/**
 * Removes and returns the due members at the front of a list that is ordered by time.
 */

/** Removes and returns the leading members for which `isDue` is true. */
export function takeDue<T>(members: T[], isDue: (member: T) => boolean): T[] {
  const kept = members.findIndex((member) => !isDue(member))
  return members.splice(0, kept === -1 ? members.length : kept)
}
