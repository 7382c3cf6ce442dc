/**
 * Keeps the list of an endpoint's dead deliveries, those that were given up, and builds the rows that store it.
 */
import type { Change } from '../../log/tables.ts'
import { type DeadRow, type DeliveryRow, deadKey } from './delivery-rows.ts'

/** Maximum of remembered dead deliveries of an endpoint; the oldest are dropped first. */
const MAX_DEAD = 10_000

/** The dead deliveries of one endpoint. */
export class DeadDeliveries {
  readonly #endpointId: string
  readonly #dead: Set<number>

  /** Continues from the sequences of the dead rows. */
  constructor(endpointId: string, sequences: readonly number[]) {
    this.#endpointId = endpointId
    this.#dead = new Set(sequences)
  }

  /** How many there are. */
  get size(): number {
    return this.#dead.size
  }

  /** Adds one; returns the rows to write. */
  add(sequence: number, row: Omit<DeadRow, 'kind'>): Change<DeliveryRow>[] {
    const hasRoom = this.#dead.size < MAX_DEAD || this.#dead.has(sequence)
    const oldest = hasRoom ? [] : this.revived(Math.min(...this.#dead))
    this.#dead.add(sequence)
    return [{ key: deadKey(this.#endpointId, sequence), value: { kind: 'dead', ...row } }, ...oldest]
  }

  /** Removes one, because it is tried again; returns the rows to write, none where it was not dead. */
  revived(sequence: number): Change<DeliveryRow>[] {
    return this.#dead.delete(sequence) ? [{ key: deadKey(this.#endpointId, sequence), value: null }] : []
  }

  /** The sequences after `after`, up to `until`, rising. */
  in(after: number, until: number): number[] {
    return [...this.#dead]
      .filter((sequence) => sequence > after && sequence <= until)
      .sort((one, other) => one - other)
  }
}
