import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { type AttemptRecord, attemptPage } from '../../../src/webhooks/attempts/attempt-record.ts'
import { type ApiServer, startApi, TOKEN, until } from '../../support/http/api-server.ts'
import { ask, tokenOf } from '../../support/http/ask.ts'
import { EPOCH } from '../../support/store.ts'
import { recordOf } from '../../support/webhooks/attempted.ts'

const NOW_MS = Date.UTC(2026, 5, 1, 6)

/** An endpoint with attempts in the journal. */
async function worldOf(api: ApiServer, ...attempts: Partial<AttemptRecord>[]) {
  const { body } = await ask(api, TOKEN, '/v1/webhooks', 'POST', { url: 'https://hooks.example/in' })
  const path = `/v1/webhooks/${body.id}`
  const records = attempts.map((parts, at) =>
    recordOf({ endpointId: body.id, atMs: NOW_MS - 9000 + at, ...parts }),
  )
  await api.attempts.append([attemptPage(EPOCH, records)])
  const get = (query: string, token = TOKEN) => ask(api, token, `${path}${query}`)
  await until(async () => (await get('/attempts')).body.data.length === attempts.length)
  return { id: body.id as string, get }
}

const failure = {
  status: 503,
  outcome: 'server_error',
  result: 'retry',
  dueMs: NOW_MS + 5000,
  response: 'later',
} as const

describe('GET /v1/webhooks/{id}/attempts', () => {
  test('lists attempts in the documented shape, newest first', async () => {
    await using api = await startApi({ count: 3 })
    const { get } = await worldOf(
      api,
      { sequence: 1, ...failure, phase: 'head' },
      { sequence: 2, durationMs: 7, webhookId: 'msg_2' },
    )
    const { status, body } = await get('/attempts')
    expect([status, body]).toEqual([
      200,
      {
        data: [
          {
            id: expect.stringMatching(/^att_[0-9a-z]{21}$/),
            eventId: 'e2',
            webhookId: 'msg_2',
            attempt: 1,
            at: '2026-06-01T05:59:51.001Z',
            status: 204,
            outcome: 'ok',
            durationMs: 7,
            phase: 'body',
            response: null,
          },
          expect.objectContaining({
            eventId: 'e1',
            status: 503,
            outcome: 'server_error',
            phase: 'head',
            response: 'later',
          }),
        ],
        next: null,
      },
    ])
    const [first, second] = body.data
    expect(first.id > second.id).toBe(true)
  })

  test('gives an attempt of a build that did not store the webhook-id the one that build sent', async () => {
    await using api = await startApi({ count: 3 })
    const { id, get } = await worldOf(api, { sequence: 1, webhookId: null })
    const sent = createHash('sha256').update(`${id}\ne1`).digest('hex').slice(0, 32)
    expect((await get('/attempts')).body.data).toMatchObject([{ eventId: 'e1', webhookId: `msg_${sent}` }])
  })

  test('paginates, and filters by outcome', async () => {
    await using api = await startApi({ count: 9 })
    const { get } = await worldOf(
      api,
      ...Array.from({ length: 7 }, (_, at) => ({ sequence: at + 1, ...(at % 3 === 0 && { ...failure }) })),
    )
    const found: string[] = []
    let next = ''
    do {
      const { body } = await get(`/attempts?limit=2${next === '' ? '' : `&after=${next}`}`)
      found.push(...body.data.map(({ eventId }: { eventId: string }) => eventId))
      next = body.next
    } while (next !== null)
    expect(found).toEqual(['e7', 'e6', 'e5', 'e4', 'e3', 'e2', 'e1'])
    const failed = (await get('/attempts?outcome=timeout,server_error')).body.data
    expect(failed.map(({ eventId }: { eventId: string }) => eventId)).toEqual(['e7', 'e4', 'e1'])
  })

  test('shortens pages of large answers of receivers to 256 KB, and omits none', async () => {
    await using api = await startApi({ count: 9 })
    // What control characters of a receiver take in JSON.
    const response = '\u0001'.repeat(1024)
    const many = Array.from({ length: 90 }, (_, at) => ({ ...failure, sequence: at + 1, response }))
    const { get } = await worldOf(api, { sequence: 1 })
    const { id } = (await ask(api, TOKEN, '/v1/webhooks')).body.data[0]
    const records = many.map((parts, at) => recordOf({ endpointId: id, atMs: NOW_MS - 8000 + at, ...parts }))
    for (const half of [records.slice(0, 45), records.slice(45)]) {
      await api.attempts.append([attemptPage(EPOCH, half)])
    }
    await until(async () => (await get('/attempts?limit=1')).body.data[0].eventId === 'e90')
    const sizes: number[] = []
    const found: string[] = []
    for (let next: string | null = ''; next !== null; ) {
      const { body } = await get(`/attempts?limit=1000${next === '' ? '' : `&after=${next}`}`)
      sizes.push(JSON.stringify(body).length)
      found.push(...body.data.map(({ eventId }: { eventId: string }) => eventId))
      next = body.next
    }
    expect(Math.max(...sizes)).toBeLessThan(256 * 1024 + 1000)
    expect(found).toEqual([...many.map(({ sequence }) => `e${sequence}`).reverse(), 'e1'])
  })

  test('lists those of one event, page by page, also of another epoch', async () => {
    await using api = await startApi({ count: 9 })
    const { id, get } = await worldOf(
      api,
      { sequence: 1 },
      ...[1, 2, 3].map((attempt) => ({ sequence: 2, attempt, ...failure })),
      { sequence: 3 },
      { sequence: 2, attempt: 4 },
    )
    const before = { endpointId: id, epoch: 'Epoch000', sequence: 7, eventId: 'e2', atMs: NOW_MS - 20_000 }
    await api.attempts.append([attemptPage('Epoch000', [recordOf(before)])])
    const list = async (query: string) => {
      const { body } = await get(`/attempts?eventId=e2${query}`)
      const tries = body.data.map(({ eventId, attempt }: { eventId: string; attempt: number }) => [
        eventId,
        attempt,
      ])
      return { tries, next: body.next as string }
    }
    await until(async () => (await list('')).tries.length === 5)
    const all = [4, 3, 2, 1, 1].map((attempt) => ['e2', attempt])
    expect((await list('')).tries).toEqual(all)
    const first = await list('&limit=2')
    expect([first.tries, (await list(`&after=${first.next}`)).tries]).toEqual([all.slice(0, 2), all.slice(2)])
    expect((await list('&outcome=ok')).tries).toEqual([all[0], all[4]])
    expect((await get('/attempts?eventId=e')).body).toEqual({ data: [], next: null })
    expect((await get('/attempts?eventId=e2&eventId=e3')).status).toBe(400)
  })
})

