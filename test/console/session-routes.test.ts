/** Tests the sessions of browsers over real sockets: what a cookie opens, and what it does not. */
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { meRoute } from '../../src/api/routes/me-route.ts'
import { ticketRoute } from '../../src/api/routes/ticket-route.ts'
import { tokenRoutes } from '../../src/api/routes/token-routes.ts'
import { sessionRoutes } from '../../src/console/session-routes.ts'
import { HOUR_MS, MINUTE_MS } from '../../src/core/durations.ts'
import { createApp } from '../../src/http/app.ts'
import { adminAuthenticate, findCallerAmong } from '../../src/http/auth.ts'
import { type Listener, listen } from '../../src/http/listener.ts'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { createSessions } from '../../src/registry/sessions.ts'
import { createTickets } from '../../src/registry/tickets.ts'
import { Tokens } from '../../src/registry/tokens.ts'
import { until } from '../support/http/api-server.ts'
import { type KeptLine, keepingLogger } from '../support/keeping-logger.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { createManualClock, type ManualClock } from '../support/time/manual-clock.ts'

const ADMIN = 'the admin token of this test'
const KEYS = { key: 'the key of this test, 32 characters or more', oldKey: null }
const SAME = { 'sec-fetch-site': 'same-origin' }

let clock: ManualClock
let tokens: Tokens
let listener: Listener
let lines: KeptLine[]
let stop: () => Promise<void>
/** Whether the node has not read its tokens yet. */
let isLoading: boolean

beforeEach(async () => {
  clock = createManualClock()
  isLoading = false
  const kept = keepingLogger()
  lines = kept.lines
  const { logger } = kept
  tokens = new Tokens({ log: createMemoryLog(), clock, logger })
  const ended = new AbortController()
  const running = tokens.run(ended.signal)
  await until(() => tokens.isLoaded)
  const authenticate = adminAuthenticate(ADMIN, tokens.authenticate)
  const findCaller = findCallerAmong((id) => (isLoading ? 'loading' : tokens.findCaller(id)))
  const sessions = createSessions({ keys: KEYS, adminToken: ADMIN, findCaller, clock })
  const routes = [
    ...tokenRoutes({ tokens, clock, logger }),
    meRoute(tokens),
    ticketRoute(createTickets({ keys: KEYS, adminToken: ADMIN, clock })),
    ...sessionRoutes({ sessions, tokens, authenticate, findCaller, clock, logger }),
  ]
  const app = createApp({
    routes,
    authenticate,
    findSession: sessions.findInRequest,
    corsOrigins: ['https://desk.example'],
    logger,
  })
  listener = await listen(app, { host: '127.0.0.1', port: 0, setting: '', clock: systemClock, logger })
  stop = async () => {
    await listener.close(0)
    ended.abort()
    await running
  }
})

afterEach(() => stop())

interface Answered {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: tests read whatever they expect
  body: any
  cookie: string
  setCookie: string | null
}

async function send(
  method: string,
  path: string,
  { body, ...headers }: { body?: object; [header: string]: string | object | undefined } = {},
): Promise<Answered> {
  const type = body === undefined ? {} : { 'content-type': 'application/json' }
  // `fetch` would write the header Host itself.
  const sent = request(`${listener.url}${path}`, { method, headers: { ...type, ...headers } })
  sent.end(body === undefined ? undefined : JSON.stringify(body))
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const text = Buffer.concat(await response.toArray()).toString()
  const [setCookie = null] = response.headers['set-cookie'] ?? []
  const [cookie = ''] = (setCookie ?? '').split(';')
  const status = response.statusCode ?? 0
  return { status, body: text === '' ? null : JSON.parse(text), cookie, setCookie }
}

async function signIn(token = ADMIN): Promise<string> {
  const { status, cookie } = await send('POST', '/v1/sessions', { body: { token } })
  expect(status).toBe(201)
  return cookie
}

async function deskToken(
  scopes = ['events:read', 'webhooks:read', 'webhooks:write'],
): Promise<{ id: string; token: string }> {
  const authorization = `Bearer ${ADMIN}`
  return (await send('POST', '/v1/tokens', { authorization, body: { tenant: 'desk', scopes, name: 'wall' } }))
    .body
}

