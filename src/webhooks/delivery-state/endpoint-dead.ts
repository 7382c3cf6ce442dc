/**
 * Keeps the list of an endpoint's dead deliveries, those that were given up, builds the rows that store it, and counts
 * those that it had no room for.
 */
import type { Change } from '../../log/tables.ts'
import { type DeadRow, type DeliveryRow, deadKey } from './delivery-rows.ts'
import type { Loaded } from './endpoint-state.ts'

/** Maximum of remembered dead deliveries of an endpoint; the oldest are dropped first. */
const MAX_DEAD = 10_000

/** The dead deliveries of one endpoint. */
export class DeadDeliveries {
  readonly #endpointId: string
  readonly #dead: Set<number>
  #forgotten: number
  #isChanged = false

  /** Continues from the sequences of the dead rows, and from the count of those forgotten before. */
  constructor(endpointId: string, { dead, forgotten = 0 }: Pick<Loaded, 'dead' | 'forgotten'>) {
    this.#endpointId = endpointId
    this.#dead = new Set(dead)
    this.#forgotten = forgotten
  }

  /** How many there are. */
  get size(): number {
    return this.#dead.size
  }

  /** How many were forgotten since the endpoint was created. */
  get forgotten(): number {
    return this.#forgotten
  }

  /** That count differs from what is stored. */
  get isChanged(): boolean {
    return this.#isChanged
  }

  /** What is to be stored of it. */
  take(): Pick<Loaded, 'forgotten'> {
    this.#isChanged = false
    return this.#forgotten > 0 ? { forgotten: this.#forgotten } : {}
  }

  /** Adds one; returns the rows to write. */
  add(sequence: number, row: Omit<DeadRow, 'kind'>): Change<DeliveryRow>[] {
    const hasRoom = this.#dead.size < MAX_DEAD || this.#dead.has(sequence)
    const oldest = hasRoom ? [] : this.#forget(Math.min(...this.#dead))
    this.#dead.add(sequence)
    return [{ key: deadKey(this.#endpointId, sequence), value: { kind: 'dead', ...row } }, ...oldest]
  }

  /** Removes one, because it is tried again; returns the rows to write, none where it was not dead. */
  revived(sequence: number): Change<DeliveryRow>[] {
    return this.#dead.delete(sequence) ? [{ key: deadKey(this.#endpointId, sequence), value: null }] : []
  }

  /** Forgets those up to that sequence; returns the keys of their rows, which are to be deleted. */
  forget(until: number): string[] {
    return this.in(0, until).flatMap((sequence) => this.#forget(sequence).map(({ key }) => key))
  }

  /** The sequences after `after`, up to `until`, rising. */
  in(after: number, until: number): number[] {
    return [...this.#dead]
      .filter((sequence) => sequence > after && sequence <= until)
      .sort((one, other) => one - other)
  }

  #forget(sequence: number): Change<DeliveryRow>[] {
    this.#forgotten += 1
    this.#isChanged = true
    return this.revived(sequence)
  }
}
