/** Authenticates callers in tests of routes: tokens by their text, without a registry. */
import type { Authenticate, Caller } from '../../../src/http/auth.ts'

/** A caller of the tenant `default` with the right to read events, changed by the given members. */
export function caller(parts: Partial<Caller> = {}): Caller {
  return {
    tokenId: 'tok_test',
    tenant: 'default',
    scopes: ['events:read'],
    seesAllTenants: false,
    expiresAtMs: null,
    ended: new AbortController().signal,
    ...parts,
  }
}

/** Knows these tokens, by their text. */
export function knows(tokens: Readonly<Record<string, Partial<Caller>>>): Authenticate {
  const callers = new Map(
    Object.entries(tokens).map(([token, parts]) => [token, caller({ tokenId: `tok_${token}`, ...parts })]),
  )
  return (token) => callers.get(token) ?? 'unknown'
}
