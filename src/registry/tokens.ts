/**
 * Creates, deletes, lists and authenticates the API tokens of all tenants, which are stored in a table of the log. Only
 * hashes are stored. When a token is deleted or expires, every node ends the streams opened with it.
 */
import type { Authenticate, Caller, FindCaller, NoCaller, Scope } from '../http/auth.ts'
import type { Clock } from '../lifecycle/clock.ts'
import { createKeyedMutex } from '../lifecycle/keyed-mutex.ts'
import { followTable } from '../log/follow-table.ts'
import type { Log } from '../log/log.ts'
import type { Change, Table } from '../log/tables.ts'
import type { Logger } from '../obs/logger.ts'
import { createAwaitedChanges } from './awaited-changes.ts'
import { type IdPage, newId, pageAfter } from './ids.ts'
import { type Row, readRow, TOKENS_TABLE, type TokenRow, usedToken } from './token-rows.ts'
import { newTokenText, tokenHash } from './token-text.ts'
import { createTokenUses, type TokenUses } from './token-uses.ts'

/** Most tokens of a tenant, expired ones among them, and of all tenants together. */
export const MAX_TOKENS_PER_TENANT = 1000
const MAX_TOKENS = 20_000
/** Longest timer for the next expiry: the wall clock may be set meanwhile. */
const MAX_TIMER_MS = 60_000

/** A token as it may be shown. Times are ms since 1970. */
export interface Token {
  id: string
  tenant: string
  scopes: readonly Scope[]
  name: string | null
  expiresAtMs: number | null
  createdAtMs: number
  /** The beginning of the hour in which any node last saw it used; null = never. */
  lastUsedMs: number | null
}

/** What is asked for. */
export type NewToken = Pick<Token, 'tenant' | 'scopes' | 'name' | 'expiresAtMs'>

/** A token that is known. */
interface Entry {
  id: string
  row: TokenRow
  caller: Caller
  end: AbortController
}

/** The tokens of all tenants as this node knows them. Nothing is known until it runs. */
export class Tokens {
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #table: Table<Row>
  readonly #uses: TokenUses
  readonly #byId = new Map<string, Entry>()
  readonly #byHash = new Map<string, Entry>()
  readonly #stopped = new AbortController()
  readonly #awaited = createAwaitedChanges(this.#stopped.signal)
  readonly #inTurn = createKeyedMutex()
  #isLoaded = false
  #cancelExpiry = (): void => {}

  constructor({ log, clock, logger }: { log: Log; clock: Clock; logger: Logger }) {
    this.#clock = clock
    this.#logger = logger
    this.#table = log.table<Row>(TOKENS_TABLE)
    this.#uses = createTokenUses({ table: this.#table, clock, logger })
  }

  /** Whether the table has been read: until then nobody but the administrator is known. */
  get isLoaded(): boolean {
    return this.#isLoaded
  }

  /** Finds the caller of a request by the token's text, and marks the token as used. */
  readonly authenticate: Authenticate = (text) => {
    const caller = this.#judge(this.#byHash.get(tokenHash(text)))
    if (typeof caller === 'object') this.#uses.mark(caller.tokenId)
    return caller
  }

  /** The caller with the token of that id. It does not count as a use of the token. */
  readonly findCaller: FindCaller = (id) => this.#judge(this.#byId.get(id))

  /**
   * Creates a token, valid on this node when it resolves. Its text is in the answer and nowhere else. The limits are those
   * that this node sees: two nodes that create tokens in the same instant may exceed them by a few.
   * @throws BridgeError `log_unavailable`
   */
  create(wanted: NewToken): Promise<{ token: Token; text: string } | 'tenant_full' | 'full'> {
    // One after the other, so that the limits hold.
    return this.#inTurn('create', () => this.#createNow(wanted))
  }

  /** The token of that id; null where there is none. */
  get(id: string): Token | null {
    const entry = this.#byId.get(id)
    return entry === undefined ? null : this.#shown(entry)
  }

  /** Deletes a token; it is valid no longer on this node when it resolves. @throws BridgeError `log_unavailable` */
  async delete(id: string): Promise<void> {
    await this.#awaited.write(id, () => this.#table.delete(id))
    this.#uses.forget(id, true)
  }

