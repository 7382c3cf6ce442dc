import { describe, expect, test } from 'vitest'
import { Tokens } from '../../../src/registry/tokens.ts'
import { type ApiServer, startApi, TOKEN, until } from '../../support/http/api-server.ts'
import { ask } from '../../support/http/ask.ts'

interface Shown {
  id: string
  token: string
  tenant: string
  scopes: string[]
  name: string | null
  expiresAt: string | null
  createdAt: string
  lastUsed: string | null
}

async function make(api: ApiServer, wanted: object, by = TOKEN): Promise<Shown> {
  const { status, body } = await ask(api, by, '/v1/tokens', 'POST', {
    tenant: 'desk',
    scopes: ['events:read'],
    ...wanted,
  })
  expect(status).toBe(201)
  return body as Shown
}

async function list(api: ApiServer, by = TOKEN, query = '') {
  const { status, body } = await ask(api, by, `/v1/tokens${query}`)
  expect(status).toBe(200)
  return body as { data: Shown[]; next: string | null }
}

describe('creating a token', () => {
  test('accepts an expiry with any UTC offset', async () => {
    await using api = await startApi()
    const { expiresAt } = await make(api, { expiresAt: '2026-07-01T02:00:00+02:00' })
    expect(expiresAt).toBe('2026-07-01T00:00:00.000Z')
  })

  test('returns the documented shape, works at once, and shows the text only this once', async () => {
    await using api = await startApi()
    const wanted = { tenant: 'desk', scopes: ['admin', 'events:read'], name: 'Büro 7', expiresAt: '2026-07' }
    const { status, body } = await ask(api, TOKEN, '/v1/tokens', 'POST', wanted)
    expect(status).toBe(201)
    expect(Object.keys(body)).toEqual(['id', 'token', 'tenant', 'scopes', 'name', 'expiresAt', 'createdAt'])
    expect(body).toMatchObject({
      tenant: 'desk',
      scopes: ['events:read', 'admin'],
      name: 'Büro 7',
      expiresAt: '2026-07-01T00:00:00.000Z',
      createdAt: '2026-06-01T06:00:00.000Z',
    })
    expect((await ask(api, body.token, '/v1/disclosures')).status).toBe(200)
    const { data, next } = await list(api)
    expect(next).toBeNull()
    const { token: _, ...shown } = body
    expect(data).toEqual([{ ...shown, lastUsed: '2026-06-01T06:00:00.000Z' }])
    expect(JSON.stringify(api.lines)).not.toContain(body.token)
    expect(api.lines.find(({ event }) => event === 'token.created')?.fields).toEqual({
      tokenId: body.id,
      tenant: 'desk',
      scopes: ['events:read', 'admin'],
      by: 'settings',
    })
  })

  test('accepts the members of a listed token: null is the same as an absent member', async () => {
    await using api = await startApi()
    const { tenant, scopes, name, expiresAt } = await make(api, {})
    expect([name, expiresAt]).toEqual([null, null])
    expect(await make(api, { tenant, scopes, name, expiresAt })).toMatchObject({
      tenant,
      scopes,
      name,
      expiresAt,
    })
    const lead = await make(api, { scopes: ['admin', 'events:read'], expiresAt: '2026-06-02' })
    const wanted = { tenant, scopes, expiresAt: null }
    expect((await ask(api, lead.token, '/v1/tokens', 'POST', wanted)).body.detail).toMatch(
      /give an earlier expiresAt/,
    )
  })

  test('is for administrators only, and never grants more than they have: scopes, tenant or time', async () => {
    await using api = await startApi()
    const reader = await make(api, {})
    const expiresAt = '2026-06-02T00:00:00.000Z'
    const lead = await make(api, { scopes: ['admin', 'events:read'], expiresAt })
    const wanted = { tenant: 'desk', scopes: ['events:read'], expiresAt }
    const tries: [token: string, wanted: object, detail: RegExp][] = [
      [reader.token, wanted, /scope admin/],
      [lead.token, { ...wanted, tenant: 'other' }, /own tenant, desk/],
      [lead.token, { ...wanted, tenant: 'default' }, /own tenant, desk/],
      [lead.token, { ...wanted, scopes: ['events:read', 'webhooks:write'] }, /have itself: webhooks:write/],
      [lead.token, { ...wanted, expiresAt: '2026-06-02T00:00:01Z' }, /expires at 2026-06-02T00:00:00.000Z/],
      [lead.token, { ...wanted, expiresAt: undefined }, /give an earlier expiresAt/],
    ]
    for (const [token, body, detail] of tries) {
      const answer = await ask(api, token, '/v1/tokens', 'POST', body)
      expect([answer.status, answer.body.code]).toEqual([403, 'forbidden'])
      expect(answer.body.detail).toMatch(detail)
    }
    expect((await list(api)).data).toHaveLength(2)
    const child = await make(api, { expiresAt }, lead.token)
    expect((await ask(api, child.token, '/v1/disclosures')).status).toBe(200)
  })

  test.each<[body: unknown, code: string, field: string | null, message: RegExp]>([
    ['{"tenant":', 'body_malformed', null, /not JSON/],
    ['[]', 'body_invalid', null, /JSON object/],
    ['null', 'body_invalid', null, /JSON object/],
    [{ scopes: ['admin'] }, 'body_invalid', 'tenant', /missing/],
    [{ tenant: 'a' }, 'body_invalid', 'scopes', /missing/],
    [{ tenant: 'a', scopes: ['admin'], expires: '2027' }, 'body_invalid', 'expires', /mean "expiresAt"/],
    ['{"tenant":"a","scopes":["admin"],"__proto__":{}}', 'body_invalid', '__proto__', /not a member/],
    [{ tenant: 'A', scopes: ['admin'] }, 'body_invalid', 'tenant', /1 to 63/],
    [{ tenant: 'a/b', scopes: ['admin'] }, 'body_invalid', 'tenant', /1 to 63/],
    [{ tenant: '', scopes: ['admin'] }, 'body_invalid', 'tenant', /1 to 63/],
    [{ tenant: 'a\n', scopes: ['admin'] }, 'body_invalid', 'tenant', /1 to 63/],
    [{ tenant: 'x'.repeat(64), scopes: ['admin'] }, 'body_invalid', 'tenant', /1 to 63/],
    [{ tenant: ['a'], scopes: ['admin'] }, 'body_invalid', 'tenant', /1 to 63/],
    [{ tenant: 'a', scopes: [] }, 'body_invalid', 'scopes', /list of 1 to 5/],
    [{ tenant: 'a', scopes: 'admin' }, 'body_invalid', 'scopes', /list of 1 to 5/],
    [{ tenant: 'a', scopes: Array(6).fill('admin') }, 'body_invalid', 'scopes', /list of 1 to 5/],
    [{ tenant: 'a', scopes: ['event:read'] }, 'body_invalid', 'scopes[0]', /mean "events:read"/],
    [{ tenant: 'a', scopes: ['admin', 7] }, 'body_invalid', 'scopes[1]', /must be one of events:read/],
    [{ tenant: 'a', scopes: ['admin', 'admin'] }, 'body_invalid', 'scopes[1]', /already/],
    [{ tenant: null, scopes: ['admin'] }, 'body_invalid', 'tenant', /1 to 63/],
    [{ tenant: 'a', scopes: null }, 'body_invalid', 'scopes', /list of 1 to 5/],
    [{ tenant: 'a', scopes: ['admin'], name: '' }, 'body_invalid', 'name', /1 to 100/],
    [{ tenant: 'a', scopes: ['admin'], name: 'x'.repeat(101) }, 'body_invalid', 'name', /1 to 100/],
    [{ tenant: 'a', scopes: ['admin'], name: '\u001b[2J' }, 'body_invalid', 'name', /control/],
    [{ tenant: 'a', scopes: ['admin'], name: '\ud800' }, 'body_invalid', 'name', /control/],
    [{ tenant: 'a', scopes: ['admin'], expiresAt: 'soon' }, 'body_invalid', 'expiresAt', /a time such as/],
    ['{"tenant":"a","scopes":["admin"],"expiresAt":1e400}', 'body_invalid', 'expiresAt', /a time such as/],
    [{ tenant: 'a', scopes: ['admin'], expiresAt: '2026-06-01' }, 'body_invalid', 'expiresAt', /future/],
    [`${'['.repeat(4000)}`, 'body_malformed', null, /JSON/],
    [`"${'x'.repeat(5000)}"`, 'body_too_large', null, /4096 bytes/],
  ])('refuses invalid body %#, and the response names the error', async (body, code, field, message) => {
    await using api = await startApi()
    const answer = await ask(api, TOKEN, '/v1/tokens', 'POST', body)
    expect([answer.body.code, answer.body.errors[0]?.field ?? null]).toEqual([code, field])
    expect(field === null ? answer.body.detail : answer.body.errors[0].message).toMatch(message)
    expect((await list(api)).data).toEqual([])
  })
})

