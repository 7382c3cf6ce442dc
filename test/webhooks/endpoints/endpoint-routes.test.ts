import { describe, expect, test } from 'vitest'
import { decodeCursor, encodeCursor } from '../../../src/core/cursor.ts'
import { ENDPOINTS_TABLE } from '../../../src/registry/endpoint-rows.ts'
import { Endpoints } from '../../../src/registry/endpoints.ts'
import { signingSecrets } from '../../../src/webhooks/endpoints/endpoint-secrets.ts'
import { type ApiServer, startApi, TOKEN } from '../../support/http/api-server.ts'
import { ask, tokenOf } from '../../support/http/ask.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'
import { EPOCH, eventAt, REPLICA } from '../../support/store.ts'

const URL = 'https://hooks.example/in'
const SECRET = /^whsec_[A-Za-z0-9+/]{43}=$/

async function make(api: ApiServer, wanted: object = {}, by = TOKEN) {
  const answer = await ask(api, by, '/v1/webhooks', 'POST', { url: URL, ...wanted })
  expect([answer.status, answer.body.errors]).toEqual([201, undefined])
  return answer.body
}

function sequenceOf(cursor: string): number {
  return decodeCursor(cursor).sequence
}

describe('creating an endpoint', () => {
  test('returns the documented shape, uses the tenant of the token, and shows the secret only this once', async () => {
    await using api = await startApi({ count: 5 })
    const desk = await tokenOf(api, 'desk')
    const wanted = {
      url: 'https://HOOKS.example:443/a?b=ü',
      description: 'dashboards',
      filter: {
        isins: ['gb00b03mlx29'],
        importance: 'high+',
        types: ['published', 'gap', 'webhook.disabled'],
      },
      headers: { 'X-Key': 'a b', authorization: 'Bearer of-the-receiver' },
      maxConcurrency: 64,
      rateLimit: 0.5,
      order: 'issuer',
      maxBatch: 100,
    }
    const { status, body, headers } = await ask(api, desk, '/v1/webhooks', 'POST', wanted)
    expect(status).toBe(201)
    expect(Object.keys(body)).toEqual([
      'id',
      'tenant',
      'url',
      'description',
      'status',
      'disabledReason',
      'filter',
      'headers',
      'maxConcurrency',
      'rateLimit',
      'order',
      'maxBatch',
      'start',
      'createdAt',
      'health',
      'secret',
    ])
    expect(body).toEqual({
      ...wanted,
      id: expect.stringMatching(/^ep_[0-9a-z]{21}$/),
      tenant: 'desk',
      url: 'https://hooks.example/a?b=%C3%BC',
      status: 'active',
      disabledReason: null,
      filter: { ...wanted.filter, isins: ['GB00B03MLX29'], importance: ['high', 'ultra'] },
      start: api.store.reader.cursorAt(5),
      createdAt: '2026-06-01T06:00:00.000Z',
      health: {
        pending: 0,
        oldestPending: null,
        dead: 0,
        forgotten: 0,
        lastSuccess: null,
        failingSince: null,
        p50Ms: null,
        p95Ms: null,
      },
      secret: expect.stringMatching(SECRET),
    })
    expect(headers.get('location')).toBe(`/v1/webhooks/${body.id}`)
    const { secret, ...shown } = body
    const one = await ask(api, desk, `/v1/webhooks/${body.id}`)
    expect([one.body, one.headers.get('etag')]).toEqual([shown, headers.get('etag')])
    expect((await ask(api, desk, '/v1/webhooks')).body).toEqual({ data: [shown], next: null })
    expect(api.lines.find(({ event }) => event === 'endpoint.created')?.fields).toEqual({
      endpointId: body.id,
      tenant: 'desk',
      by: expect.stringMatching(/^tok_/),
    })
    const kept =
      JSON.stringify([...(await api.log.table(ENDPOINTS_TABLE).load())]) + JSON.stringify(api.lines)
    expect(kept).not.toContain(secret.slice('whsec_'.length))
  })

  test('fills in the documented defaults when only the URL is given', async () => {
    await using api = await startApi()
    expect(await make(api)).toMatchObject({
      tenant: 'default',
      description: null,
      filter: {},
      headers: {},
      maxConcurrency: 8,
      rateLimit: null,
      order: 'none',
      maxBatch: null,
    })
  })

  test('requires the scope to manage endpoints; the read scope only lists them', async () => {
    await using api = await startApi()
    const { id } = await make(api)
    const reader = await tokenOf(api, 'default', ['webhooks:read', 'events:read'])
    const writer = await tokenOf(api, 'default', ['webhooks:write'])
    const refused = await ask(api, reader, '/v1/webhooks', 'POST', { url: URL })
    expect([refused.status, refused.body.detail]).toEqual([403, expect.stringContaining('webhooks:write')])
    for (const [method, path] of [
      ['PATCH', ''],
      ['DELETE', ''],
      ['POST', '/rotate'],
      ['POST', '/enable'],
      ['POST', '/disable'],
    ]) {
      const body = method === 'PATCH' ? {} : undefined
      expect((await ask(api, reader, `/v1/webhooks/${id}${path}`, method, body)).status).toBe(403)
    }
    expect((await ask(api, reader, `/v1/webhooks/${id}`)).status).toBe(200)
    expect((await ask(api, writer, `/v1/webhooks/${id}`)).status).toBe(403)
    expect((await ask(api, writer, '/v1/webhooks/rewrap', 'POST')).status).toBe(403)
  })
})

