/**
 * Makes a repeated request with the same `Idempotency-Key` act once, on any node, for a day. What a request is about to
 * make is stored in a table of the log before it is made, so a repeat after a crash completes it and makes nothing else.
 */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { DAY_MS, HOUR_MS } from '../core/durations.ts'
import { isBridgeError } from '../errors.ts'
import { type Clock, sleep } from '../lifecycle/clock.ts'
import { createKeyedMutex } from '../lifecycle/keyed-mutex.ts'
import { followTable } from '../log/follow-table.ts'
import type { Log } from '../log/log.ts'
import type { Change, Table } from '../log/tables.ts'
import type { Logger } from '../obs/logger.ts'
import { createAwaitedChanges } from './awaited-changes.ts'
import { newId } from './ids.ts'

/** The table of the log that holds them. */
export const IDEMPOTENCY_KEYS_TABLE = 'idempotency-keys'
/** For how long a key is remembered. */
export const KEY_LIFE_MS = DAY_MS
/** Most keys of a tenant that are remembered at a time. Each takes about half a kilobyte on every node. */
export const MAX_KEYS_PER_TENANT = 10_000
/** Between two searches for keys whose day is over. */
const FORGET_EVERY_MS = HOUR_MS

const keyRow = z.object({
  kind: z.literal('key'),
  tenant: z.string(),
  /** Another one for each use of the key: of two nodes that use it at the same time the first in the log counts. */
  use: z.string(),
  /** Hash of the request: path and body. */
  request: z.string(),
  /** What the request makes, as its route stored it. */
  plan: z.unknown(),
  /** It is made. */
  isDone: z.boolean(),
  atMs: z.int().min(0),
})
type KeyRow = z.output<typeof keyRow>

/** One request with the key that its client gave it. */
export interface KeyedRequest {
  tenant: string
  tokenId: string
  key: string
  /** Method and path. */
  path: string
  /** The JSON body, already checked. */
  body: unknown
}

/** What is known of a plan that `act` carries out. `isRepeat`: an earlier request made it, or began to. `isDone`: to its end. */
export interface PlanState {
  isRepeat: boolean
  isDone: boolean
}

/** How a route acts once. */
export interface OnceSteps<Plan> {
  /** Reads a stored plan. */
  schema: z.ZodType<Plan>
  /** What the request makes, with its id; null: nothing, and the key is not used up. */
  prepare: () => Promise<Plan | null>
  /** Makes it; on a repeat only what is not there. */
  act: (plan: Plan, state: PlanState) => Promise<void>
}

/** `made`: by this request. `repeated`: by an earlier one. `reused`: the key belongs to another request. */
export type OnceResult<Plan> =
  | { kind: 'made' | 'repeated'; plan: Plan }
  | { kind: 'nothing' | 'reused' | 'full' }

/** The keys of all tenants as this node knows them. Nothing is known until it runs. */
export class IdempotencyKeys {
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #table: Table<KeyRow>
  readonly #rows = new Map<string, KeyRow>()
  readonly #inTurn = createKeyedMutex()
  readonly #stopped = new AbortController()
  readonly #awaited = createAwaitedChanges(this.#stopped.signal)
  #isLoaded = false

  constructor({ log, clock, logger }: { log: Log; clock: Clock; logger: Logger }) {
    this.#clock = clock
    this.#logger = logger
    this.#table = log.table<KeyRow>(IDEMPOTENCY_KEYS_TABLE)
  }

  /** Whether the table has been read: until then no key is known. */
  get isLoaded(): boolean {
    return this.#isLoaded
  }

  /**
   * Acts on the first request with that key, and returns what it made to the later ones. A request that `prepare` or `act`
   * refuses leaves the key unused.
   * @throws BridgeError `log_unavailable`: the same request may be sent again; and what the steps throw
   */
  once<Plan>(request: KeyedRequest, steps: OnceSteps<Plan>): Promise<OnceResult<Plan>> {
    const { tenant, tokenId, key } = request
    const id = hashOf([tenant, tokenId, key])
    return this.#inTurn(id, () => this.#once(id, request, steps))
  }

