/**
 * Creates, deletes, lists and authenticates the tokens of all tenants in the log's table. Only hashes are kept;
 * deleted and expired tokens end their streams on every node.
 */
import type { Authenticate, Caller, FindCaller, NoCaller, Scope } from '../http/auth.ts'
import type { Clock } from '../lifecycle/clock.ts'
import { createKeyedMutex } from '../lifecycle/keyed-mutex.ts'
import { followTable } from '../log/follow-table.ts'
import type { Log } from '../log/log.ts'
import type { Change } from '../log/tables.ts'
import type { Logger } from '../obs/logger.ts'
import { createAwaitedChanges } from './awaited-changes.ts'
import { newId } from './ids.ts'
import { type Row, readRow, TOKENS_TABLE, type TokenRow, usedToken } from './token-rows.ts'
import { newTokenText, tokenHash } from './token-text.ts'
import { createTokenUses } from './token-uses.ts'

/** Most tokens of a tenant, expired ones among them, and of all tenants together. */
export const MAX_TOKENS_PER_TENANT = 1000
const MAX_TOKENS = 20_000
/** The wall clock may be set: the next expiry is looked at again after this time. */
const LOOK_AGAIN_MS = 60_000

/** A token as it may be shown. Times are ms since 1970. */
export interface Token {
  id: string
  tenant: string
  scopes: readonly Scope[]
  name: string | null
  expiresAtMs: number | null
  createdAtMs: number
  /** The beginning of the hour in which it was last shown to any node; null = never. */
  lastUsedMs: number | null
}

/** What is asked for. */
export type NewToken = Pick<Token, 'tenant' | 'scopes' | 'name' | 'expiresAtMs'>

export interface Tokens {
  /** Whether the table has been read: until then nobody but the administrator is known. */
  readonly isLoaded: boolean
  readonly authenticate: Authenticate
  /** The caller with the token of that id. It is no use of the token: that was when it was shown. */
  readonly findCaller: FindCaller
  /**
   * Makes a token, good on this node when it resolves. Its text is in the answer and nowhere else. The limits are those
   * that this node sees: two nodes that make tokens in the same instant may go above by a few.
   * @throws BridgeError `log_unavailable`
   */
  create(wanted: NewToken): Promise<{ token: Token; text: string } | 'tenant_full' | 'full'>
  /** The token of that id; null where there is none. */
  get(id: string): Token | null
  /** Deletes a token; it is good for nothing on this node when it resolves. @throws BridgeError `log_unavailable` */
  delete(id: string): Promise<void>
  /** Tokens in the order of their ids, after that id, of that tenant or of all (null). */
  list(options: { tenant: string | null; after: string; limit: number }): Token[]
  /** Reads the table and follows it, writes uses, ends what expires; until the signal aborts. */
  run(signal: AbortSignal): Promise<void>
}

/** A token that is known. */
interface Entry {
  id: string
  row: TokenRow
  caller: Caller
  end: AbortController
}