describe('listing tokens', () => {
  test('paginates in order of creation, also from a deleted token', async () => {
    await using api = await startApi()
    const names = ['a', 'b', 'c', 'd', 'e']
    for (const name of names) {
      await make(api, { name })
      api.clock.advance(1)
    }
    const first = await list(api, TOKEN, '?limit=2')
    expect(first.data.map(({ name }) => name)).toEqual(['a', 'b'])
    expect((await ask(api, TOKEN, `/v1/tokens/${first.next}`, 'DELETE')).status).toBe(204)
    const second = await list(api, TOKEN, `?limit=3&after=${first.next}`)
    expect(second.data.map(({ name }) => name)).toEqual(['c', 'd', 'e'])
    expect(second.next).toBeNull()
  })

  test.each(['?limit=0', '?limit=1001', '?after=x', '?aftr=x', '?after=a&after=b'])(
    'is refused with %s',
    async (query) => {
      await using api = await startApi()
      expect((await ask(api, TOKEN, `/v1/tokens${query}`)).body.code).toBe('parameter_invalid')
    },
  )
})

describe('another tenant', () => {
  test('sees no token of this one, and its ids answer as unknown', async () => {
    await using api = await startApi()
    const desk = await make(api, { scopes: ['admin', 'events:read'] })
    const other = await make(api, { tenant: 'other', scopes: ['admin', 'events:read'] })
    const central = await make(api, { tenant: 'default', scopes: ['admin'] })
    for (const [token, own] of [
      [desk.token, desk],
      [other.token, other],
      [central.token, central],
    ] as const) {
      expect((await list(api, token)).data.map(({ id }) => id)).toEqual([own.id])
    }
    expect((await list(api)).data).toHaveLength(3)
    const never = await ask(api, desk.token, '/v1/tokens/tok_000000000000000000000', 'DELETE')
    const foreign = await ask(api, desk.token, `/v1/tokens/${other.id}`, 'DELETE')
    expect([foreign.status, foreign.text]).toEqual([404, never.text])
    expect((await ask(api, central.token, `/v1/tokens/${other.id}`, 'DELETE')).status).toBe(404)
    expect((await ask(api, other.token, '/v1/disclosures')).status).toBe(200)
    expect((await ask(api, TOKEN, `/v1/tokens/${other.id}`, 'DELETE')).status).toBe(204)
    expect((await ask(api, other.token, '/v1/disclosures')).status).toBe(401)
  })

  test('gets no page of this list: a forged `after` is only a position in the order', async () => {
    await using api = await startApi()
    const other = await make(api, { tenant: 'other' })
    api.clock.advance(1)
    const desk = await make(api, { scopes: ['admin'] })
    const { data } = await list(api, desk.token, `?after=${other.id}`)
    expect(data.map(({ id }) => id)).toEqual([desk.id])
  })
})

