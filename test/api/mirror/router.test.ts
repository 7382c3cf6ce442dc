import { expect, test } from 'vitest'
import { guids, item } from '../../sandbox/sandbox-client.ts'
import { openMirror } from './mirror-server.ts'

const ITEMS = '/disclosures/sources/rns/items'
const GUID = 'urn:newsml:example:20260203:0123A:1'
const listed = item(GUID, '2026-02-03T07:00:00Z', { rnsId: '0123A', unknown: { kept: [1, 1.5e3] } })

async function ask(url: string, init: RequestInit = {}) {
  const response = await fetch(url, init)
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: text === '' ? null : JSON.parse(text),
  }
}

test('an item is found by guid, raw and percent-encoded, and by rnsDateId', async () => {
  const { url, publish } = await openMirror()
  publish([listed])
  for (const identifier of [GUID, encodeURIComponent(GUID), '2026-02-03.0123A']) {
    expect(await ask(`${url}${ITEMS}/${identifier}`)).toMatchObject({ status: 200, body: { data: listed } })
  }
})

test('an identifier of 16 characters is never read as a guid', async () => {
  const { url, publish } = await openMirror()
  publish([item('guid-of-16-chars', '2026-02-03T07:00:00Z')])
  expect(await ask(`${url}${ITEMS}/guid-of-16-chars`)).toMatchObject({ status: 404 })
})

test('an unknown item or path answers 404 with a hint', async () => {
  const { url } = await openMirror()
  for (const path of [
    `${ITEMS}/urn:none`,
    `${ITEMS}/2026-02-03.9999Z`,
    '/disclosures',
    '/disclosures/sources/RNS/items',
  ]) {
    const { status, body } = await ask(`${url}${path}`)
    expect({ path, status, error: body.error }).toEqual({
      path,
      status: 404,
      error: { message: expect.any(String), hint: expect.any(String) },
    })
  }
})

test('a missing or wrong key answers 401 on every operation', async () => {
  const refused: string[] = []
  const { url } = await openMirror({
    authenticate: () => null,
    onRefused: (violation) => refused.push(violation),
  })
  for (const path of [ITEMS, `${ITEMS}/${GUID}`, `${ITEMS}?pageSize=zero`]) {
    const { status, body } = await ask(`${url}${path}`)
    expect({ status, hint: body.error.hint }).toEqual({
      status: 401,
      hint: expect.stringContaining('x-api-key'),
    })
  }
  expect(refused).toEqual(['unauthorised', 'unauthorised', 'unauthorised'])
})

test('methods other than GET and HEAD answer 405 and name the allowed ones', async () => {
  const { url } = await openMirror()
  for (const path of [ITEMS, `${ITEMS}/${GUID}`]) {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const { status, headers, body } = await ask(`${url}${path}`, { method })
      expect({ status, allow: headers.get('allow'), hint: body.error.hint }).toEqual({
        status: 405,
        allow: 'GET, HEAD',
        hint: 'Use GET.',
      })
    }
    expect((await ask(`${url}${path}`, { method: 'HEAD' })).status).toBeLessThan(405)
  }
})

test('a path that cannot be decoded answers 400, an internal error 500 without its text', async () => {
  const faults: unknown[] = []
  const { url } = await openMirror({
    authenticate: () => {
      throw new Error('secret detail')
    },
    onFault: (error) => faults.push(error),
  })
  expect(await ask(`${url}${ITEMS}/%E0%A4%A`)).toMatchObject({ status: 400 })
  const failed = await ask(`${url}${ITEMS}`)
  expect(failed).toMatchObject({ status: 500, body: { error: { message: 'the server failed' } } })
  expect(faults).toEqual([expect.objectContaining({ message: 'secret detail' })])
})

test('items are returned as stored, byte for byte', async () => {
  const { url, publish } = await openMirror()
  publish([listed])
  expect((await ask(`${url}${ITEMS}`)).text).toContain(`"data":[${JSON.stringify(listed)}]`)
})

test('each paging mode has its own shape', async () => {
  const { publish, list } = await openMirror()
  publish(['c', 'b', 'a'].map((guid, index) => item(guid, `2026-02-03T07:00:0${index}Z`)))
  const cursor = await list('pageSize=2')
  expect(guids(cursor)).toEqual(['a', 'b'])
  const { nextCursor, latestCursor } = cursor.body.meta.paging
  expect(cursor.body.meta).toEqual({
    paging: { pageSize: 2, nextCursor: expect.any(String), latestCursor: expect.any(String) },
  })
  const last = await list(`pageSize=2&pageCursor=${nextCursor}`)
  expect(last.body.meta.paging).toEqual({ pageSize: 2, nextCursor: null, latestCursor: expect.any(String) })
  expect((await list('pageSize=3')).body.meta.paging.nextCursor).toBeNull()
  expect((await list('pageSize=2&pageNumber=2')).body.meta.paging).toEqual({
    pageSize: 2,
    pageNumber: 2,
    pageTotal: 2,
    itemTotal: 3,
    latestCursor: expect.any(String),
  })
  const older = last.body.meta.paging.latestCursor
  expect((await list(`sinceCursor=${older}&pageSize=1`)).body.meta.paging).toEqual({
    pageSize: 1,
    latestCursor,
    count: 1,
    hasMore: true,
  })
  expect((await list(`sinceCursor=${latestCursor}`)).body).toEqual({
    data: [],
    meta: { paging: { pageSize: 50, latestCursor, count: 0, hasMore: false } },
  })
})

test('an empty list has no latest cursor', async () => {
  const { list } = await openMirror()
  expect((await list()).body).toEqual({ data: [], meta: { paging: { pageSize: 50, nextCursor: null } } })
  expect((await list('pageNumber=1')).body.meta.paging).toEqual({
    pageSize: 50,
    pageNumber: 1,
    pageTotal: 0,
    itemTotal: 0,
  })
})
