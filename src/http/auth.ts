/** Turns the bearer token or the session of a request into a caller with a tenant and scopes, or answers 401, 403 or 503. */
import { hash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { HttpProblem, retryLater } from './problem.ts'

/** What a token may do. */
export const scopes = ['events:read', 'webhooks:read', 'webhooks:write', 'webhooks:replay', 'admin'] as const
export type Scope = (typeof scopes)[number]

/** The tenant of the admin token. */
export const DEFAULT_TENANT = 'default'

/** The caller of a request. */
export interface Caller {
  /** The key of per-token limits; no secret. */
  tokenId: string
  tenant: string
  scopes: readonly Scope[]
  /** Whether it may read and write what belongs to other tenants: only the token of the settings. */
  seesAllTenants: boolean
  /** When the token ends, ms since 1970; null = not by itself. */
  expiresAtMs: number | null
  /** Aborts when the token is deleted or expires: long requests and streams must end then. */
  ended: AbortSignal
  /** The browser session through which it calls; absent where it shows a token. */
  session?: CallerSession
}

/** A session: a browser calls with a token that it does not hold. */
export interface CallerSession {
  /** Tells sessions apart; no secret. */
  id: string
  /** ms since 1970. */
  endsMs: number
  /** Until when it may change something; null while it may only read. */
  unlockedUntilMs: number | null
}

/** Why a token has no caller: unknown or deleted, expired, or undecidable until this node has loaded the tokens. */
export type NoCaller = 'unknown' | 'expired' | 'loading'

/** The caller behind a token, or why there is none. */
export type Authenticate = (token: string) => Caller | NoCaller

/** The same by the token's id, for a client that authenticated with the token before. */
export type FindCaller = (tokenId: string) => Caller | NoCaller

/** The same by the cookie of a browser's session; null where the request shows none, or none that counts. */
export type FindSession = (request: IncomingMessage) => Caller | NoCaller | null

/** The caller with the token of the settings: every scope, every tenant, without end. */
export const settingsCaller: Caller = Object.freeze({
  tokenId: 'settings',
  tenant: DEFAULT_TENANT,
  scopes,
  seesAllTenants: true,
  expiresAtMs: null,
  ended: new AbortController().signal,
})

/** Whether the caller may act for the whole installation, and see who does: the admin scope of the tenant `default`. */
export function isOperator({ tenant, scopes: held }: Pick<Caller, 'tenant' | 'scopes'>): boolean {
  return tenant === DEFAULT_TENANT && held.includes('admin')
}

const CHALLENGE = 'Bearer realm="disclosure-bridge"'
const BEARER = /^Bearer +(\S.*)$/i
const BEARER_SCHEME = /^Bearer(?: |$)/i

/**
 * Finds the admin token, which has every scope and tenant and is compared in constant time, and others by `others`. Without
 * an admin token (null or empty) no token is it.
 */
export function adminAuthenticate(
  adminToken: string | null,
  others: Authenticate = () => 'unknown',
): Authenticate {
  if (adminToken === null || adminToken === '') return others
  const wanted = sha256(adminToken)
  return (token) => (timingSafeEqual(sha256(token), wanted) ? settingsCaller : others(token))
}

/** Finds the token of the settings; every other id by `others`. */
export function findCallerAmong(others: FindCaller): FindCaller {
  return (tokenId) => (tokenId === settingsCaller.tokenId ? settingsCaller : others(tokenId))
}

/**
 * The header `Authorization` where it is for the bridge. A browser sends one of another scheme, such as `Basic`, for a proxy
 * before the bridge.
 */
export function bearerHeader({ authorization }: IncomingMessage['headers']): string | undefined {
  return authorization !== undefined && BEARER_SCHEME.test(authorization) ? authorization : undefined
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
 * The caller behind a token, or behind the id of one where `authenticate` finds by that. `scope` null: any valid token will do.
 * @throws HttpProblem `unauthorised` without a valid token, `forbidden` where it lacks the scope, `unavailable` until this
 * node has loaded the tokens
 */
export function callerOf(token: string, scope: Scope | null, authenticate: Authenticate): Caller {
  const caller = authenticate(token)
  if (caller === 'loading') throw tokensLoading()
  if (caller === 'unknown' || caller === 'expired') {
    const detail = caller === 'expired' ? 'this token has expired' : 'this token is not valid'
    throw unauthorised(detail, `${CHALLENGE}, error="invalid_token"`)
  }
  requireScope(caller, scope)
  return caller
}

/**
 * The caller of the session that a request shows; null where it shows none.
 * @throws HttpProblem `unauthorised` where the session has ended, `unavailable` until this node has loaded the tokens
 */
export function sessionCaller(request: IncomingMessage, findSession: FindSession): Caller | null {
  const caller = findSession(request)
  if (caller === 'loading') throw tokensLoading()
  if (typeof caller === 'object') return caller
  throw unauthorised('this session has ended, or its token; sign in again', CHALLENGE)
}

/** @throws HttpProblem `session_locked` for a session that may only read */
export function requireUnlocked({ session }: Caller): void {
  if (session === undefined || session.unlockedUntilMs !== null) return
  throw new HttpProblem('session_locked', 'this session may only read until it is unlocked')
}

/** @throws HttpProblem `forbidden` where the caller lacks the scope; null: it needs none */
export function requireScope(caller: Caller, scope: Scope | null): void {
  if (scope === null || caller.scopes.includes(scope)) return
  throw new HttpProblem('forbidden', `this token does not have the scope ${scope}`, {
    headers: { 'WWW-Authenticate': `${CHALLENGE}, error="insufficient_scope", scope="${scope}"` },
  })
}

/** The 503 for a token that may be good: this node has not read the tokens yet. */
export function tokensLoading(): HttpProblem {
  return retryLater('unavailable', 'this node has not read the tokens yet')
}

function unauthorised(detail: string, challenge: string): HttpProblem {
  return new HttpProblem('unauthorised', detail, { headers: { 'WWW-Authenticate': challenge } })
}

function sha256(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}