  /** Tokens in the order of their ids, after that id, of that tenant or of all (null). */
  list(page: IdPage): Token[] {
    return pageAfter(
      [...this.#byId.values()].map((entry) => this.#shown(entry)),
      page,
    )
  }

  /** Reads the table and follows it, writes uses, ends what expires; until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.#stopped.abort(), { once: true })
    const reader = {
      onChange: (change: Change<Row>): void => this.#apply(change),
      onLoaded: (): void => {
        this.#isLoaded = true
        // A token's row comes before those of its uses: uses without a token belong to a deleted one.
        for (const id of this.#uses.ids()) if (!this.#byId.has(id)) this.#uses.forget(id, true)
        this.#watchExpiry()
      },
    }
    try {
      await Promise.all([followTable(this.#table, reader, signal), this.#uses.run(signal)])
    } finally {
      this.#cancelExpiry()
    }
  }

  async #createNow(wanted: NewToken): Promise<{ token: Token; text: string } | 'tenant_full' | 'full'> {
    if (this.#byId.size >= MAX_TOKENS) return 'full'
    const own = [...this.#byId.values()].filter(({ row }) => row.tenant === wanted.tenant)
    if (own.length >= MAX_TOKENS_PER_TENANT) return 'tenant_full'
    const text = newTokenText()
    const createdAtMs = this.#clock.now()
    const id = newId('tok', createdAtMs)
    const { tenant, scopes, name, expiresAtMs } = wanted
    const row: TokenRow = {
      kind: 'token',
      hash: tokenHash(text),
      tenant,
      scopes,
      name,
      expiresAtMs,
      createdAtMs,
    }
    await this.#awaited.write(id, () => this.#table.put(id, row))
    return { token: { id, tenant, scopes, name, expiresAtMs, createdAtMs, lastUsedMs: null }, text }
  }

  #apply({ key, value }: Change<Row>): void {
    const used = usedToken(key)
    const row = readRow(value)
    if (row === null && value !== null) this.#logger.error('token.unreadable', { tokenId: used ?? key })
    if (used !== null) {
      if (row?.kind === 'use' && (!this.#isLoaded || this.#byId.has(used))) this.#uses.take(used, row.hourMs)
      return
    }
    if (row?.kind === 'token') this.#add(key, row)
    else {
      this.#remove(key)
      this.#uses.forget(key, false)
    }
    this.#awaited.seen(key)
  }

  #add(id: string, row: TokenRow): void {
    if (this.#byId.get(id)?.row.hash === row.hash) return
    this.#remove(id)
    const end = new AbortController()
    const { tenant, scopes, expiresAtMs } = row
    const caller: Caller = Object.freeze({
      tokenId: id,
      tenant,
      scopes,
      seesAllTenants: false,
      expiresAtMs,
      ended: end.signal,
    })
    const entry = { id, row, caller, end }
    this.#byId.set(id, entry)
    this.#byHash.set(row.hash, entry)
    if (this.#isLoaded && expiresAtMs !== null) this.#watchExpiry()
  }

  #remove(id: string): void {
    const entry = this.#byId.get(id)
    if (entry === undefined) return
    this.#byId.delete(id)
    this.#byHash.delete(entry.row.hash)
    entry.end.abort()
  }

  /** Ends what has expired and sets a timer for the next expiry. */
  #watchExpiry(): void {
    this.#cancelExpiry()
    const nowMs = this.#clock.now()
    let delayMs = Number.POSITIVE_INFINITY
    for (const { row, end } of this.#byId.values()) {
      if (row.expiresAtMs === null || end.signal.aborted) continue
      if (row.expiresAtMs <= nowMs) end.abort()
      else delayMs = Math.min(delayMs, row.expiresAtMs - nowMs)
    }
    this.#cancelExpiry =
      delayMs === Number.POSITIVE_INFINITY || this.#stopped.signal.aborted
        ? () => {}
        : this.#clock.after(Math.min(delayMs, MAX_TIMER_MS), () => this.#watchExpiry())
  }

  #shown({ id, row }: Entry): Token {
    const { tenant, scopes, name, expiresAtMs, createdAtMs } = row
    return { id, tenant, scopes, name, expiresAtMs, createdAtMs, lastUsedMs: this.#uses.lastHourMs(id) }
  }

  #judge(entry: Entry | undefined): Caller | NoCaller {
    if (entry === undefined) return this.#isLoaded ? 'unknown' : 'loading'
    const { row, caller, end } = entry
    const hasExpired =
      end.signal.aborted || (row.expiresAtMs ?? Number.POSITIVE_INFINITY) <= this.#clock.now()
    return hasExpired ? 'expired' : caller
  }
}
