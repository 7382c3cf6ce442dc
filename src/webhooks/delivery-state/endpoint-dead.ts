/** Remembers which deliveries of an endpoint are dead, and makes the rows that record them. */
import type { Change } from '../../log/tables.ts'
import { type DeadRow, type DeliveryRow, deadKey } from './delivery-rows.ts'

/** Maximum of remembered dead deliveries of an endpoint; the oldest are dropped first. */
const MAX_DEAD = 10_000

/** The dead deliveries of one endpoint. */
export interface DeadDeliveries {
  /** Adds one; returns the rows to write. */
  add(sequence: number, row: Omit<DeadRow, 'kind'>): Change<DeliveryRow>[]
  /** Removes one, because it is tried again; returns the rows to write, none where it was not dead. */
  revived(sequence: number): Change<DeliveryRow>[]
  /** The sequences after `after`, up to `until`, rising. */
  in(after: number, until: number): number[]
}

/** Continues from the sequences of the dead rows. */
export function createDeadDeliveries(endpointId: string, left: readonly number[]): DeadDeliveries {
  const dead = new Set(left)
  const revived = (sequence: number): Change<DeliveryRow>[] =>
    dead.delete(sequence) ? [{ key: deadKey(endpointId, sequence), value: null }] : []
  return {
    add(sequence, row) {
      dead.add(sequence)
      const forgotten = dead.size > MAX_DEAD ? revived(oldestBut(dead, sequence)) : []
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