  /** Reads the table, follows it, and removes keys whose day is over; until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.#stopped.abort(), { once: true })
    const onLoaded = (): void => {
      this.#isLoaded = true
    }
    const onChange = (change: Change<unknown>): void => this.#apply(change)
    await Promise.all([followTable(this.#table, { onChange, onLoaded }, signal), this.#forgetAtTimes(signal)])
  }

  async #once<Plan>(
    id: string,
    { tenant, path, body }: KeyedRequest,
    { schema, prepare, act }: OnceSteps<Plan>,
  ): Promise<OnceResult<Plan>> {
    const request = hashOf([path, JSON.stringify(body)])
    let row = this.#live(id)
    let isRepeat = true
    if (row === null) {
      if (this.#countOf(tenant) >= MAX_KEYS_PER_TENANT) return { kind: 'full' }
      const plan = await prepare()
      if (plan === null) return { kind: 'nothing' }
      const own = this.#newRow({ tenant, request, plan })
      row = await this.#claim(id, own)
      isRepeat = row.use !== own.use
    }
    if (row.request !== request) return { kind: 'reused' }
    const plan = schema.parse(row.plan)
    try {
      await act(plan, { isRepeat, isDone: row.isDone })
    } catch (error) {
      if (!isRepeat && !isBridgeError(error, 'log_unavailable')) await this.#write(id, null)
      throw error
    }
    if (!row.isDone) await this.#write(id, { ...row, isDone: true })
    return { kind: isRepeat ? 'repeated' : 'made', plan }
  }

  #newRow(parts: Pick<KeyRow, 'tenant' | 'request' | 'plan'>): KeyRow {
    const atMs = this.#clock.now()
    return { kind: 'key', ...parts, use: newId('use', atMs), isDone: false, atMs }
  }

  /** Stores a use of the key. Returns the one that counts: another node may have been first. */
  async #claim(id: string, own: KeyRow): Promise<KeyRow> {
    await this.#write(id, own)
    const first = this.#live(id) ?? own
    // The table keeps the last row of a key: that of the first use is written again.
    if (first.use !== own.use) await this.#write(id, first)
    return first
  }

  async #write(id: string, row: KeyRow | null): Promise<void> {
    await this.#awaited.write(id, () => (row === null ? this.#table.delete(id) : this.#table.put(id, row)))
  }

  #apply({ key: id, value }: Change<unknown>): void {
    const row = value === null ? null : (keyRow.safeParse(value).data ?? null)
    if (value !== null && row === null) this.#logger.error('idempotency_key.unreadable', { name: id })
    const first = this.#live(id)
    if (row === null) this.#rows.delete(id)
    else if (first === null || first.use === row.use) this.#rows.set(id, row)
    this.#awaited.seen(id)
  }

  #live(id: string): KeyRow | null {
    const row = this.#rows.get(id)
    return row === undefined || this.#clock.now() - row.atMs >= KEY_LIFE_MS ? null : row
  }

  #countOf(tenant: string): number {
    let count = 0
    for (const row of this.#rows.values()) if (row.tenant === tenant) count += 1
    return count
  }

  async #forgetAtTimes(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(this.#clock, FORGET_EVERY_MS, signal)
      if (!signal.aborted) await this.#forget(signal)
    }
  }

  async #forget(signal: AbortSignal): Promise<void> {
    const over = [...this.#rows.keys()].filter((id) => this.#live(id) === null)
    try {
      for (const id of over) if (!signal.aborted) await this.#table.delete(id)
    } catch (error) {
      if (!isBridgeError(error, 'log_unavailable')) throw error
      this.#logger.warn('idempotency_key.removal_delayed', { count: over.length, error })
    }
  }
}

function hashOf(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)
}
