/**
 * Who is first among the unfinished events of an issuer (`order: issuer`). Owns one line an issuer, in the order of
 * entering. Refuses to know what finishes an event.
 */

export interface IssuerOrder {
  /** Puts the event at the end of its issuer's line. */
  enter(subject: string, sequence: number): void
  /** True where nothing of its issuer is before it. */
  isFirst(subject: string, sequence: number): boolean
  /** It is finished. The sequence that is first now and was not before; null where there is none. */
  leave(subject: string, sequence: number): number | null
}

/** Lines for `order: issuer`. */
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

/** For `order: none`: everybody is first. */
export const NO_ORDER: IssuerOrder = Object.freeze({
  enter: () => undefined,
  isFirst: () => true,
  leave: () => null,
})
