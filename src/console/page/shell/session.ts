/**
 * Knows who is signed in and signs in and out: by a token, which is sent once and kept nowhere, or by the code of a link. The
 * browser keeps a cookie that no script can read.
 */

import type { TokenScope } from '../parts/token-scope.ts'
import type { MeAnswer } from './answers.ts'
import type { ApiProblem, ConsoleApi } from './api.ts'
import { createStore, type Store } from './store.ts'

/** Whether somebody is signed in. */
export type SignedIn =
  | { state: 'unknown' }
  /** `why`: said above the form, where a session ended by itself. */
  | { state: 'signed_out'; why: string | null }
  | { state: 'signed_in'; me: MeAnswer }

/** The session of this browser. */
export interface ConsoleSession {
  current: Store<SignedIn>
  /** Whether the token may read what needs this scope; a session may read all of it. */
  mayRead(scope: TokenScope): boolean
  /** Whether the session may change what needs this scope: now, after it is unlocked, or not at all. */
  mayChange(scope: TokenScope): 'now' | 'locked' | 'never'
  /** Signs in with a token. Returns why it was refused. */
  signIn(token: string): Promise<ApiProblem | null>
  /** Signs in with a link's code. Returns why it was refused. */
  signInByCode(code: string): Promise<ApiProblem | null>
  /** Takes the token again and lets the session make changes for a while. Returns why it was refused. */
  unlock(token: string): Promise<ApiProblem | null>
  /** Ends the session. Returns why the bridge has not ended it: the browser stays signed in then. */
  signOut(): Promise<ApiProblem | null>
  /** Asks who is signed in. */
  refresh(): Promise<void>
  /** The bridge no longer knows the session. */
  ended(): void
}

const AGAIN_MS = 2000
const AWAY = { detail: 'The bridge does not answer. This page tries again every two seconds.', hint: null }

/** The code of a link in the fragment of the address, e.g. `c1.…`; null where there is none. */
export function codeOf(fragment: string): string | null {
  const text = fragment.replace(/^#/, '')
  return /^c\d+\.[\w.-]+$/.test(text) ? text : null
}

/**
 * Signs in by a link's code, or finds the session of the cookie. Returns what to say about it, and when to try again: null
 * where that would change nothing.
 */
export async function openSession(
  session: ConsoleSession,
  code: string | null,
): Promise<{ problem: Pick<ApiProblem, 'detail' | 'hint'> | null; againInMs: number | null }> {
  const refused = code === null ? null : await session.signInByCode(code)
  // The code is still good.
  if (refused !== null && refused.retryInMs !== null)
    return { problem: refused, againInMs: refused.retryInMs }
  if (session.current.get().state !== 'signed_in') await session.refresh()
  const { state } = session.current.get()
  if (state === 'unknown') return { problem: AWAY, againInMs: AGAIN_MS }
  return { problem: state === 'signed_out' ? refused : null, againInMs: null }
}

/**
 * Asks again who may do what once an unlock is over, with each tick until the bridge says so too: its clock may be behind.
 * `ticks`: the bridge's present by the page's clock, while the page is visible. Returns the end.
 */
export function watchUnlock(
  session: Pick<ConsoleSession, 'current' | 'refresh'>,
  ticks: Store<number>,
): () => void {
  let isAsking = false
  return ticks.follow(() => {
    const now = session.current.get()
    const untilMs = now.state === 'signed_in' ? Date.parse(now.me.session?.unlockedUntil ?? '') : Number.NaN
    if (isAsking || Number.isNaN(untilMs) || untilMs > ticks.get()) return
    isAsking = true
    void session.refresh().finally(() => {
      isAsking = false
    })
  })
}

/** A session of which nothing is known yet. `api` is given later, because it reports the end of the session. */
export function createSession(api: () => ConsoleApi): ConsoleSession {
  const current = createStore<SignedIn>({ state: 'unknown' })
  const refresh = async (): Promise<void> => {
    const result = await api().ask('GET /v1/me')
    if (result.ok) current.set({ state: 'signed_in', me: result.value })
  }
  const open = async (
    call: 'POST /v1/sessions' | 'POST /v1/sessions/current/unlock',
    body: object,
  ): Promise<ApiProblem | null> => {
    const result = await api().ask(call, { body })
    if (!result.ok) return result.problem
    current.set({ state: 'signed_in', me: result.value })
    return null
  }
  const me = (): MeAnswer | null => {
    const now = current.get()
    return now.state === 'signed_in' ? now.me : null
  }
  return {
    current,
    mayRead: (scope) => holds(me()?.session?.tokenScopes ?? me()?.scopes ?? [], scope),
    mayChange(scope) {
      const { session, scopes = [] } = me() ?? {}
      if (!holds(session?.tokenScopes ?? scopes, scope)) return 'never'
      // Scopes for reading stand in a locked session too, and some changes need no other.
      return session?.unlockedUntil === null ? 'locked' : 'now'
    },
    signIn: (token) => open('POST /v1/sessions', { token }),
    signInByCode: (code) => open('POST /v1/sessions', { code }),
    unlock: (token) => open('POST /v1/sessions/current/unlock', { token }),
    async signOut() {
      const result = await api().ask('DELETE /v1/sessions/current')
      if (!result.ok && result.problem.kind !== 'signed_out') return result.problem
      current.set({ state: 'signed_out', why: null })
      return null
    },
    refresh,
    ended() {
      const why = me() === null ? null : 'The session is over. Sign in again to go on.'
      if (current.get().state !== 'signed_out') current.set({ state: 'signed_out', why })
    },
  }
}

function holds(scopes: readonly TokenScope[], scope: TokenScope): boolean {
  return scopes.includes(scope)
}