describe('signing in', () => {
  test('exchanges a token for a cookie that no script reads, and that says nothing of the token', async () => {
    const { id, token } = await deskToken()
    const signedIn = await send('POST', '/v1/sessions', { body: { token } })
    expect(signedIn.status).toBe(201)
    expect(signedIn.setCookie).toMatch(
      /^bridge-\d+=s1\.tok_[\w.-]+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/,
    )
    expect(signedIn.setCookie).not.toContain(token)
    expect(signedIn.body).toEqual({
      tenant: 'desk',
      tokenId: id,
      name: 'wall',
      scopes: ['events:read', 'webhooks:read'],
      expiresAt: null,
      session: {
        expiresAt: new Date(clock.now() + 12 * HOUR_MS).toISOString(),
        unlockedUntil: null,
        tokenScopes: ['events:read', 'webhooks:read', 'webhooks:write'],
      },
    })
    const { cookie } = signedIn
    expect((await send('GET', '/v1/me', { cookie, ...SAME })).body).toEqual(signedIn.body)
    const bearer = await send('POST', '/v1/sessions', { authorization: `Bearer ${token}` })
    expect(bearer.body).toEqual(signedIn.body)
    expect(lines).toContainEqual({
      level: 'info',
      event: 'session.begun',
      fields: { tokenId: id, tenant: 'desk', sessionId: expect.stringMatching(/^[\w-]{16}$/) },
    })
  })

  test('is refused to a token that begins more than the audit journal should keep, and not to others', async () => {
    const { token } = await deskToken()
    const begin = () => send('POST', '/v1/sessions', { body: { token } })
    const statuses: number[] = []
    for (let nth = 0; nth < 25; nth++) statuses.push((await begin()).status)
    expect(statuses).toEqual([...Array(20).fill(201), ...Array(5).fill(429)])
    expect((await begin()).body.code).toBe('rate_limited')
    const link = await send('POST', '/v1/sessions/links', { authorization: `Bearer ${token}`, body: {} })
    expect(link.status).toBe(429)
    await signIn()
    await clock.advance(2000)
    expect([(await begin()).status, (await begin()).status, (await begin()).status]).toEqual([201, 201, 429])
  })

  test('over https gives a cookie of this host alone, over plain http none to another machine', async () => {
    const body = { token: ADMIN }
    const proxied = await send('POST', '/v1/sessions', { body, origin: 'https://bridge.example', ...SAME })
    expect(proxied.setCookie).toMatch(/^__Host-bridge=s1\.settings\.\S+; Path=\/; Max-Age=3600; .*; Secure$/)
    const { cookie } = proxied
    expect((await send('GET', '/v1/me', { cookie, ...SAME })).status).toBe(200)
    const clear = await send('POST', '/v1/sessions', {
      body,
      host: 'bridge.example',
      origin: 'http://bridge.example',
    })
    expect([clear.status, clear.body.code, clear.setCookie]).toEqual([403, 'forbidden', null])
    expect(clear.body.detail).toContain('https')
    const local = await signIn()
    const elsewhere = { cookie: local, host: 'bridge.example', ...SAME }
    expect((await send('GET', '/v1/me', elsewhere)).status).toBe(401)
  })

  test('refuses a wrong token, none, two, and a page of another origin', async () => {
    const wrong = await send('POST', '/v1/sessions', { body: { token: 'nobody has it' } })
    expect([wrong.status, wrong.setCookie]).toEqual([401, null])
    expect((await send('POST', '/v1/sessions', { body: {} })).status).toBe(401)
    expect((await send('POST', '/v1/sessions')).status).toBe(401)
    const two = { authorization: `Bearer ${ADMIN}`, body: { token: ADMIN } }
    expect((await send('POST', '/v1/sessions', two)).body.code).toBe('body_invalid')
    for (const foreign of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: 'https://desk.example' },
    ]) {
      const refused = await send('POST', '/v1/sessions', { body: { token: ADMIN }, ...foreign })
      expect([refused.status, refused.body.code], JSON.stringify(foreign)).toEqual([403, 'origin_refused'])
    }
  })
})