/** Nothing is known until it runs. */
export function createTokens({ log, clock, logger }: { log: Log; clock: Clock; logger: Logger }): Tokens {
  const table = log.table<Row>(TOKENS_TABLE)
  const uses = createTokenUses({ table, clock, logger })
  const byId = new Map<string, Entry>()
  const byHash = new Map<string, Entry>()
  const perTenant = new Map<string, number>()
  /** Ids in order; null after a change. */
  let inOrder: string[] | null = null
  let isLoaded = false
  let cancelExpiry = (): void => {}
  const stopped = new AbortController()
  const awaited = createAwaitedChanges(stopped.signal)
  const inTurn = createKeyedMutex()

  const remove = (id: string): void => {
    const entry = byId.get(id)
    if (entry === undefined) return
    byId.delete(id)
    byHash.delete(entry.row.hash)
    count(perTenant, entry.row.tenant, -1)
    inOrder = null
    entry.end.abort()
  }
  const add = (id: string, row: TokenRow): void => {
    if (byId.get(id)?.row.hash === row.hash) return
    remove(id)
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
    byId.set(id, entry)
    byHash.set(row.hash, entry)
    count(perTenant, tenant, 1)
    inOrder = null
    if (isLoaded && expiresAtMs !== null) watchExpiry()
  }
  const apply = ({ key, value }: Change<Row>): void => {
    const used = usedToken(key)
    const row = readRow(value)
    if (row === null && value !== null) logger.error('tokens.unreadable', { tokenId: used ?? key })
    if (used !== null) {
      if (row?.kind === 'use' && (!isLoaded || byId.has(used))) uses.take(used, row.hourMs)
      return
    }
    if (row?.kind === 'token') add(key, row)
    else {
      remove(key)
      uses.forget(key, false)
    }
    awaited.seen(key)
  }
  /** Ends what has expired and comes back for the next. */
  const watchExpiry = (): void => {
    cancelExpiry()
    const nowMs = clock.now()
    let delayMs = Number.POSITIVE_INFINITY
    for (const { row, end } of byId.values()) {
      if (row.expiresAtMs === null || end.signal.aborted) continue
      if (row.expiresAtMs <= nowMs) end.abort()
      else delayMs = Math.min(delayMs, row.expiresAtMs - nowMs)
    }
    cancelExpiry =
      delayMs === Number.POSITIVE_INFINITY || stopped.signal.aborted
        ? () => {}
        : clock.after(Math.min(delayMs, LOOK_AGAIN_MS), watchExpiry)
  }
  const shown = ({ id, row }: Entry): Token => {
    const { tenant, scopes, name, expiresAtMs, createdAtMs } = row
    return { id, tenant, scopes, name, expiresAtMs, createdAtMs, lastUsedMs: uses.lastHourMs(id) }
  }
  const judged = (entry: Entry | undefined): Caller | NoCaller => {
    if (entry === undefined) return isLoaded ? 'unknown' : 'loading'
    const { row, caller, end } = entry
    const hasExpired = end.signal.aborted || (row.expiresAtMs ?? Number.POSITIVE_INFINITY) <= clock.now()
    return hasExpired ? 'expired' : caller
  }
  const make = async (wanted: NewToken): Promise<{ token: Token; text: string } | 'tenant_full' | 'full'> => {
    if (byId.size >= MAX_TOKENS) return 'full'
    if ((perTenant.get(wanted.tenant) ?? 0) >= MAX_TOKENS_PER_TENANT) return 'tenant_full'
    const text = newTokenText()
    const createdAtMs = clock.now()
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
    await awaited.write(id, () => table.put(id, row))
    return { token: { id, tenant, scopes, name, expiresAtMs, createdAtMs, lastUsedMs: null }, text }
  }

  return {
    get isLoaded() {
      return isLoaded
    },
    authenticate(text) {
      const caller = judged(byHash.get(tokenHash(text)))
      if (typeof caller === 'object') uses.mark(caller.tokenId)
      return caller
    },
    findCaller: (id) => judged(byId.get(id)),
    // One after the other, so that the limits hold.
    create: (wanted) => inTurn('create', () => make(wanted)),
    get(id) {
      const entry = byId.get(id)
      return entry === undefined ? null : shown(entry)
    },
    async delete(id) {
      await awaited.write(id, () => table.delete(id))
      uses.forget(id, true)
    },
    list({ tenant, after, limit }) {
      inOrder ??= [...byId.keys()].sort()
      const tokens: Token[] = []
      for (const id of inOrder) {
        const entry = byId.get(id)
        if (entry === undefined || id <= after) continue
        if (tenant === null || entry.row.tenant === tenant) tokens.push(shown(entry))
        if (tokens.length === limit) break
      }
      return tokens
    },
    async run(signal) {
      signal.addEventListener('abort', () => stopped.abort(), { once: true })
      const reader = {
        onChange: apply,
        onLoaded() {
          isLoaded = true
          // A token's row stands before those of its uses: these lost theirs.
          for (const id of uses.ids()) if (!byId.has(id)) uses.forget(id, true)
          watchExpiry()
        },
      }
      try {
        await Promise.all([followTable(table, reader, signal), uses.run(signal)])
      } finally {
        cancelExpiry()
      }
    },
  }
}

function count(counts: Map<string, number>, key: string, change: 1 | -1): void {
  const now = (counts.get(key) ?? 0) + change
  if (now > 0) counts.set(key, now)
  else counts.delete(key)
}