describe('the start of deliveries', () => {
  const OLD = encodeCursor({ epoch: EPOCH, sequence: 3, timeMs: 0 })

  test.each<[since: (api: ApiServer) => string, after: number]>([
    [() => eventAt(15).time, 14],
    [() => eventAt(15).time.replace(/\.?0*Z$/, '+00:00'), 14],
    [() => '2026-01-06', 10],
    [() => '2020', 10],
    [() => '2026-05-31T12:00', 20],
    [(api) => api.store.reader.cursorAt(17), 17],
    [(api) => api.store.reader.cursorAt(10), 10],
    [() => encodeCursor({ epoch: EPOCH, sequence: 17, timeMs: 7 }), 10],
    [() => encodeCursor({ epoch: 'Another1', sequence: 900, timeMs: eventAt(15).timeMs + 3_600_000 }), 14],
    [() => encodeCursor({ epoch: EPOCH, sequence: 21, timeMs: 0 }), 21],
  ])('follows `since`, as for every reader: %#', async (since, after) => {
    await using api = await startApi({ count: 10, first: 11, replica: REPLICA })
    const { start } = await make(api, { since: since(api) })
    expect(sequenceOf(start)).toBe(after)
    if (after <= 20) expect(start).toBe(api.store.reader.cursorAt(after))
  })

  test('is the current end by default, whatever was published before', async () => {
    await using api = await startApi({ count: 10 })
    expect(sequenceOf((await make(api)).start)).toBe(10)
    api.store.grow(5)
    expect(sequenceOf((await make(api)).start)).toBe(15)
  })

  test('is refused at a cursor beyond retention: 410 with the oldest cursor, as for pull', async () => {
    await using api = await startApi({ count: 10, first: 11 })
    const answer = await ask(api, TOKEN, '/v1/webhooks', 'POST', { url: URL, since: OLD })
    expect([answer.status, answer.body.code, answer.body.oldest]).toEqual([
      410,
      'cursor_too_old',
      api.store.reader.cursorAt(10),
    ])
    const pulled = await ask(api, TOKEN, `/v1/disclosures?after=${OLD}`)
    expect(pulled.body.oldest).toBe(answer.body.oldest)
    expect(api.endpoints.all()).toEqual([])
  })

  test('is refused while this node fills its replica: 503 with Retry-After', async () => {
    const filling = {
      ...{ isLog: false, missing: 1, filling: { sequence: 1, goal: 2, share: 0.5 } },
      untilComplete: async () => undefined,
    }
    await using api = await startApi({ count: 2, reader: ({ reader }) => ({ ...reader, replica: filling }) })
    const answer = await ask(api, TOKEN, '/v1/webhooks', 'POST', { url: URL })
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5'])
    expect(api.endpoints.all()).toEqual([])
  })
})

describe('listing endpoints', () => {
  test('paginates in order of creation, also from a deleted endpoint', async () => {
    await using api = await startApi()
    for (const description of ['a', 'b', 'c', 'd', 'e']) {
      await make(api, { description })
      api.clock.advance(1)
    }
    const first = (await ask(api, TOKEN, '/v1/webhooks?limit=2')).body
    const names = (page: { data: { description: string }[] }) => page.data.map((one) => one.description)
    expect(names(first)).toEqual(['a', 'b'])
    expect((await ask(api, TOKEN, `/v1/webhooks/${first.next}`, 'DELETE')).status).toBe(204)
    const second = (await ask(api, TOKEN, `/v1/webhooks?limit=3&after=${first.next}`)).body
    expect([names(second), second.next]).toEqual([['c', 'd', 'e'], null])
  })

  test('shortens pages of large endpoints, and omits none', async () => {
    await using api = await startApi()
    const isins = Array.from({ length: 9_990 }, (_, index) => `GB${String(index).padStart(10, '0')}`)
    for (let count = 0; count < 40; count += 1) await make(api, { filter: { isins } })
    const ids: string[] = []
    const sizes: number[] = []
    let after = ''
    do {
      const { body, text } = await ask(api, TOKEN, `/v1/webhooks?limit=1000${after}`)
      sizes.push(text.length)
      ids.push(...body.data.map(({ id }: { id: string }) => id))
      after = body.next === null ? '' : `&after=${body.next}`
    } while (after !== '')
    expect([ids.length, new Set(ids).size]).toEqual([40, 40])
    expect(Math.max(...sizes)).toBeLessThan(256 * 1024 + 1000)
  })

  test.each(['?limit=0', '?limit=1001', '?after=x', '?after=tok_000000000000000000000', '?aftr=x'])(
    'is refused with %s',
    async (query) => {
      await using api = await startApi()
      expect((await ask(api, TOKEN, `/v1/webhooks${query}`)).body.code).toBe('parameter_invalid')
    },
  )
})

