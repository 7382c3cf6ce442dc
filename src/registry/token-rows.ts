/**
 * Defines and parses the rows of the log's table `tokens`: for each API token one row, and another with the hour of
 * last use. Any node may write the last use at any time. In the token's own row, that write could bring back a token
 * that another node has just deleted.
 */
import { z } from 'zod'
import { type Scope, scopes } from '../http/auth.ts'

/** The table of the log that holds them. */
export const TOKENS_TABLE = 'tokens'

const tokenRow = z.object({
  kind: z.literal('token'),
  /** SHA-256 of the token's text, hex. The text itself is not kept. */
  hash: z.string(),
  tenant: z.string(),
  /** A scope of a newer version is left out: less is granted, never more. */
  scopes: z
    .array(z.unknown())
    .transform((list): readonly Scope[] => scopes.filter((scope) => list.includes(scope))),
  name: z.string().nullable().default(null),
  expiresAtMs: z.number().nullable().default(null),
  createdAtMs: z.number(),
})
const useRow = z.object({ kind: z.literal('use'), hourMs: z.number() })
const anyRow = z.discriminatedUnion('kind', [tokenRow, useRow])

/** A token as it is kept; it never changes. Times are ms since 1970. */
export type TokenRow = z.infer<typeof tokenRow>

/** When a token was last shown: the beginning of that hour, ms since 1970. */
export type UseRow = z.infer<typeof useRow>

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

/** The row in a value of the table; null where it is none. */
export function readRow(value: unknown): Row | null {
  return anyRow.safeParse(value).data ?? null
}
