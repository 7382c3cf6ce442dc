/**
 * Keeps the unfinished events of each issuer in the order in which they were read, for endpoints with `order: issuer`.
 */

/** A line of unfinished events for each issuer. */
export interface IssuerOrder {
  /** Puts the event at the end of its issuer's line. */
  enter(subject: string, sequence: number): void
  /** True where no event of its issuer is before it. */
  isFirst(subject: string, sequence: number): boolean
  /** Removes a finished event. Returns the sequence that became first; null where none did. */
  leave(subject: string, sequence: number): number | null
}

/** Empty lines, for `order: issuer`. */
export function createIssuerOrder(): IssuerOrder {
  const lines = new Map<string, number[]>()
  return {
    enter(subject, sequence) {
      const line = lines.get(subject)
      if (line === undefined) lines.set(subject, [sequence])
      else line.push(sequence)
    },
    isFirst: (subject, sequence) => lines.get(subject)?.[0] === sequence,
    leave(subject, sequence) {
      const line = lines.get(subject)
      const at = line?.indexOf(sequence) ?? -1
      if (line === undefined || at < 0) return null
      line.splice(at, 1)
      if (line.length === 0) lines.delete(subject)
      return at === 0 ? (line[0] ?? null) : null
    },
  }
}

/** For `order: none`: every event is first. */
export const NO_ORDER: IssuerOrder = Object.freeze({
  enter: () => undefined,
  isFirst: () => true,
  leave: () => null,
})