describe('a link', () => {
  const authorization = `Bearer ${ADMIN}`
  const link = async (more: object = {}) =>
    (await send('POST', '/v1/sessions/links', { authorization, ...more })).body

  test('begins one session within its minute: a replay, a forged and an old one begin none', async () => {
    const { url, code, expiresAt } = await link()
    expect(url).toBe(`${listener.url}/console/#${code}`)
    expect(Date.parse(expiresAt) - clock.now()).toBe(MINUTE_MS)
    const opened = await send('POST', '/v1/sessions', { body: { code } })
    expect([opened.status, opened.body.tokenId]).toEqual([201, 'settings'])
    const refused = async (text: string) => {
      const { status, body, setCookie } = await send('POST', '/v1/sessions', { body: { code: text } })
      expect([status, setCookie]).toEqual([401, null])
      return body.detail
    }
    expect(await refused(code)).toContain('has been used')
    expect(await refused(`${code}x`)).toContain('is not one of this bridge')
    const { code: late } = await link()
    clock.advance(MINUTE_MS)
    expect(await refused(late)).toContain('has expired')
  })

  test('dies with its token, and is not used up where no cookie can be given', async () => {
    const { id, token } = await deskToken()
    const ask = { authorization: `Bearer ${token}`, body: { seconds: 900 } }
    const { code } = (await send('POST', '/v1/sessions/links', ask)).body
    const clear = { body: { code }, host: 'bridge.example' }
    expect((await send('POST', '/v1/sessions', clear)).status).toBe(403)
    expect((await send('POST', '/v1/sessions', { body: { code } })).status).toBe(201)
    const other = (await send('POST', '/v1/sessions/links', ask)).body.code
    await tokens.delete(id)
    expect((await send('POST', '/v1/sessions', { body: { code: other } })).status).toBe(401)
    for (const seconds of [9, 901, 1.5, '60'])
      expect((await send('POST', '/v1/sessions/links', { authorization, body: { seconds } })).status).toBe(
        400,
      )
  })

  test('stays good where the node cannot say yet whose it is, or refuses the request for anything else', async () => {
    const { token } = await deskToken()
    const { code } = (await link({ authorization: `Bearer ${token}` })) as { code: string }
    isLoading = true
    const early = await send('POST', '/v1/sessions', { body: { code } })
    expect([early.status, early.body.code]).toEqual([503, 'unavailable'])
    isLoading = false
    expect((await send('POST', '/v1/sessions?extra=1', { body: { code } })).status).toBe(400)
    expect((await send('POST', '/v1/sessions', { body: { code } })).status).toBe(201)
    expect((await send('POST', '/v1/sessions', { body: { code } })).status).toBe(401)
  })

  test('is made by a token, never by a session, which could live for ever by them', async () => {
    const cookie = await signIn()
    const locked = await send('POST', '/v1/sessions/links', { cookie, ...SAME })
    expect([locked.status, locked.body.code]).toEqual([403, 'forbidden'])
  })
})

describe('a cookie', () => {
  test('counts for pages of this origin only', async () => {
    const cookie = await signIn()
    const status = async (headers: Record<string, string>) =>
      (await send('GET', '/v1/me', { cookie, ...headers })).status
    const host = new URL(listener.url).host
    expect(await status(SAME)).toBe(200)
    expect(await status({ origin: `http://${host}` })).toBe(200)
    for (const foreign of [
      {},
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
      { 'sec-fetch-site': 'cross-site', origin: `http://${host}` },
      { origin: 'http://127.0.0.1:1' },
      { origin: 'null' },
      { origin: 'https://desk.example' },
    ] as Record<string, string>[])
      expect(await status(foreign), JSON.stringify(foreign)).toBe(401)
  })

  test('counts for nothing beside a bearer token, right or wrong', async () => {
    const cookie = await signIn()
    const { token } = await deskToken()
    const beside = await send('GET', '/v1/me', { cookie, authorization: `Bearer ${token}`, ...SAME })
    expect(beside.body).toMatchObject({ tenant: 'desk' })
    expect(beside.body.session).toBeUndefined()
    expect((await send('GET', '/v1/me', { cookie, authorization: 'Bearer wrong', ...SAME })).status).toBe(401)
  })

  test('counts beside what the browser sends to a proxy, and so does a code', async () => {
    const proxy = { authorization: 'Basic eDp5', ...SAME }
    const { code } = (await send('POST', '/v1/sessions/links', { authorization: `Bearer ${ADMIN}` })).body
    const { status, cookie } = await send('POST', '/v1/sessions', { body: { code }, ...proxy })
    expect(status).toBe(201)
    expect((await send('GET', '/v1/me', { cookie, ...proxy })).status).toBe(200)
    expect((await send('GET', '/v1/me', proxy)).body.detail).toContain('is no Bearer')
  })

  test('of another bridge on this machine is left alone', async () => {
    const cookie = await signIn()
    const host = '127.0.0.1:1'
    const other = await send('POST', '/v1/sessions', { body: { token: ADMIN }, host })
    expect([other.status, other.cookie.split('=')[0]]).toEqual([201, 'bridge-1'])
    const both = { cookie: `${other.cookie.slice(0, -4)}AAAA; ${cookie}`, ...SAME }
    expect((await send('GET', '/v1/me', both)).status).toBe(200)
    expect((await send('GET', '/v1/me', { ...both, host })).status).toBe(401)
  })

  test('that was forged, changed or has expired is refused with what to do', async () => {
    const cookie = await signIn()
    const [name] = cookie.split('=')
    const forged = [
      `${name}=`,
      `${name}=s1.settings.x.zzzzzzzz.0.c2ln`,
      `${cookie.slice(0, -4)}AAAA`,
      cookie.replace('settings', 'tok_other'),
      cookie.replace(/\.0\./, '.zzzzzzzzz.'),
    ]
    for (const one of forged) {
      const { status, body } = await send('GET', '/v1/me', { cookie: one, ...SAME })
      expect([status, body.detail], one).toEqual([401, expect.stringContaining('sign in again')])
    }
    const among = { cookie: `other=1; ${cookie}; ${name}=later`, ...SAME }
    expect((await send('GET', '/v1/me', among)).status).toBe(200)
    clock.advance(HOUR_MS)
    expect((await send('GET', '/v1/me', { cookie, ...SAME })).status).toBe(401)
  })

  test('ends with its token, and when its browser signs out', async () => {
    const { id, token } = await deskToken()
    const [first, second] = [await signIn(token), await signIn(token)]
    const out = await send('DELETE', '/v1/sessions/current', { cookie: first, ...SAME })
    expect([out.status, out.setCookie]).toEqual([
      204,
      `${first.split('=')[0]}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict`,
    ])
    expect((await send('GET', '/v1/me', { cookie: first, ...SAME })).status).toBe(401)
    expect((await send('GET', '/v1/me', { cookie: second, ...SAME })).status).toBe(200)
    await tokens.delete(id)
    expect((await send('GET', '/v1/me', { cookie: second, ...SAME })).status).toBe(401)
    expect((await send('DELETE', '/v1/sessions/current', { authorization: `Bearer ${ADMIN}` })).status).toBe(
      404,
    )
  })
})

