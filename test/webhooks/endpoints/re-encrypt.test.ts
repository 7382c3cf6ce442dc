import { expect, test } from 'vitest'
import type { NewEndpoint } from '../../../src/registry/endpoints.ts'
import { newId } from '../../../src/registry/ids.ts'
import { rewrapped, signingSecrets } from '../../../src/webhooks/endpoints/endpoint-secrets.ts'
import { createSecretBox } from '../../../src/webhooks/endpoints/secrets.ts'
import { type ApiServer, OLD_SECRET_KEY, startApi, TOKEN } from '../../support/http/api-server.ts'
import { ask, tokenOf } from '../../support/http/ask.ts'
import { wantedEndpoint } from '../../support/webhooks/endpoints.ts'

const before = createSecretBox({ key: OLD_SECRET_KEY, oldKey: null })
const stranger = createSecretBox({ key: 'a key that no node of this test knows', oldKey: null })

/** An endpoint as a node with that key creates it. */
async function made(api: ApiServer, box = before, parts: Partial<NewEndpoint> = {}): Promise<string> {
  const id = newId('ep', api.clock.now())
  const secrets = [{ wrapped: box.wrap(`secret of ${id}`, id), untilMs: null }]
  await api.endpoints.create(wantedEndpoint({ id, secrets, ...parts }))
  return id
}

async function rewrap(api: ApiServer, token = TOKEN) {
  const { status, body } = await ask(api, token, '/v1/webhooks/rewrap', 'POST')
  expect(status).toBe(200)
  return body as { rewrapped: number; left: number; unreadable: string[] }
}

test('secrets under the old key are re-encrypted under the current one, in batches per request, and stay the same', async () => {
  await using api = await startApi()
  const ids = await Promise.all(Array.from({ length: 250 }, () => made(api)))
  expect(await rewrap(api)).toEqual({ rewrapped: 200, left: 50, unreadable: [] })
  expect(await rewrap(api)).toEqual({ rewrapped: 50, left: 0, unreadable: [] })
  expect(await rewrap(api)).toEqual({ rewrapped: 0, left: 0, unreadable: [] })
  const [id = ''] = ids
  const endpoint = api.endpoints.get(id)
  if (endpoint === null) throw new Error('no endpoint')
  expect(signingSecrets(endpoint, api.secrets, 0)).toEqual([`secret of ${id}`])
  expect(() => signingSecrets(endpoint, before, 0)).toThrow(/no key of this bridge/)
  expect(rewrapped(endpoint, api.secrets, 0)).toBeNull()
})

test('a secret that no key opens is named, and does not stop the others', async () => {
  await using api = await startApi()
  const [bad] = [await made(api, stranger), await made(api)]
  expect(await rewrap(api)).toEqual({ rewrapped: 1, left: 0, unreadable: [bad] })
  const fresh = await ask(api, TOKEN, `/v1/webhooks/${bad}/rotate`, 'POST')
  expect(fresh.status).toBe(200)
})

test('an administrator re-encrypts the own tenant, the token of the settings all tenants', async () => {
  await using api = await startApi()
  await made(api, before, { tenant: 'desk' })
  await made(api, before, { tenant: 'other' })
  const desk = await tokenOf(api, 'desk', ['admin'])
  expect(await rewrap(api, desk)).toEqual({ rewrapped: 1, left: 0, unreadable: [] })
  expect(await rewrap(api)).toEqual({ rewrapped: 1, left: 0, unreadable: [] })
})
