import { expect, test } from 'vitest'
import { newSecret } from '../../../src/core/signature.ts'
import { ENDPOINTS_TABLE } from '../../../src/registry/endpoint-rows.ts'
import { newId } from '../../../src/registry/ids.ts'
import { createSecretBox } from '../../../src/webhooks/endpoints/secrets.ts'
import { headersOf, storedHeaders } from '../../../src/webhooks/endpoints/stored-headers.ts'
import { prepareEndpoint } from '../../../src/webhooks/worker/delivery-endpoint.ts'
import { type ApiServer, OLD_SECRET_KEY, startApi, TOKEN } from '../../support/http/api-server.ts'
import { ask } from '../../support/http/ask.ts'
import { wantedEndpoint } from '../../support/webhooks/endpoints.ts'

const KEY = 'RECEIVER-API-KEY'
const wanted = { url: 'https://hooks.example/in', headers: { 'X-Key': KEY } }

async function rowText(api: ApiServer, id: string): Promise<string> {
  return JSON.stringify((await api.log.table(ENDPOINTS_TABLE).load()).get(id))
}

/** An endpoint with these headers in clear, as older builds stored them, or as that box stores them. */
async function stored(api: ApiServer, headers: Record<string, string>, box = api.secrets): Promise<string> {
  const id = newId('ep', api.clock.now())
  const secrets = [{ wrapped: api.secrets.wrap(newSecret(), id), untilMs: null }]
  const own = box === api.secrets ? headers : storedHeaders(headers, id, box)
  await api.endpoints.create(wantedEndpoint({ id, secrets, headers: own }))
  return id
}

test('custom headers are stored encrypted, shown as they were given, and sent', async () => {
  await using api = await startApi()
  const { body } = await ask(api, TOKEN, '/v1/webhooks', 'POST', wanted)
  expect(body.headers).toEqual(wanted.headers)
  expect(await rowText(api, body.id)).not.toContain(KEY)
  expect((await ask(api, TOKEN, `/v1/webhooks/${body.id}`)).body.headers).toEqual(wanted.headers)
  const endpoint = api.endpoints.get(body.id)
  if (endpoint === null) throw new Error('no endpoint')
  expect(prepareEndpoint(endpoint, api.secrets, api.clock)).toMatchObject({
    endpoint: { headers: wanted.headers },
    fault: null,
  })
})

test('a change of headers is stored encrypted; the same headers again change nothing', async () => {
  await using api = await startApi()
  const path = `/v1/webhooks/${(await ask(api, TOKEN, '/v1/webhooks', 'POST', wanted)).body.id}`
  const change = { headers: { 'X-Key': `${KEY}-2` } }
  const changed = await ask(api, TOKEN, path, 'PATCH', change)
  expect(changed.body.headers).toEqual(change.headers)
  expect(await rowText(api, changed.body.id)).not.toContain(KEY)
  const again = await ask(api, TOKEN, path, 'PATCH', change)
  expect(again.headers.get('etag')).toBe(changed.headers.get('etag'))
})

test('headers that an older build stored in clear are read, and encrypted by rewrap', async () => {
  await using api = await startApi()
  const id = await stored(api, wanted.headers)
  expect(await rowText(api, id)).toContain(KEY)
  expect((await ask(api, TOKEN, `/v1/webhooks/${id}`)).body.headers).toEqual(wanted.headers)
  const answer = await ask(api, TOKEN, '/v1/webhooks/rewrap', 'POST')
  expect(answer.body).toEqual({ rewrapped: 1, left: 0, unreadable: [] })
  expect(await rowText(api, id)).not.toContain(KEY)
  expect((await ask(api, TOKEN, `/v1/webhooks/${id}`)).body.headers).toEqual(wanted.headers)
})

test('headers under the old key are put under the present one', async () => {
  await using api = await startApi()
  const id = await stored(api, wanted.headers, createSecretBox({ key: OLD_SECRET_KEY, oldKey: null }))
  const before = await rowText(api, id)
  expect((await ask(api, TOKEN, '/v1/webhooks/rewrap', 'POST')).body).toMatchObject({ rewrapped: 1, left: 0 })
  expect(await rowText(api, id)).not.toBe(before)
})

test('headers that no key opens pause the endpoint and are shown as null, until they are set again', async () => {
  await using api = await startApi()
  const stranger = createSecretBox({ key: 'a key that no node of this test knows', oldKey: null })
  const id = await stored(api, wanted.headers, stranger)
  expect((await ask(api, TOKEN, `/v1/webhooks/${id}`)).body.headers).toBeNull()
  const endpoint = api.endpoints.get(id)
  if (endpoint === null) throw new Error('no endpoint')
  expect(prepareEndpoint(endpoint, api.secrets, api.clock)).toMatchObject({
    endpoint: { status: 'paused' },
    fault: { code: 'secret_unreadable', hint: expect.stringContaining('set its headers again') },
  })
  const set = await ask(api, TOKEN, `/v1/webhooks/${id}`, 'PATCH', { headers: {} })
  expect([set.status, set.body.headers]).toEqual([200, {}])
})

test('the stored headers of one endpoint, or a secret in their place, fit no other', () => {
  const box = createSecretBox({ key: OLD_SECRET_KEY, oldKey: null })
  const headers = storedHeaders(wanted.headers, 'ep_1', box)
  expect(headersOf({ id: 'ep_1', headers }, box)).toEqual(wanted.headers)
  expect(() => headersOf({ id: 'ep_2', headers }, box)).toThrow(/belongs to another endpoint/)
  expect(() => headersOf({ id: 'ep_1', headers: box.wrap('{}', 'ep_1') }, box)).toThrow(/was changed/)
})

test.each(['webhook_signature', 'x_forwarded_for', 'x.key', 'x~key', '-key', 'ключ'])(
  'the header name %s is refused: a receiver could take it for another',
  async (name) => {
    await using api = await startApi()
    const { status, body } = await ask(api, TOKEN, '/v1/webhooks', 'POST', {
      ...wanted,
      headers: { [name]: 'x' },
    })
    expect([status, body.code]).toEqual([400, 'body_invalid'])
  },
)