describe('changing an endpoint', () => {
  test('replaces each given member as a whole; null removes an optional one', async () => {
    await using api = await startApi()
    const { secret, ...made } = await make(api, {
      description: 'x',
      headers: { a: '1' },
      rateLimit: 5,
      filter: { symbols: ['VOD'], hasSymbol: true },
    })
    const change = { headers: { b: '2' }, filter: { symbols: ['bp.'] }, description: null, rateLimit: null }
    const { status, body } = await ask(api, TOKEN, `/v1/webhooks/${made.id}`, 'PATCH', change)
    expect([status, body]).toEqual([200, { ...made, ...change, filter: { symbols: ['BP.'] } }])
    const same = await ask(api, TOKEN, `/v1/webhooks/${made.id}`, 'PATCH', {})
    expect([same.status, same.body]).toEqual([200, body])
    expect(signingSecrets(api.endpoints.get(made.id) ?? never(), api.secrets, 0)).toEqual([secret])
  })

  test('requires a matching If-Match where one is given: otherwise 412 with the current ETag', async () => {
    await using api = await startApi()
    const { id } = await make(api)
    const path = `/v1/webhooks/${id}`
    const seen = (await ask(api, TOKEN, path)).headers.get('etag') ?? ''
    expect(seen).toMatch(/^"[0-9a-f]{16}"$/)
    const patch = (maxConcurrency: number, match: string) =>
      ask(api, TOKEN, path, 'PATCH', { maxConcurrency }, { 'if-match': match })
    const first = await patch(1, seen)
    expect([first.status, first.body.maxConcurrency]).toEqual([200, 1])
    const now = first.headers.get('etag') ?? ''
    expect(now).not.toBe(seen)
    for (const match of [seen, `W/${seen}`, now.slice(1, -1), '""', 'x']) {
      const refused = await patch(2, match)
      expect([refused.status, refused.body.code, refused.headers.get('etag')]).toEqual([
        412,
        'precondition_failed',
        now,
      ])
    }
    expect((await patch(3, `"x", ${now}`)).body.maxConcurrency).toBe(3)
    expect((await patch(4, '*')).body.maxConcurrency).toBe(4)
    // As a proxy gives it on that compresses what it answers.
    const weak = `W/${(await ask(api, TOKEN, path)).headers.get('etag')}`
    expect((await patch(7, weak)).body.maxConcurrency).toBe(7)
    for (const [method, action] of [
      ['DELETE', ''],
      ['POST', '/rotate'],
      ['POST', '/enable'],
      ['POST', '/disable'],
    ] as const) {
      const refused = await ask(api, TOKEN, path + action, method, undefined, { 'if-match': seen })
      expect([method, action, refused.status]).toEqual([method, action, 412])
    }
    const racing = await ask(api, TOKEN, path)
    const tag = racing.headers.get('etag') ?? ''
    const both = await Promise.all([patch(5, tag), patch(6, tag)])
    expect(both.map(({ status }) => status).sort()).toEqual([200, 412])
  })

  test('answers 304 to If-None-Match with the present ETag, and 200 after a change', async () => {
    await using api = await startApi()
    const path = `/v1/webhooks/${(await make(api)).id}`
    const seen = (await ask(api, TOKEN, path)).headers.get('etag') ?? ''
    const asked = (match: string) => ask(api, TOKEN, path, 'GET', undefined, { 'if-none-match': match })
    for (const match of [seen, `W/${seen}`, `"x", ${seen}`, '*']) {
      const same = await asked(match)
      expect([match, same.status, same.text, same.headers.get('etag')]).toEqual([match, 304, '', seen])
    }
    for (const match of ['"x"', seen.slice(1, -1)]) expect((await asked(match)).status).toBe(200)
    await ask(api, TOKEN, path, 'PATCH', { maxConcurrency: 1 })
    expect(await asked(seen)).toMatchObject({ status: 200, body: { maxConcurrency: 1 } })
  })

  test('pauses and resumes by PATCH, disables and enables by separate paths', async () => {
    await using api = await startApi()
    const { id } = await make(api)
    const path = `/v1/webhooks/${id}`
    const state = async (method: string, action: string, body?: object) => {
      const answer = await ask(api, TOKEN, path + action, method, body)
      return [answer.body.status, answer.body.disabledReason]
    }
    expect(await state('PATCH', '', { status: 'paused' })).toEqual(['paused', null])
    expect(await state('POST', '/enable')).toEqual(['active', null])
    expect(await state('POST', '/disable')).toEqual(['disabled', 'requested'])
    expect(await state('PATCH', '', { description: 'still' })).toEqual(['disabled', 'requested'])
    expect(await state('PATCH', '', { status: 'active' })).toEqual(['active', null])
    await api.endpoints.disable(id, api.endpoints.get(id)?.version ?? '', 'gone')
    expect(await state('GET', '')).toEqual(['disabled', 'gone'])
    expect(await state('POST', '/enable')).toEqual(['active', null])
    const wrong = await ask(api, TOKEN, path, 'PATCH', { status: 'disabled' })
    expect([wrong.body.code, wrong.body.errors[0].field]).toEqual(['body_invalid', 'status'])
  })

  test('deletes it once; after that its id is as unknown as any other', async () => {
    await using api = await startApi()
    const { id } = await make(api)
    expect(await ask(api, TOKEN, `/v1/webhooks/${id}`, 'DELETE')).toMatchObject({ status: 204, text: '' })
    const gone = await ask(api, TOKEN, `/v1/webhooks/${id}`, 'DELETE')
    expect([gone.status, gone.body.detail]).toEqual([404, expect.stringContaining('GET /v1/webhooks')])
  })
})