describe('deleting a token', () => {
  test('works once, and then the token is as wrong as any other', async () => {
    await using api = await startApi()
    const { id, token } = await make(api, {})
    expect(await ask(api, TOKEN, `/v1/tokens/${id}`, 'DELETE')).toMatchObject({ status: 204, text: '' })
    expect((await ask(api, TOKEN, `/v1/tokens/${id}`, 'DELETE')).status).toBe(404)
    const gone = await ask(api, token, '/v1/disclosures')
    expect(gone.text).toBe((await ask(api, 'wrong', '/v1/disclosures')).text)
    expect(gone.status).toBe(401)
  })

  test.each(['x', 'tok_', '..%2f..', '%00', '__proto__', 'use%3Atok_000000000000000000000'])(
    'is refused by the id %s, and the response names the remedy',
    async (id) => {
      await using api = await startApi()
      const { status, body } = await ask(api, TOKEN, `/v1/tokens/${id}`, 'DELETE')
      expect(status).toBeOneOf([400, 404])
      expect(body.detail.length).toBeGreaterThan(10)
    },
  )

  test('is listed in Allow for other methods, and for browsers of allowed origins', async () => {
    await using api = await startApi({ corsOrigins: ['https://desk.example'] })
    const refused = await fetch(`${api.url}/v1/tokens/x`, { headers: api.auth })
    expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'DELETE, OPTIONS'])
    const preflight = await fetch(`${api.url}/v1/tokens/x`, {
      method: 'OPTIONS',
      headers: { origin: 'https://desk.example', 'access-control-request-method': 'DELETE' },
    })
    expect(preflight.headers.get('access-control-allow-methods')).toBe('DELETE')
  })
})

