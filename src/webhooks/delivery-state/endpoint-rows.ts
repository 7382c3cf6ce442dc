/**
 * Keeps the durable rows of one endpoint in memory. Of a dead delivery only its place is kept, a tenth of its row: there may
 * be ten thousand, and nothing else of them is used.
 */
import { encodeCursor } from '../../core/cursor.ts'
import { type DeliveryRow, deadKey, endpointIdOf, readDeliveryRow } from './delivery-rows.ts'

/** The rows of one endpoint by their keys. A dead row that is read back has the cursor of the one that was set, and no more. */
export class EndpointRows implements Iterable<[key: string, row: DeliveryRow]> {
  readonly #endpointId: string
  readonly #rows = new Map<string, DeliveryRow>()
  /** Times of the events of dead deliveries, ms since 1970, by epoch and sequence. */
  readonly #dead = new Map<string, Map<number, number>>()

  /** No rows. */
  constructor(endpointId: string) {
    this.#endpointId = endpointId
  }

  /** How many there are. */
  get size(): number {
    let { size } = this.#rows
    for (const dead of this.#dead.values()) size += dead.size
    return size
  }

  /** Adds or replaces a row. @throws BridgeError `log_damaged` for a dead row that cannot be read */
  set(key: string, row: DeliveryRow): void {
    if (row.kind !== 'dead') {
      this.#rows.set(key, row)
      return
    }
    const { epoch, sequence, timeMs } = readDeliveryRow(key, row).cursor
    this.delete(key)
    const dead = this.#dead.get(epoch) ?? new Map<number, number>()
    this.#dead.set(epoch, dead.set(sequence, timeMs))
  }

  /** Removes a row, if it is there. */
  delete(key: string): void {
    if (this.#rows.delete(key)) return
    for (const [epoch, dead] of this.#dead) {
      const sequence = Number(key.slice(key.lastIndexOf('/') + 1))
      if (key === deadKey(this.#endpointId, sequence) && dead.delete(sequence) && dead.size === 0)
        this.#dead.delete(epoch)
    }
  }

  /** Their keys. */
  keys(): string[] {
    return [...this].map(([key]) => key)
  }

  *[Symbol.iterator](): Generator<[key: string, row: DeliveryRow]> {
    yield* this.#rows
    for (const [epoch, dead] of this.#dead) {
      for (const [sequence, timeMs] of dead) {
        const cursor = encodeCursor({ epoch, sequence, timeMs })
        const row = { eventId: '', tries: 0, lastStatus: null, cause: 'tries', diedAtMs: 0 } as const
        yield [deadKey(this.#endpointId, sequence), { kind: 'dead', cursor, ...row }]
      }
    }
  }
}

/** Groups the rows of a shard by the endpoint of their keys. */
export function rowsByEndpoint(all: ReadonlyMap<string, DeliveryRow>): Map<string, EndpointRows> {
  const groups = new Map<string, EndpointRows>()
  for (const [key, row] of all) {
    const id = endpointIdOf(key)
    const own = groups.get(id) ?? new EndpointRows(id)
    groups.set(id, own)
    own.set(key, row)
  }
  return groups
}
