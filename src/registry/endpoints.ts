/**
 * Creates, changes, deletes and lists the webhook endpoints of all tenants, which are stored in a table of the log. A
 * call returns once this node has applied its change.
 */
import { aborted } from '../lifecycle/aborted.ts'
import type { Clock } from '../lifecycle/clock.ts'
import { createKeyedMutex } from '../lifecycle/keyed-mutex.ts'
import { createChangeFeed } from '../log/change-feed.ts'
import { followTable } from '../log/follow-table.ts'
import type { Log } from '../log/log.ts'
import type { Change, Table } from '../log/tables.ts'
import type { Logger } from '../obs/logger.ts'
import { createAwaitedChanges } from './awaited-changes.ts'
import { type EndpointSize, type NoRoom, roomRefusal } from './endpoint-room.ts'
import {
  type DisabledReason,
  ENDPOINTS_TABLE,
  type EndpointRow,
  measureRow,
  readEndpointRow,
  storedEndpointRow,
} from './endpoint-rows.ts'
import { type IdPage, pageAfter } from './ids.ts'

/** Deleted endpoints that are remembered, so that a late write of another node does not restore one. */
const MOST_REMEMBERED = 10_000

/** An endpoint as it is known here. */
export interface Endpoint extends Omit<EndpointRow, 'kind'> {
  id: string
  /** Another one for each state of it. */
  version: string
  /** One object for as long as it is the same: what is learnt of it while reading is kept by it. */
  filter: EndpointRow['filter']
}

/** What is asked for. `id` is a new one: its secrets are wrapped for it. */
export type NewEndpoint = Omit<Endpoint, 'version' | 'createdAtMs' | 'disabledReason'>

/** What may change. */
export type EndpointChange = Partial<Omit<Endpoint, 'id' | 'version' | 'tenant' | 'start' | 'createdAtMs'>>

/** What the endpoints work with. */
export interface EndpointsParts {
  log: Log
  clock: Clock
  logger: Logger
}

/** The endpoints of all tenants as this node knows them. Nothing is known until it runs. */
export class Endpoints {
  readonly #parts: EndpointsParts
  readonly #table: Table<EndpointRow>
  readonly #byId = new Map<string, { endpoint: Endpoint; bytes: number }>()
  readonly #deleted = new Set<string>()
  readonly #inTurn = createKeyedMutex()
  readonly #changed = createChangeFeed<null>()
  readonly #loaded = Promise.withResolvers<void>()
  readonly #stopped = new AbortController()
  readonly #awaited = createAwaitedChanges(this.#stopped.signal)
  #isLoaded = false

  constructor(parts: EndpointsParts) {
    this.#parts = parts
    this.#table = parts.log.table<EndpointRow>(ENDPOINTS_TABLE)
  }

  /** Whether the table has been read: until then no endpoint is known. */
  get isLoaded(): boolean {
    return this.#isLoaded
  }

