/**
 * Creates, changes, deletes and lists the webhook endpoints of all tenants in the log's table. A change counts on
 * this node before its caller is answered.
 */
import { aborted } from '../lifecycle/aborted.ts'
import type { Clock } from '../lifecycle/clock.ts'
import { createKeyedMutex } from '../lifecycle/keyed-mutex.ts'
import { createChangeFeed } from '../log/change-feed.ts'
import { followTable } from '../log/follow-table.ts'
import type { Log } from '../log/log.ts'
import type { Change } from '../log/tables.ts'
import type { Logger } from '../obs/logger.ts'
import { createAwaitedChanges } from './awaited-changes.ts'
import { createRoom, type NoRoom } from './endpoint-room.ts'
import {
  type DisabledReason,
  ENDPOINTS_TABLE,
  type EndpointRow,
  measureRow,
  readEndpointRow,
} from './endpoint-rows.ts'

/** Deleted endpoints that are remembered, so that a late write of another node brings none of them back. */
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

export interface Endpoints {
  /** Whether the table has been read: until then no endpoint is known. */
  readonly isLoaded: boolean
  /**
   * Makes an endpoint, known on this node when it resolves. The limits are those that this node sees: two nodes that make
   * endpoints in the same instant may go above by a few.
   * @throws BridgeError `log_unavailable`
   */
  create(wanted: NewEndpoint): Promise<Endpoint | NoRoom>
  /** The endpoint of that id; null where there is none. */
  get(id: string): Endpoint | null
  /**
   * Changes an endpoint by what `change` makes of it; null, or what it has already: nothing is written. What `change` throws is thrown. Of two
   * nodes that change one endpoint at the same time the last write wins.
   * @throws BridgeError `log_unavailable`
   */
  update(id: string, change: (now: Endpoint) => EndpointChange | null): Promise<Endpoint | NoRoom | 'unknown'>
  /** Disables an endpoint, unless it is disabled already or gone. @throws BridgeError `log_unavailable` */
  disable(id: string, reason: DisabledReason): Promise<void>
  /**
   * Deletes an endpoint, unless `check` throws; false where there was none.
   * @throws BridgeError `log_unavailable`
   */
  delete(id: string, check: (now: Endpoint) => void): Promise<boolean>
  /** Endpoints in the order of their ids, after that id, of that tenant or of all (null). */
  list(options: { tenant: string | null; after: string; limit: number }): Endpoint[]
  /** All of them, in no order. */
  all(): Endpoint[]
  /**
   * Which of these ids belong to no endpoint, not even to one that this node has not heard of or cannot read: the table is
   * read to its end for it.
   * @throws BridgeError `log_unavailable`
   */
  absent(ids: readonly string[]): Promise<string[]>
  /**
   * Ids of endpoints that are new, changed or gone: `get` says what each is now. First all that are known once the table
   * has been read. Ends when the signal aborts.
   */
  changes(signal: AbortSignal): AsyncIterable<readonly string[]>
  /** Reads the table and follows it until the signal aborts. */
  run(signal: AbortSignal): Promise<void>
}

