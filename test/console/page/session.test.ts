/** What the page says and does where signing in by a link or signing out fails; the bridge's answers are given. */
import { expect, test } from 'vitest'
import type { ApiProblem, ApiResult, ConsoleApi } from '../../../src/console/page/shell/api.ts'
import {
  type ConsoleSession,
  createSession,
  openSession,
  watchUnlock,
} from '../../../src/console/page/shell/session.ts'
import { createStore } from '../../../src/console/page/shell/store.ts'

const ME = { tenant: 'default', tokenId: 'settings', name: null, scopes: [], expiresAt: null }

function problem(kind: ApiProblem['kind'], more: Partial<ApiProblem> = {}): ApiResult<never> {
  const plain = { status: null, code: null, detail: `it is ${kind}`, hint: null, errors: [], retryInMs: null }
  return { ok: false, problem: { kind, ...plain, ...more } }
}

/** A session whose requests are answered with these, by their call. */
function sessionWith(answers: Record<string, ApiResult<unknown>>): ConsoleSession {
  const ask = async (call: string) => {
    const answer = answers[call]
    if (answer === undefined) throw new Error(`nobody expected ${call}`)
    // As the page's API does, but for requests that sign in.
    if (!answer.ok && answer.problem.kind === 'signed_out' && !call.startsWith('POST')) session.ended()
    return answer
  }
  const session = createSession(() => ({ ask, aheadMs: () => 0 }) as unknown as ConsoleApi)
  return session
}

async function signOutWith(answer: ApiResult<unknown>) {
  const session = sessionWith({
    'GET /v1/me': { ok: true, value: ME, text: '' },
    'DELETE /v1/sessions/current': answer,
  })
  await session.refresh()
  const refused = await session.signOut()
  return { state: session.current.get().state, detail: refused?.detail ?? null }
}

test('a browser that the bridge has not signed out stays signed in, with the reason', async () => {
  for (const kind of ['unreachable', 'failed', 'refused'] as const)
    expect(await signOutWith(problem(kind))).toEqual({ state: 'signed_in', detail: `it is ${kind}` })
})

test('a browser is signed out once the bridge says so, or no longer knows its session', async () => {
  for (const answer of [{ ok: true as const, value: null, text: '' }, problem('signed_out')])
    expect(await signOutWith(answer)).toEqual({ state: 'signed_out', detail: null })
})

const LINK = 'POST /v1/sessions'

test('a link that is refused is told with the reason that the bridge gives', async () => {
  const refusals = [
    problem('signed_out', { status: 401, detail: 'this link has been used' }),
    problem('refused', { status: 403, detail: 'a session needs https' }),
    problem('failed', { status: 500, detail: 'internal error' }),
  ]
  for (const refused of refusals) {
    const session = sessionWith({ [LINK]: refused, 'GET /v1/me': problem('signed_out') })
    const { detail } = refused.ok ? { detail: '' } : refused.problem
    expect(await openSession(session, 'c1.x')).toMatchObject({ problem: { detail }, againInMs: null })
    expect(session.current.get().state).toBe('signed_out')
  }
})

test('a link that may be good later is tried again when the bridge says', async () => {
  const later = problem('failed', { status: 503, detail: 'not read the tokens yet', retryInMs: 5000 })
  const session = sessionWith({ [LINK]: later })
  expect(await openSession(session, 'c1.x')).toMatchObject({
    problem: { detail: 'not read the tokens yet' },
    againInMs: 5000,
  })
  expect(session.current.get().state).toBe('unknown')
})

test('a bridge that does not answer is asked again; who is signed in already needs no link', async () => {
  const away = sessionWith({ 'GET /v1/me': problem('unreachable') })
  expect(await openSession(away, null)).toMatchObject({
    problem: { detail: expect.stringContaining('does not answer') },
    againInMs: 2000,
  })
  const known = sessionWith({
    [LINK]: problem('signed_out'),
    'GET /v1/me': { ok: true, value: ME, text: '' },
  })
  expect(await openSession(known, 'c1.x')).toEqual({ problem: null, againInMs: null })
})

test('an unlock is over when the bridge says so, whose clock may be behind the page’s', async () => {
  const until = '2026-11-23T07:15:00.000Z'
  const untilMs = Date.parse(until)
  const me = (unlockedUntil: string | null) => ({
    ...ME,
    session: { unlockedUntil, tokenScopes: ['webhooks:write'] },
  })
  const answers: ApiResult<unknown>[] = [
    { ok: true, value: me(until), text: '' },
    { ok: true, value: me(until), text: '' },
    problem('unreachable'),
    { ok: true, value: me(null), text: '' },
  ]
  const asked: string[] = []
  const ask = async (call: string) => {
    asked.push(call)
    return answers.shift() ?? problem('failed')
  }
  const session = createSession(() => ({ ask, aheadMs: () => 0 }) as unknown as ConsoleApi)
  await session.refresh()
  const ticks = createStore(untilMs - 1000)
  const end = watchUnlock(session, ticks)
  const states: string[] = []
  for (const nowMs of [untilMs - 2, untilMs, untilMs + 1000, untilMs + 2000, untilMs + 3000]) {
    ticks.set(nowMs)
    // One request at a time.
    ticks.set(nowMs + 1)
    await new Promise((resolve) => setImmediate(resolve))
    states.push(`${session.mayChange('webhooks:write')} ${asked.length}`)
  }
  expect(states).toEqual(['now 1', 'now 2', 'now 3', 'locked 4', 'locked 4'])
  end()
})