  /**
   * Creates an endpoint, known on this node when it resolves. The limits are those that this node sees: two nodes that
   * create endpoints in the same instant may exceed them by a few.
   * @throws BridgeError `log_unavailable`
   */
  create({ id, ...wanted }: NewEndpoint): Promise<Endpoint | NoRoom> {
    return this.#inTurn('create', async () => {
      const row: EndpointRow = {
        kind: 'endpoint',
        ...wanted,
        disabledReason: null,
        createdAtMs: this.#parts.clock.now(),
      }
      const { version, bytes } = measureRow(row)
      const noRoom = this.#noRoomFor({ tenant: row.tenant, count: 1, bytes })
      if (noRoom !== null) return noRoom
      const made = await this.#write(id, row)
      // Deleted by another node meanwhile, or this node stops: it was created all the same.
      if (made !== 'unknown') return made
      const { kind: _, ...facts } = row
      return { id, version, ...facts }
    })
  }

  /** The endpoint of that id; null where there is none. */
  get(id: string): Endpoint | null {
    return this.#byId.get(id)?.endpoint ?? null
  }

  /**
   * Changes the members that `change` returns; null or equal values write nothing, and what `change` throws is thrown. Of
   * two nodes that change one endpoint at the same time the last write wins.
   * @throws BridgeError `log_unavailable`
   */
  update(
    id: string,
    change: (now: Endpoint) => EndpointChange | null,
  ): Promise<Endpoint | NoRoom | 'unknown'> {
    return this.#inTurn(id, async () => {
      const known = this.#byId.get(id)
      if (known === undefined) return 'unknown'
      const parts = change(known.endpoint)
      if (parts === null) return known.endpoint
      const { id: _, version, ...now } = known.endpoint
      const row: EndpointRow = { kind: 'endpoint', ...now, ...parts }
      const { version: next } = measureRow(row)
      if (next === version) return known.endpoint
      // A change of status always has room: a receiver that is gone is disabled also where no byte is left.
      const { status, disabledReason } = now
      const { bytes } = measureRow({ ...row, status, disabledReason })
      const grown = { tenant: row.tenant, count: 0, bytes: bytes - known.bytes } as const
      return this.#noRoomFor(grown) ?? (await this.#write(id, row))
    })
  }

  /**
   * Disables an endpoint, unless it is disabled already, gone, or has another version than that. True where it did.
   * @throws BridgeError `log_unavailable`
   */
  async disable(id: string, version: string, disabledReason: DisabledReason): Promise<boolean> {
    let isDone = false
    await this.update(id, (now) => {
      isDone = now.status !== 'disabled' && now.version === version
      return isDone ? { status: 'disabled', disabledReason } : null
    })
    return isDone
  }

  /**
   * Deletes an endpoint, unless `check` throws; false where there was none.
   * @throws BridgeError `log_unavailable`
   */
  delete(id: string, check: (now: Endpoint) => void): Promise<boolean> {
    return this.#inTurn(id, async () => {
      const known = this.#byId.get(id)
      if (known === undefined) return false
      check(known.endpoint)
      await this.#awaited.write(id, () => this.#table.delete(id))
      return true
    })
  }

  /** Endpoints in the order of their ids, after that id, of that tenant or of all (null). */
  list(page: IdPage): Endpoint[] {
    return pageAfter(this.all(), page)
  }

  /** All of them, in no order. */
  all(): Endpoint[] {
    return [...this.#byId.values()].map(({ endpoint }) => endpoint)
  }

  /**
   * Which of these ids belong to no endpoint. The table is read to its end, so an endpoint that this node does not know yet
   * or cannot read counts as present.
   * @throws BridgeError `log_unavailable`
   */
  async absent(ids: readonly string[]): Promise<string[]> {
    const rows = await this.#table.load()
    return ids.filter((id) => !rows.has(id))
  }

  /**
   * Ids of endpoints that are new, changed or gone: `get` returns the present state. First all that are known once the
   * table has been read. Ends when the signal aborts.
   */
  async *changes(signal: AbortSignal): AsyncIterable<readonly string[]> {
    const later = this.#changed.subscribe(signal)
    await Promise.race([this.#loaded.promise, aborted(signal)])
    if (signal.aborted) return
    yield [...this.#byId.keys()]
    for await (const batch of later) yield batch.map(({ key }) => key)
  }

  /** Reads the table and follows it until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.#stopped.abort(), { once: true })
    const onLoaded = (): void => {
      this.#isLoaded = true
      this.#loaded.resolve()
    }
    await followTable(this.#table, { onChange: (change) => this.#apply(change), onLoaded }, signal)
  }

  /** The endpoint as this node sees it after the write. */
  async #write(id: string, row: EndpointRow): Promise<Endpoint | 'unknown'> {
    await this.#awaited.write(id, () => this.#table.put(id, storedEndpointRow(row)))
    return this.get(id) ?? 'unknown'
  }

  #apply({ key: id, value }: Change<unknown>): void {
    const row = readEndpointRow(value)
    if (value === null) {
      this.#deleted.add(id)
      const [oldest] = this.#deleted
      if (this.#deleted.size > MOST_REMEMBERED && oldest !== undefined) this.#deleted.delete(oldest)
    } else if (row === null) this.#parts.logger.error('endpoint.unreadable', { endpointId: id })
    if (row === null) this.#byId.delete(id)
    else if (this.#deleted.has(id)) this.#deleteAgain(id)
    else this.#add(id, row)
    this.#changed.publish({ key: id, value: null })
    this.#awaited.seen(id)
  }

  /** A node that did not know of the deletion yet wrote the row once more. */
  #deleteAgain(id: string): void {
    this.#table
      .delete(id)
      .catch((error: unknown) =>
        this.#parts.logger.warn('endpoint.deletion_undone', { endpointId: id, error }),
      )
  }

  #add(id: string, { kind: _, ...row }: EndpointRow): void {
    const { version, bytes } = measureRow({ kind: 'endpoint', ...row })
    const before = this.get(id)
    if (before?.version === version) return
    const isSame = before !== null && JSON.stringify(before.filter) === JSON.stringify(row.filter)
    const filter = isSame ? before.filter : row.filter
    this.#byId.set(id, { endpoint: { id, version, ...row, filter }, bytes })
  }

  #noRoomFor(wanted: EndpointSize & { count: 0 | 1 }): NoRoom | null {
    const sizes = [...this.#byId.values()].map(({ endpoint: { tenant }, bytes }) => ({ tenant, bytes }))
    return roomRefusal(sizes, wanted)
  }
}
