/**
 * The deliveries of an endpoint that are given up. Owns which are remembered, and the rows of their records. Refuses to decide
 * that one is, and to write.
 */
import type { Change } from '../../log/log.ts'
import { type DeadRow, type DeliveryRow, deadKey } from './delivery-rows.ts'

/** Most deaths of an endpoint that are remembered; the oldest go first. */
const MOST_DEAD = 10_000

export interface DeadDeliveries {
  /** Remembers one; the rows that are owed for it. */
  add(sequence: number, row: Omit<DeadRow, 'kind'>): Change<DeliveryRow>[]
  /** It is dead no longer; the rows that are owed, none where it was not. */
  revived(sequence: number): Change<DeliveryRow>[]
  /** Those behind `after`, up to `until`, rising. */
  in(after: number, until: number): number[]
}

/** Those that were left. */
export function createDeadDeliveries(endpointId: string, left: readonly number[]): DeadDeliveries {
  const dead = new Set(left)
  const revived = (sequence: number): Change<DeliveryRow>[] =>
    dead.delete(sequence) ? [{ key: deadKey(endpointId, sequence), value: null }] : []
  return {
    add(sequence, row) {
      dead.add(sequence)
      const forgotten = dead.size > MOST_DEAD ? revived(oldestBut(dead, sequence)) : []
      return [{ key: deadKey(endpointId, sequence), value: { kind: 'dead', ...row } }, ...forgotten]
    },
    revived,
    in: (after, until) =>
      [...dead].filter((sequence) => sequence > after && sequence <= until).sort((one, other) => one - other),
  }
}

function oldestBut(sequences: ReadonlySet<number>, but: number): number {
  let oldest = Number.POSITIVE_INFINITY
  for (const sequence of sequences) if (sequence !== but) oldest = Math.min(oldest, sequence)
  return oldest
}