describe('rotating a secret', () => {
  test('keeps the old secret signing beside the new one for a day, not longer', async () => {
    await using api = await startApi()
    const { id, secret: first } = await make(api)
    const signing = () => signingSecrets(api.endpoints.get(id) ?? never(), api.secrets, api.clock.now())
    const rotate = async (): Promise<string> => {
      const { status, body } = await ask(api, TOKEN, `/v1/webhooks/${id}/rotate`, 'POST')
      expect([status, body.secret, body.url]).toEqual([200, expect.stringMatching(SECRET), URL])
      return body.secret
    }
    const second = await rotate()
    expect(signing()).toEqual([second, first])
    api.clock.advance(12 * 3_600_000)
    const third = await rotate()
    expect(signing()).toEqual([third, second, first])
    api.clock.advance(12 * 3_600_000)
    expect(signing()).toEqual([third, second])
    api.clock.advance(12 * 3_600_000)
    expect(signing()).toEqual([third])
    expect(JSON.stringify((await ask(api, TOKEN, `/v1/webhooks/${id}`)).body)).not.toContain('whsec_')
    expect(JSON.stringify(api.lines)).not.toContain('whsec_')
  })

  test('may be repeated without limit: at most the newest four sign', async () => {
    await using api = await startApi()
    const { id } = await make(api)
    const made: string[] = []
    for (let count = 0; count < 6; count += 1) {
      made.unshift((await ask(api, TOKEN, `/v1/webhooks/${id}/rotate`, 'POST')).body.secret)
    }
    const endpoint = api.endpoints.get(id) ?? never()
    expect(signingSecrets(endpoint, api.secrets, api.clock.now())).toEqual(made.slice(0, 4))
  })
})

test('while the endpoints are being loaded every path answers 503 with Retry-After', async () => {
  const log = { table: () => ({ load: () => new Promise(() => {}) }) }
  await using api = await startApi({
    endpoints: new Endpoints({ log: log as never, clock: {} as never, logger: keepingLogger().logger }),
  })
  for (const [method, path, body] of [
    ['POST', '', { url: URL }],
    ['GET', '', undefined],
    ['GET', '/ep_x', undefined],
    ['PATCH', '/ep_x', {}],
    ['DELETE', '/ep_x', undefined],
    ['POST', '/ep_x/rotate', undefined],
    ['POST', '/rewrap', undefined],
  ] as const) {
    const answer = await ask(api, TOKEN, `/v1/webhooks${path}`, method, body)
    expect([method, path, answer.status, answer.headers.get('retry-after')]).toEqual([method, path, 503, '5'])
  }
})

function never(): never {
  throw new Error('there is no such endpoint')
}