describe('authentication by token', () => {
  test('reports an expired token as expired only if the rest of the token is right', async () => {
    await using api = await startApi()
    const { token } = await make(api, { expiresAt: '2026-06-01T06:00:01Z' })
    api.clock.advance(1000)
    const { status, body } = await ask(api, token, '/v1/disclosures')
    expect([status, body.code, body.detail]).toEqual([401, 'unauthorised', 'this token has expired'])
    expect((await ask(api, `${token}x`, '/v1/disclosures')).body.detail).toBe('this token is not valid')
  })

  test('without the scope of the path answers 403 with that scope', async () => {
    await using api = await startApi()
    const { token } = await make(api, { scopes: ['webhooks:read'] })
    for (const path of ['/v1/disclosures', '/v1/events', '/v1/stream']) {
      const { status, body } = await ask(api, token, path)
      expect([path, status, body.detail]).toEqual([path, 403, expect.stringContaining('events:read')])
    }
    const tested = await ask(api, token, '/v1/filters/test', 'POST', { filter: {} })
    expect(tested.status).toBe(403)
    expect((await ask(api, token, '/v1/tokens')).body.detail).toContain('admin')
  })

  test('while the tokens are being loaded answers 503 with Retry-After, except for the token of the settings', async () => {
    await using api = await startApi()
    const never = new Tokens({
      log: { table: () => ({ load: () => new Promise(() => {}) }) } as never,
      clock: api.clock,
      logger: { debug() {}, info() {}, warn() {}, error() {} },
    })
    expect(never.authenticate('anything')).toBe('loading')
    await using loading = await startApi({ tokens: never })
    const response = await fetch(`${loading.url}/v1/disclosures`, {
      headers: { authorization: 'Bearer unknown' },
    })
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5'])
    expect((await ask(loading, TOKEN, '/v1/disclosures')).status).toBe(200)
    expect((await ask(loading, TOKEN, '/v1/tokens')).status).toBe(503)
    const wanted = { tenant: 'a', scopes: ['admin'] }
    expect((await ask(loading, TOKEN, '/v1/tokens', 'POST', wanted)).status).toBe(503)
    expect((await ask(loading, TOKEN, '/v1/tokens/tok_x', 'DELETE')).status).toBe(503)
  })
})

test('ends the long poll of a token deleted meanwhile with the current result', async () => {
  await using api = await startApi({ count: 3 })
  const { id, token } = await make(api, {})
  const { body } = await ask(api, token, '/v1/disclosures')
  const waiting = ask(api, token, `/v1/disclosures?wait=30&after=${body.cursor}`)
  await until(() => api.clock.nextTimerMs() === 30_000)
  await ask(api, TOKEN, `/v1/tokens/${id}`, 'DELETE')
  expect((await waiting).body).toMatchObject({ data: [], more: false })
})
