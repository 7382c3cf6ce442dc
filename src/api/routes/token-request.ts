/**
 * The body of `POST /v1/tokens`, read strictly. Owns its grammar and bounds. Refuses to decide whether the caller may have
 * what it asks for: `token-routes.ts` does.
 */
import { parseTimeBound } from '../../core/dates.ts'
import { didYouMean } from '../../core/near.ts'
import { BridgeError } from '../../errors.ts'
import { type Scope, scopes } from '../../http/auth.ts'
import { type Members, openMembers } from '../../http/members.ts'
import type { Described } from '../../http/route.ts'
import { list, orNull } from '../../http/schemas/json-schema.ts'
import type { NewToken } from '../../registry/tokens.ts'

/** Largest body, bytes. */
export const MAX_TOKEN_BODY_BYTES = 4096
const LONGEST_NAME = 100
/** Characters of a wrong word that an answer repeats. */
const LONGEST_ECHO = 40
const TENANT = /^[a-z0-9][a-z0-9._-]{0,62}$/

/** The members with their meanings, for the docs. */
export const tokenMembers = {
  tenant: {
    meaning:
      'Whose token it is: 1–63 of `a–z`, `0–9`, `.`, `_`, `-`, the first a letter or digit. Only `BRIDGE_ADMIN_TOKEN` makes tokens of other tenants than its own.',
    schema: { type: 'string', pattern: TENANT.source },
    required: true,
  },
  scopes: {
    meaning: `What it may do: a list of ${scopes.map((scope) => `\`${scope}\``).join(', ')}, none that the caller lacks.`,
    schema: list({ type: 'string', enum: scopes }, { minItems: 1, maxItems: scopes.length }),
    required: true,
  },
  name: {
    meaning: `What it is for, 1–${LONGEST_NAME} characters. Null counts as absent.`,
    schema: orNull({ type: 'string', minLength: 1, maxLength: LONGEST_NAME }),
  },
  expiresAt: {
    meaning:
      'Time from which it is no longer valid; not later than the caller’s own. Without it the token stays until it is deleted. Null counts as absent.',
    schema: orNull({ type: 'string' }),
  },
} as const satisfies Record<string, Described>

/**
 * The token that a body asks for.
 * @throws HttpProblem `body_invalid` naming everything that is wrong
 */
export function readTokenRequest(body: unknown, nowMs: number): NewToken {
  const members = openMembers(body, Object.keys(tokenMembers))
  const wanted = {
    tenant: readTenant(members),
    scopes: readScopes(members),
    name: members.optional('name') === null ? null : members.text('name', LONGEST_NAME),
    expiresAtMs: readExpiry(members, nowMs),
  }
  members.check()
  return wanted
}

function readTenant(members: Members): string {
  const tenant = members.required('tenant')
  if (typeof tenant === 'string' && TENANT.test(tenant)) return tenant
  if (tenant !== undefined) {
    members.refuse('tenant', 'must be 1 to 63 of a–z, 0–9, ".", "_", "-", the first a letter or digit')
  }
  return ''
}

function readScopes(members: Members): Scope[] {
  const list = members.required('scopes')
  if (list === undefined) return []
  if (!Array.isArray(list) || list.length === 0 || list.length > scopes.length) {
    members.refuse('scopes', `must be a list of 1 to ${scopes.length} of ${scopes.join(', ')}`)
    return []
  }
  list.forEach((scope: unknown, index) => {
    if (!scopes.some((known) => known === scope)) {
      members.refuse(`scopes[${index}]`, `is no scope${nearScope(scope)}; there are ${scopes.join(', ')}`)
    } else if (list.indexOf(scope) < index) {
      members.refuse(`scopes[${index}]`, 'is in the list already')
    }
  })
  return scopes.filter((scope) => list.includes(scope))
}

function nearScope(scope: unknown): string {
  return typeof scope === 'string' ? didYouMean(scope.slice(0, LONGEST_ECHO), scopes) : ''
}

function readExpiry(members: Members, nowMs: number): number | null {
  const text = members.optional('expiresAt')
  if (text === undefined || text === null) return null
  const ms = typeof text === 'string' ? timeOf(text) : null
  if (ms === null) members.refuse('expiresAt', 'must be a time such as 2027-01-31T12:00:00Z')
  else if (ms <= nowMs) members.refuse('expiresAt', 'must be in the future')
  return ms
}

function timeOf(text: string): number | null {
  try {
    return parseTimeBound(text).fromMs
  } catch (error) {
    if (!(error instanceof BridgeError)) throw error
    return null
  }
}