describe('GET /v1/webhooks/{id}/deliveries', () => {
  test('lists the state of each delivery in the documented shape, newest event first', async () => {
    await using api = await startApi({ count: 9 })
    const { get } = await worldOf(
      api,
      { sequence: 1, ...failure },
      { sequence: 2, attempt: 9, outcome: 'timeout', status: null, result: 'dead' },
      { sequence: 3, ...failure },
      { sequence: 3, attempt: 2 },
      { sequence: 4, status: 410, outcome: 'gone', result: 'gone' },
    )
    const pending = {
      eventId: 'e1',
      sequence: 1,
      state: 'pending',
      attempts: 1,
      nextAttempt: '2026-06-01T06:00:05.000Z',
      lastStatus: 503,
    }
    const { body } = await get('/deliveries')
    expect(body).toEqual({
      data: [
        { eventId: 'e4', sequence: 4, state: 'pending', attempts: 1, nextAttempt: null, lastStatus: 410 },
        { eventId: 'e3', sequence: 3, state: 'delivered', attempts: 2, nextAttempt: null, lastStatus: 204 },
        { eventId: 'e2', sequence: 2, state: 'dead', attempts: 9, nextAttempt: null, lastStatus: null },
        pending,
      ],
      next: null,
    })
    expect((await get('/deliveries?state=pending&after=4')).body).toEqual({ data: [pending], next: null })
    const page = (await get('/deliveries?state=dead,delivered&limit=1')).body
    expect([page.data[0].sequence, page.next]).toEqual([3, '3'])
  })
})

test.each([
  ['/attempts?outcome=tls,timout', 'outcome', /did you mean "timeout"/],
  ['/attempts?outcome=', 'outcome', /empty/],
  ['/attempts?after=x', 'after', /not a `next`/],
  ['/attempts?after=zzzzzzzzzz-zzzzzzzzzzz-1', 'after', /not a `next`/],
  ['/attempts?limit=1001', 'limit', /from 1 to 1000/],
  ['/attempts?state=dead', 'state', /not a parameter/],
  ['/deliveries?state=deed', 'state', /did you mean "dead"/],
  ['/deliveries?after=-1', 'after', /not a `next`/],
  ['/deliveries?outcome=ok', 'outcome', /not a parameter/],
])('%s is refused', async (query, field, message) => {
  await using api = await startApi()
  const { get } = await worldOf(api)
  const { status, body } = await get(query)
  expect([status, body.code, body.errors]).toEqual([
    400,
    'parameter_invalid',
    [{ field, message: expect.stringMatching(message) }],
  ])
})

test('the id is checked before the rest of the request, and the scope is the one for reading', async () => {
  await using api = await startApi()
  const { get } = await worldOf(api)
  for (const path of ['/attempts', '/deliveries']) {
    expect((await get(`${path}?limit=none`, await tokenOf(api, 'other'))).status).toBe(404)
    expect((await get(path, await tokenOf(api, 'default', ['webhooks:write']))).status).toBe(403)
    expect((await get(path, await tokenOf(api, 'default', ['webhooks:read']))).status).toBe(200)
  }
})
