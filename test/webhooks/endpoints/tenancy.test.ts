/**
 * Tests that no tenant reaches an endpoint of another. It covers every documented route with `{id}` (the running
 * product has exactly these, `test/integration/openapi.test.ts`), new ones included.
 */
import { describe, expect, test } from 'vitest'
import { documentedRoutes } from '../../../docs/generate.ts'
import { scopes } from '../../../src/http/auth.ts'
import { type ApiServer, startApi, TOKEN } from '../../support/http/api-server.ts'
import { ask, tokenOf } from '../../support/http/ask.ts'

/** How to create a resource for `{id}`, by the path before it, and an id that never existed. */
const things: Readonly<Record<string, { make: object; never: string }>> = {
  '/v1/webhooks': { make: { url: 'https://hooks.example/in' }, never: 'ep_000000000000000000000' },
  '/v1/tokens': { make: { tenant: 'owner', scopes: ['events:read'] }, never: 'tok_000000000000000000000' },
}

/**
 * Disclosures, gaps and days belong to no tenant, and open streams are not made by a request:
 * `test/integration/edges/tenants.test.ts`.
 */
const OTHERS = ['/v1/disclosures', '/v1/streams', '/v1/admin/gaps', '/v1/admin/days']

const routes = documentedRoutes()
  .filter(({ path }) => path.includes('{'))
  .map((route) => ({ ...route, collection: route.path.slice(0, route.path.indexOf('/{')) }))
  .filter(({ collection }) => !OTHERS.includes(collection))

async function idOf(api: ApiServer, token: string, collection: string): Promise<string> {
  const { status, body } = await ask(api, token, collection, 'POST', things[collection]?.make)
  expect([collection, status]).toEqual([collection, 201])
  return body.id
}

test('this test covers every path with an id', () => {
  expect(routes.length).toBeGreaterThan(5)
  for (const { collection } of routes) expect(Object.keys(things)).toContain(collection)
})

describe.each(routes)('$method $path', ({ method, path, collection, body }) => {
  const sent = body === undefined ? undefined : {}

  test('answers 404 to another tenant, exactly as for an unknown id, and changes nothing', async () => {
    await using api = await startApi()
    const [owner, other] = [await tokenOf(api, 'owner', scopes), await tokenOf(api, 'other', scopes)]
    const central = await tokenOf(api, 'default', scopes)
    const id = await idOf(api, owner, collection)
    const before = (await ask(api, owner, collection)).text
    for (const token of [other, central]) {
      const foreign = await ask(api, token, path.replace('{id}', id), method, sent)
      const never = await ask(api, token, path.replace('{id}', things[collection]?.never ?? ''), method, sent)
      expect([foreign.status, foreign.text]).toEqual([404, never.text])
      expect(foreign.text).not.toContain(id)
    }
    expect((await ask(api, owner, collection)).text).toBe(before)
  })

  test('works for the tenant itself, and for the token of the settings', async () => {
    await using api = await startApi()
    const owner = await tokenOf(api, 'owner', scopes)
    for (const token of [owner, TOKEN]) {
      const id = await idOf(api, owner, collection)
      const answer = await ask(api, token, path.replace('{id}', id), method, sent)
      // The endpoint is there, and only a replay of that name is not.
      if (path.endsWith('{replayId}')) expect(answer.text).toContain('there is no replay')
      else expect(answer.status).not.toBe(404)
    }
  })
})

test('lists show only the own tenant, from any position; the token of the settings sees all', async () => {
  await using api = await startApi()
  const [desk, other] = [await tokenOf(api, 'desk', scopes), await tokenOf(api, 'other', scopes)]
  const first = await idOf(api, other, '/v1/webhooks')
  api.clock.advance(1)
  const own = await idOf(api, desk, '/v1/webhooks')
  const ids = async (token: string, query = ''): Promise<string[]> =>
    (await ask(api, token, `/v1/webhooks${query}`)).body.data.map(({ id }: { id: string }) => id)
  expect([await ids(desk), await ids(other), await ids(TOKEN)]).toEqual([[own], [first], [first, own]])
  expect(await ids(desk, `?after=${first}`)).toEqual([own])
})

test('the usage of one tenant does not reduce the limits of others', async () => {
  await using api = await startApi()
  const desk = await tokenOf(api, 'desk')
  const id = await idOf(api, desk, '/v1/webhooks')
  const known = api.endpoints.get(id)
  if (known === null) throw new Error('no endpoint')
  const { version: _, ...kept } = known
  for (let count = 1; count < 1000; count += 1) await api.endpoints.create({ ...kept, id: `ep_${count}` })
  const refused = await ask(api, desk, '/v1/webhooks', 'POST', things['/v1/webhooks']?.make)
  expect([refused.status, refused.body.code, refused.body.detail]).toEqual([
    403,
    'limit_reached',
    'a tenant has at most 1000 endpoints, of at most 16 MiB together',
  ])
  await idOf(api, await tokenOf(api, 'other'), '/v1/webhooks')
})