/** Nothing is known until it runs. */
export function createEndpoints({
  log,
  clock,
  logger,
}: {
  log: Log
  clock: Clock
  logger: Logger
}): Endpoints {
  const table = log.table<EndpointRow>(ENDPOINTS_TABLE)
  const byId = new Map<string, { endpoint: Endpoint; bytes: number }>()
  const deleted = new Set<string>()
  const room = createRoom()
  const inTurn = createKeyedMutex()
  const changed = createChangeFeed<null>()
  const loaded = Promise.withResolvers<void>()
  const stopped = new AbortController()
  const awaited = createAwaitedChanges(stopped.signal)
  let isLoaded = false
  /** Ids in order; null after one came or went. */
  let inOrder: string[] | null = null

  const forget = (id: string): void => {
    const known = byId.get(id)
    if (known === undefined) return
    byId.delete(id)
    room.take({ tenant: known.endpoint.tenant, count: -1, bytes: -known.bytes })
    inOrder = null
  }
  const keep = (id: string, { kind: _, ...row }: EndpointRow): void => {
    const { version, bytes } = measureRow({ kind: 'endpoint', ...row })
    const before = byId.get(id)?.endpoint
    if (before?.version === version) return
    const isSame = before !== undefined && JSON.stringify(before.filter) === JSON.stringify(row.filter)
    forget(id)
    const filter = isSame ? before.filter : row.filter
    byId.set(id, { endpoint: { id, version, ...row, filter }, bytes })
    room.take({ tenant: row.tenant, count: 1, bytes })
    inOrder = null
  }
  /** A node that had not yet heard of the deletion wrote the row once more. */
  const deleteAgain = (id: string): void => {
    table.delete(id).catch((error: unknown) => logger.warn('endpoints.undeleted', { endpointId: id, error }))
  }
  const apply = ({ key: id, value }: Change<unknown>): void => {
    const row = readEndpointRow(value)
    if (value === null) {
      deleted.add(id)
      const [oldest] = deleted
      if (deleted.size > MOST_REMEMBERED && oldest !== undefined) deleted.delete(oldest)
    } else if (row === null) logger.error('endpoints.unreadable', { endpointId: id })
    if (row === null) forget(id)
    else if (deleted.has(id)) deleteAgain(id)
    else keep(id, row)
    changed.publish({ key: id, value: null })
    awaited.seen(id)
  }
  /** The endpoint as this node sees it after the write. */
  const write = async (id: string, row: EndpointRow): Promise<Endpoint | 'unknown'> => {
    await awaited.write(id, () => table.put(id, row))
    return byId.get(id)?.endpoint ?? 'unknown'
  }
  const update: Endpoints['update'] = (id, change) =>
    inTurn(id, async () => {
      const known = byId.get(id)
      if (known === undefined) return 'unknown'
      const parts = change(known.endpoint)
      if (parts === null) return known.endpoint
      const { id: _, version, ...now } = known.endpoint
      const row: EndpointRow = { kind: 'endpoint', ...now, ...parts }
      const { version: next } = measureRow(row)
      if (next === version) return known.endpoint
      // A status has always room: one that is gone is disabled also where no byte is left.
      const { status, disabledReason } = now
      const { bytes } = measureRow({ ...row, status, disabledReason })
      const grown = { tenant: row.tenant, count: 0, bytes: bytes - known.bytes } as const
      return room.refusal(grown) ?? (await write(id, row))
    })

  return {
    get isLoaded() {
      return isLoaded
    },
    create: ({ id, ...wanted }) =>
      inTurn('create', async () => {
        const row: EndpointRow = {
          kind: 'endpoint',
          ...wanted,
          disabledReason: null,
          createdAtMs: clock.now(),
        }
        const { version, bytes } = measureRow(row)
        const noRoom = room.refusal({ tenant: row.tenant, count: 1, bytes })
        if (noRoom !== null) return noRoom
        const made = await write(id, row)
        // Deleted by another node meanwhile, or this node stops: it was made all the same.
        if (made !== 'unknown') return made
        const { kind: _, ...facts } = row
        return { id, version, ...facts }
      }),
    get: (id) => byId.get(id)?.endpoint ?? null,
    update,
    async disable(id, disabledReason) {
      await update(id, ({ status }) =>
        status === 'disabled' ? null : { status: 'disabled', disabledReason },
      )
    },
    delete: (id, check) =>
      inTurn(id, async () => {
        const known = byId.get(id)
        if (known === undefined) return false
        check(known.endpoint)
        await awaited.write(id, () => table.delete(id))
        return true
      }),
    list({ tenant, after, limit }) {
      inOrder ??= [...byId.keys()].sort()
      const found: Endpoint[] = []
      for (const id of inOrder) {
        const known = byId.get(id)
        if (known === undefined || id <= after) continue
        if (tenant === null || known.endpoint.tenant === tenant) found.push(known.endpoint)
        if (found.length === limit) break
      }
      return found
    },
    all: () => [...byId.values()].map(({ endpoint }) => endpoint),
    async absent(ids) {
      const rows = await table.load()
      return ids.filter((id) => !rows.has(id))
    },
    async *changes(signal) {
      const later = changed.subscribe(signal)
      await Promise.race([loaded.promise, aborted(signal)])
      if (signal.aborted) return
      yield [...byId.keys()]
      for await (const batch of later) yield batch.map(({ key }) => key)
    },
    async run(signal) {
      signal.addEventListener('abort', () => stopped.abort(), { once: true })
      const onLoaded = (): void => {
        isLoaded = true
        loaded.resolve()
      }
      await followTable(table, { onChange: apply, onLoaded }, signal)
    },
  }
}
