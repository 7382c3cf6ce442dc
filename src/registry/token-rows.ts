/**
 * What the log's table `tokens` holds: one row a token, and one for the hour in which it was last used. Owns the shapes,
 * the keys and reading them back. Two rows, because a use is written by any node at any time: written into the token's
 * own row it would bring back a token that another node has deleted meanwhile.
 */
import { type Scope, scopes } from '../http/auth.ts'

/** The table of the log that holds them. */
export const TOKENS_TABLE = 'tokens'

/** A token as it is kept; it never changes. Times are ms since 1970. */
export interface TokenRow {
  kind: 'token'
  /** SHA-256 of the token's text, hex. The text itself is nowhere. */
  hash: string
  tenant: string
  scopes: readonly Scope[]
  name: string | null
  expiresAtMs: number | null
  createdAtMs: number
}

/** When a token was last shown: the beginning of that hour, ms since 1970. */
export interface UseRow {
  kind: 'use'
  hourMs: number
}

/** A row of the table. */
export type Row = TokenRow | UseRow

const USE = 'use:'

/** The key of the row that says when the token was last used. A token's own row has its id as key. */
export function useKey(id: string): string {
  return `${USE}${id}`
}

/** Of which token this is the row of its use; null for the row of a token. */
export function usedToken(key: string): string | null {
  return key.startsWith(USE) ? key.slice(USE.length) : null
}

/**
 * The row in a value of the table; null where it is none. A scope that this version does not know is left out: a newer
 * one may have written it, and less is granted, never more.
 */
export function readRow(value: unknown): Row | null {
  if (value === null || typeof value !== 'object') return null
  const row = value as Readonly<Record<string, unknown>>
  if (row.kind === 'use') return isTime(row.hourMs) ? { kind: 'use', hourMs: row.hourMs } : null
  const { hash, tenant, name = null, expiresAtMs = null, createdAtMs } = row
  const isToken =
    row.kind === 'token' &&
    typeof hash === 'string' &&
    typeof tenant === 'string' &&
    Array.isArray(row.scopes) &&
    (name === null || typeof name === 'string') &&
    (expiresAtMs === null || isTime(expiresAtMs)) &&
    isTime(createdAtMs)
  if (!isToken) return null
  const known = scopes.filter((scope) => (row.scopes as unknown[]).includes(scope))
  return { kind: 'token', hash, tenant, scopes: known, name, expiresAtMs, createdAtMs }
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}
