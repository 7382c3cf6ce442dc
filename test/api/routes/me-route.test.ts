import { expect, test } from 'vitest'
import { startApi, TOKEN } from '../../support/http/api-server.ts'
import { ask } from '../../support/http/ask.ts'

test('a token sees its tenant, name, scopes and end, whatever its scopes', async () => {
  await using api = await startApi()
  const wanted = { tenant: 'desk', scopes: ['webhooks:read'], name: 'Desk 7', expiresAt: '2026-07' }
  const { body: made } = await ask(api, TOKEN, '/v1/tokens', 'POST', wanted)
  expect(await ask(api, made.token, '/v1/me')).toMatchObject({
    status: 200,
    body: {
      tenant: 'desk',
      tokenId: made.id,
      name: 'Desk 7',
      scopes: ['webhooks:read'],
      expiresAt: '2026-07-01T00:00:00.000Z',
    },
  })
})

test('the token of the settings has every scope, no name and no end', async () => {
  await using api = await startApi()
  expect((await ask(api, TOKEN, '/v1/me')).body).toEqual({
    tenant: 'default',
    tokenId: 'settings',
    name: null,
    scopes: ['events:read', 'webhooks:read', 'webhooks:write', 'webhooks:replay', 'admin'],
    expiresAt: null,
  })
})

test('no valid token: 401', async () => {
  await using api = await startApi()
  expect((await ask(api, 'wrong', '/v1/me')).status).toBe(401)
  expect((await ask(api, TOKEN, '/v1/me?x=1')).status).toBe(400)
})
