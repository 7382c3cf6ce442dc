import { describe, expect, test } from 'vitest'
import { type ApiServer, startApi, TOKEN } from '../../support/http/api-server.ts'
import { ask, tokenOf } from '../../support/http/ask.ts'

const BODY = { url: 'https://hooks.example/in', description: 'desk' }
const SCOPES = ['webhooks:read', 'webhooks:write', 'webhooks:replay']

function create(api: ApiServer, key: string, body: unknown = BODY, token = TOKEN) {
  return ask(api, token, '/v1/webhooks', 'POST', body, { 'idempotency-key': key })
}

describe('Idempotency-Key on POST /v1/webhooks', () => {
  test('makes one endpoint for a repeated key, and repeats the answer with its secret', async () => {
    await using api = await startApi({ count: 3 })
    const first = await create(api, 'order 1')
    api.store.grow(4)
    api.clock.advance(3_600_000)
    const again = await create(api, 'order 1')
    expect([first.status, again.status]).toEqual([201, 201])
    expect(again.body).toEqual({ ...first.body, health: again.body.health })
    expect(again.body.secret).toMatch(/^whsec_/)
    for (const name of ['etag', 'location']) expect(again.headers.get(name)).toBe(first.headers.get(name))
    expect([first, again].map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, 'true'])
    expect(api.endpoints.all()).toHaveLength(1)
    expect(api.lines.filter(({ event }) => event === 'endpoint.created')).toHaveLength(1)
  })

  test('of ten requests at once makes one endpoint', async () => {
    await using api = await startApi()
    const answers = await Promise.all(Array.from({ length: 10 }, () => create(api, 'k')))
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.id} ${body.secret}`)).size).toBe(1)
    expect(api.endpoints.all()).toHaveLength(1)
  })

  test('refuses another body with 422, and a malformed key with 400', async () => {
    await using api = await startApi()
    await create(api, 'k')
    const other = await create(api, 'k', { ...BODY, description: 'other' })
    expect([other.status, other.body.code]).toEqual([422, 'idempotency_key_reused'])
    for (const key of ['', 'x'.repeat(256), 'ü']) {
      const wrong = await create(api, key)
      expect([wrong.status, wrong.body.errors[0].field]).toEqual([400, 'Idempotency-Key'])
    }
    expect(api.endpoints.all()).toHaveLength(1)
  })

  test('belongs to one token: another one makes its own endpoint with the same key', async () => {
    await using api = await startApi()
    const tokens = [TOKEN, await tokenOf(api, 'desk'), await tokenOf(api, 'desk'), await tokenOf(api, 'pm')]
    const ids = await Promise.all(tokens.map(async (token) => (await create(api, 'k', BODY, token)).body.id))
    expect(new Set(ids).size).toBe(4)
  })

  test('does not bring a deleted endpoint back, and a refused request leaves it unused', async () => {
    await using api = await startApi()
    expect((await create(api, 'k', { url: 'ftp://x' })).status).toBe(400)
    const { id } = (await create(api, 'k')).body
    await ask(api, TOKEN, `/v1/webhooks/${id}`, 'DELETE')
    const again = await create(api, 'k')
    expect([again.status, again.body.detail]).toEqual([422, expect.stringContaining('was deleted')])
    expect(api.endpoints.all()).toEqual([])
  })
})

test('Idempotency-Key on /replay begins one replay for a repeated key', async () => {
  await using api = await startApi({ count: 100 })
  const token = await tokenOf(api, 'desk', SCOPES)
  const { id } = (await ask(api, token, '/v1/webhooks', 'POST', BODY)).body
  const replay = (key: string, body: object) =>
    ask(api, token, `/v1/webhooks/${id}/replay`, 'POST', body, { 'idempotency-key': key })
  const body = { since: '2016-01-01' }
  const first = await replay('a', body)
  api.store.grow(5)
  const again = await replay('a', body)
  expect([first.status, again.status, again.body]).toEqual([202, 202, first.body])
  expect(api.recovery.commands.of(id)).toHaveLength(1)
  const [command] = api.recovery.commands.of(id)
  await api.recovery.commands.remove(command?.key ?? '')
  expect((await replay('a', body)).body).toEqual(first.body)
  expect(api.recovery.commands.of(id)).toHaveLength(0)
  expect((await replay('a', { since: '2017' })).status).toBe(422)
  expect((await replay('b', { ...body, dryRun: true })).body.id).toBeNull()
  expect((await replay('b', body)).status).toBe(202)
})
