/**
 * Who asks: a bearer token becomes a caller with a tenant and scopes. Owns the header, the answers 401 and 403 and the
 * admin token of the settings. Refuses to keep tokens: whoever keeps them gives an `Authenticate`.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import { HttpProblem } from './problem.ts'

/** What a token may do. */
export const scopes = ['events:read', 'webhooks:read', 'webhooks:write', 'webhooks:replay', 'admin'] as const
export type Scope = (typeof scopes)[number]

/** Who asks. */
export interface Caller {
  tenant: string
  scopes: readonly Scope[]
}

/** The caller behind a token, or null where there is none (unknown, expired, revoked). */
export type Authenticate = (token: string) => Promise<Caller | null>

const CHALLENGE = 'Bearer realm="disclosure-bridge"'
const BEARER = /^Bearer +(\S.*)$/i

/** Knows one token: the administrator's, with tenant `default` and every scope. Compared in constant time. */
export function adminAuthenticate(adminToken: string): Authenticate {
  const wanted = sha256(adminToken)
  const caller: Caller = Object.freeze({ tenant: 'default', scopes })
  return (token) => Promise.resolve(timingSafeEqual(sha256(token), wanted) ? caller : null)
}

/**
 * The caller of a request, by its `Authorization` header.
 * @throws HttpProblem `unauthorised` without a valid token, `forbidden` where it lacks the scope
 */
export async function authorise(
  header: string | undefined,
  scope: Scope,
  authenticate: Authenticate,
): Promise<Caller> {
  return await callerOf(bearerToken(header), scope, authenticate)
}

/**
 * The token in an `Authorization` header.
 * @throws HttpProblem `unauthorised` where there is none
 */
export function bearerToken(header: string | undefined): string {
  const token = BEARER.exec(header ?? '')?.[1]
  if (token !== undefined) return token.trim()
  const what =
    header === undefined ? 'there is no Authorization header' : 'the Authorization header is no Bearer'
  throw unauthorised(`${what}; send "Authorization: Bearer <token>"`, CHALLENGE)
}

/**
 * The caller behind a token.
 * @throws HttpProblem `unauthorised` where it is not valid, `forbidden` where it lacks the scope
 */
export async function callerOf(token: string, scope: Scope, authenticate: Authenticate): Promise<Caller> {
  const caller = await authenticate(token)
  if (caller === null) throw unauthorised('this token is not valid', `${CHALLENGE}, error="invalid_token"`)
  if (!caller.scopes.includes(scope)) {
    throw new HttpProblem('forbidden', `this token does not have the scope ${scope}`, {
      headers: { 'WWW-Authenticate': `${CHALLENGE}, error="insufficient_scope", scope="${scope}"` },
    })
  }
  return caller
}

function unauthorised(detail: string, challenge: string): HttpProblem {
  return new HttpProblem('unauthorised', detail, { headers: { 'WWW-Authenticate': challenge } })
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