describe('a session may only read', () => {
  const made = { tenant: 'desk', scopes: ['events:read'] }

  test('until its token is shown again, and for a quarter of an hour', async () => {
    const cookie = await signIn()
    expect((await send('GET', '/v1/tokens', { cookie, ...SAME })).status).toBe(200)
    expect((await send('POST', '/v1/tickets', { cookie, ...SAME })).status).toBe(201)
    const locked = await send('POST', '/v1/tokens', { cookie, ...SAME, body: made })
    expect([locked.status, locked.body.code]).toEqual([403, 'session_locked'])
    expect((await send('DELETE', '/v1/tokens/tok_000000000000000000000', { cookie, ...SAME })).status).toBe(
      403,
    )
    const unlocked = await send('POST', '/v1/sessions/current/unlock', {
      cookie,
      ...SAME,
      body: { token: ADMIN },
    })
    expect([unlocked.status, unlocked.body.scopes]).toEqual([200, expect.arrayContaining(['admin'])])
    expect(Date.parse(unlocked.body.session.unlockedUntil) - clock.now()).toBe(15 * MINUTE_MS)
    const open = unlocked.cookie
    expect((await send('POST', '/v1/tokens', { cookie: open, ...SAME, body: made })).status).toBe(201)
    clock.advance(15 * MINUTE_MS)
    expect((await send('POST', '/v1/tokens', { cookie: open, ...SAME, body: made })).body.code).toBe(
      'session_locked',
    )
    expect((await send('GET', '/v1/me', { cookie: open, ...SAME })).body.session.unlockedUntil).toBe(null)
  })

  test('whatever a wrong token, another token or a page of another origin asks for', async () => {
    const { token } = await deskToken()
    const cookie = await signIn(token)
    const unlock = (body: object, headers: object = SAME) =>
      send('POST', '/v1/sessions/current/unlock', { cookie, ...headers, body })
    const wrong = await unlock({ token: 'wrong' })
    expect([wrong.status, wrong.body.code]).toEqual([403, 'forbidden'])
    expect((await unlock({ token: ADMIN })).body.code).toBe('forbidden')
    expect((await unlock({ token }, { 'sec-fetch-site': 'cross-site' })).status).toBe(401)
    expect((await unlock({})).status).toBe(400)
    expect((await unlock({ token })).status).toBe(200)
  })

  test('and never more than its token may', async () => {
    const { token } = await deskToken(['events:read'])
    const cookie = await signIn(token)
    expect((await send('GET', '/v1/tokens', { cookie, ...SAME })).status).toBe(403)
    const open = await send('POST', '/v1/sessions/current/unlock', { cookie, ...SAME, body: { token } })
    expect(open.body.scopes).toEqual(['events:read'])
    const refused = await send('POST', '/v1/tokens', { cookie: open.cookie, ...SAME, body: made })
    expect([refused.status, refused.body.code]).toEqual([403, 'forbidden'])
  })
})
