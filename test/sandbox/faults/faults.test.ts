import { describe, expect, test } from 'vitest'
import { faultKinds } from '../../../src/sandbox/faults/fault-kinds.ts'
import { guids, openSandbox } from '../sandbox-client.ts'
import { watch, withItems } from './faulty-sandbox.ts'

const LIST = '/disclosures/sources/rns/items'

/** Seconds, zero, negative, fractional, huge, text, empty, a date in the past and one in the future. */
const retryAfterForms = [
  ...['1', '0', '-1', '0.5', '1e9', '99999999999999999999', 'NaN', 'soon', ''],
  ...['Wed, 21 Oct 2015 07:28:00 GMT', 'Tue, 03 Feb 2099 10:00:55 GMT'],
]

describe('each kind of fault, as a client sees it', () => {
  for (const kind of ['throttle-429', 'quota-429'] as const) {
    test(`${kind} with any Retry-After, or none, and the same body`, async () => {
      const { sandbox, list } = await withItems()
      for (const retryAfter of [...retryAfterForms, undefined]) {
        sandbox.faults.add({ kind, ...(retryAfter === undefined ? {} : { retryAfter }) })
        const { status, headers, body } = await list()
        expect([status, headers.get('retry-after'), body.error?.message]).toEqual([
          429,
          retryAfter ?? null,
          'too many requests',
        ])
      }
      expect((await list()).status).toBe(200)
    })
  }

  test('a simulated throttle costs a unit, a simulated quota 429 or revoked key does not', async () => {
    const { sandbox, list } = await openSandbox()
    sandbox.faults.add({ kind: 'throttle-429' })
    sandbox.faults.add({ kind: 'quota-429', count: 2 })
    sandbox.faults.add({ kind: 'status', status: 401 })
    for (let time = 0; time < 4; time++) await list()
    expect(sandbox.usage()).toMatchObject({
      units: 1,
      throttled: 0,
      quotaRefused: 0,
      faults: { 'throttle-429': 1, 'quota-429': 2, status: 1 },
    })
  })

  test('status: this many failures, then normal service', async () => {
    const { sandbox, list } = await openSandbox()
    for (const status of [500, 503, 403, 401]) sandbox.faults.add({ kind: 'status', status, count: 2 })
    const seen: number[] = []
    for (let time = 0; time < 9; time++) seen.push((await list()).status)
    expect(seen).toEqual([500, 500, 503, 503, 403, 403, 401, 401, 200])
  })

  test('hang-before: no headers until the client disconnects', async () => {
    const opened = await openSandbox()
    opened.sandbox.faults.add({ kind: 'hang-before' })
    const hanging = watch(opened)
    await opened.list()
    while (opened.sandbox.usage().requests < 2) await opened.list()
    expect(hanging.text()).toBe('')
    hanging.leave()
    expect(await hanging.ended).toBe('no answer')
  })

  test('hang-inside: half a body, then silence', async () => {
    const opened = await withItems()
    opened.sandbox.faults.add({ kind: 'hang-inside' })
    const hanging = watch(opened)
    await hanging.some
    expect(hanging.text()).toMatch(/^\{"data":\[/)
    expect(() => JSON.parse(hanging.text())).toThrow()
    await opened.sandbox.close()
    expect(await hanging.ended).toBe('cut')
  })

  test('drip: one byte at a time in real time', async () => {
    const opened = await withItems()
    opened.sandbox.faults.add({ kind: 'drip', intervalMs: 50 })
    const dripping = watch(opened)
    await dripping.some
    expect(dripping.text()).toBe('{')
    const more = watch(opened)
    await more.ended
    opened.clock.advance(100)
    expect(opened.clock.nextTimerMs()).toBe(50)
    opened.clock.advance(60_000_000)
    expect(await dripping.ended).toBe('complete')
    expect(JSON.parse(dripping.text()).data).toHaveLength(10)
    expect(opened.clock.nextTimerMs()).toBeNull()
  })

  test('truncate: a complete response with half of the JSON', async () => {
    const opened = await withItems()
    opened.sandbox.faults.add({ kind: 'truncate' })
    const cut = watch(opened)
    expect(await cut.ended).toBe('complete')
    expect(() => JSON.parse(cut.text())).toThrow()
  })

  test('html-200: an HTML page instead of JSON', async () => {
    const { sandbox } = await openSandbox()
    sandbox.faults.add({ kind: 'html-200' })
    const response = await fetch(`${sandbox.url}${LIST}`, { headers: { 'x-api-key': sandbox.key } })
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(await response.text()).toMatch(/^<!doctype html>/)
  })

  test('reset: the connection breaks', async () => {
    const opened = await openSandbox()
    opened.sandbox.faults.add({ kind: 'reset' })
    expect(await watch(opened).ended).toBe('no answer')
    expect((await opened.list()).status).toBe(200)
  })

  test('refuse-cursor: polling gets 400, paging by pageCursor still works', async () => {
    const { sandbox, list, cursor } = await withItems()
    sandbox.faults.add({ kind: 'refuse-cursor' })
    expect((await list()).status).toBe(200)
    const refused = await list({ sinceCursor: cursor })
    expect([refused.status, refused.body.error?.hint]).toEqual([
      400,
      'List without a cursor to get a new one.',
    ])
    expect((await list({ sinceCursor: cursor })).status).toBe(200)
  })

  test('repeat-page: pageCursor leads back to the same page', async () => {
    const { sandbox, list } = await withItems()
    sandbox.faults.add({ kind: 'repeat-page', count: 3 })
    const first = await list({ pageSize: 2 })
    const pageCursor = String(first.body.meta.paging.nextCursor)
    const second = await list({ pageSize: 2, pageCursor })
    expect(second.body.meta.paging.nextCursor).toBe(pageCursor)
    expect(guids(await list({ pageSize: 2, pageCursor }))).toEqual(guids(second))
    expect((await list({ pageSize: 2, pageCursor })).body.meta.paging.nextCursor).not.toBe(pageCursor)
  })

  test('stuck-cursor: a poll returns items but the same cursor as in the request', async () => {
    const { sandbox, list, cursor } = await withItems()
    sandbox.faults.add({ kind: 'stuck-cursor' })
    const stuck = await list({ sinceCursor: cursor })
    expect(guids(stuck)).toHaveLength(3)
    expect(stuck.body.meta.paging.latestCursor).toBe(cursor)
    expect((await list({ sinceCursor: cursor })).body.meta.paging.latestCursor).not.toBe(cursor)
  })

  test('null-data: a response without the list but with all other members', async () => {
    const { sandbox, list } = await withItems()
    sandbox.faults.add({ kind: 'null-data' })
    const { status, body } = await list()
    expect([status, body.data, body.meta.paging.pageSize]).toEqual([200, null, 50])
  })

  test('ignore-filters: 200 with the whole market, and a warning only if configured', async () => {
    const { sandbox, list } = await withItems()
    expect(guids(await list('isins=GB01'))).toEqual([])
    sandbox.faults.add({ kind: 'ignore-filters' })
    const { status, body } = await list('isins=GB01')
    expect([status, body.data.length, body.warnings]).toEqual([200, 10, undefined])
    sandbox.faults.add({ kind: 'ignore-filters', warning: 'isins ignored' })
    const warned = await list('isins=GB01')
    expect([warned.body.data.length, warned.body.warnings]).toEqual([10, ['isins ignored']])
  })
})

describe('the list of active faults', () => {
  test('keeps a fault for its count, for its time or until it is removed', async () => {
    const { sandbox, clock, list } = await openSandbox()
    const { faults } = sandbox
    faults.add({ kind: 'status', forMs: 1_000 })
    expect([(await list()).status, (await list()).status]).toEqual([500, 500])
    clock.advance(1_000)
    expect([(await list()).status, faults.list()]).toEqual([200, []])
    const { id } = faults.add({ kind: 'status', count: 9 })
    await list()
    expect(faults.list()).toEqual([{ id, setting: { kind: 'status', count: 9 }, met: 1, left: 8 }])
    expect([faults.remove(id), faults.remove(id), (await list()).status]).toEqual([1, 0, 200])
  })

  test('applies a fault only to requests whose path and query contain its text', async () => {
    const { sandbox, list, get } = await openSandbox()
    sandbox.faults.add({ kind: 'status', path: 'sinceCursor=', count: 5 })
    sandbox.faults.add({ kind: 'status', path: '/items/urn', status: 503 })
    expect((await list()).status).toBe(200)
    expect((await list('sinceCursor=x')).status).toBe(500)
    expect((await get(`${LIST}/urn:none`)).status).toBe(503)
  })

  test('is served on the admin port, and rejects an unknown fault with the nearest match', async () => {
    const { admin, list } = await openSandbox()
    for (const kind of faultKinds) expect((await admin('POST', '/faults', { kind })).status).toBe(200)
    expect((await admin('GET', '/faults')).body).toMatchObject({
      faults: faultKinds.map((kind) => ({ setting: { kind } })),
    })
    expect((await admin('DELETE', '/faults')).body).toEqual({ removed: faultKinds.length })
    expect((await admin('GET', '/faults')).body).toEqual({ faults: [] })
    const added: { id: number } = (await admin('POST', '/faults', { kind: 'status', status: 503 })).body
    expect((await admin('DELETE', `/faults/${added.id}`)).body).toEqual({ removed: 1 })
    const wrong = await admin('POST', '/faults', { kind: 'throtle-429', count: 0, colour: 'red' })
    expect(wrong).toMatchObject({
      status: 400,
      body: { error: { message: 'unknown kind of fault – did you mean "throttle-429"?' } },
    })
    const text = JSON.stringify(wrong.body)
    for (const field of ['kind', 'count', 'colour']) expect(text).toContain(field)
    const splitting = await admin('POST', '/faults', { kind: 'throttle-429', retryAfter: '1\r\nx: y' })
    expect(splitting.status).toBe(400)
    expect((await list()).status).toBe(200)
  })
})

test('closing cuts every connection, including hanging ones, and can be called twice', async () => {
  const opened = await openSandbox()
  opened.sandbox.faults.add({ kind: 'hang-before' })
  const hanging = watch(opened)
  while (opened.sandbox.usage().faults['hang-before'] === 0)
    await new Promise((resolve) => setImmediate(resolve))
  await Promise.all([opened.sandbox.close(), opened.sandbox.close()])
  expect(await hanging.ended).toBe('no answer')
})
