/** Says in words what scopes allow, and how long a token is good and when it was used. Pure. */
import type { StateTone } from '../../parts/state.ts'
import { briefly, millisOf } from '../../parts/times.ts'
import type { TokenScope } from '../../parts/token-scope.ts'

/** What each scope lets a token do, in the order in which they are shown. */
export const scopeSentences: Readonly<Record<TokenScope, string>> = {
  'events:read': 'Read announcements: pull, feed, search; see and end streams',
  'webhooks:read': 'See webhooks, with their headers and attempts',
  'webhooks:write': 'Create, change, test and delete webhooks',
  'webhooks:replay': 'Send events to webhooks again',
  admin: 'Make and delete tokens; see nodes, polls and quota',
}

/** All scopes. */
export const allScopes = Object.keys(scopeSentences) as TokenScope[]

const SOON_MS = 7 * 24 * 3_600_000
const HOUR_MS = 3_600_000

/** How long a token is good. */
export function expiryWords(expiresAt: string | null, nowMs: number): { tone: StateTone; text: string } {
  const endMs = millisOf(expiresAt)
  if (endMs === null) return { tone: 'good', text: 'never' }
  if (endMs <= nowMs) return { tone: 'bad', text: `expired ${briefly(nowMs - endMs)} ago` }
  return { tone: endMs - nowMs < SOON_MS ? 'notice' : 'good', text: `in ${briefly(endMs - nowMs)}` }
}

/** When a token was last used: the bridge keeps the hour only. */
export function lastUseWords(lastUsed: string | null, nowMs: number): string {
  const hourMs = millisOf(lastUsed)
  if (hourMs === null) return 'never'
  return nowMs - hourMs < HOUR_MS ? 'within the hour' : `${briefly(nowMs - hourMs)} ago`
}

/** Ends of new tokens that are offered, with their length; `none`: it does not end by itself. */
export const lifetimes = [
  ['none', 'does not expire', null],
  ['day', 'in a day', 1],
  ['month', 'in 30 days', 30],
  ['quarter', 'in 90 days', 90],
  ['year', 'in a year', 365],
] as const

/** The end of a token that is made now. */
export function endOf(lifetime: string, nowMs: number): string | null {
  const [, , days] = lifetimes.find(([name]) => name === lifetime) ?? [null, null, null]
  return days === null ? null : new Date(nowMs + days * 24 * HOUR_MS).toISOString()
}
