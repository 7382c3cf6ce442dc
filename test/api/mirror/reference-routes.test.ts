import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type ReferenceStore, referenceRoutes } from '../../../src/api/mirror/reference-routes.ts'
import { MirrorRefusal } from '../../../src/api/mirror/refusal.ts'
import { openMirror } from './mirror-server.ts'

interface Body {
  data: { mic: string }[]
  meta: { paging: Record<string, unknown> }
  warnings?: string[]
  error?: { message: string; hint?: string }
}

interface Exchange {
  mic: string
  listed: string
  detail: string
}

const entry = (mic: string): Exchange => ({
  mic,
  listed: `{"mic":"${mic}", "name" : null}`,
  detail: `{"mic":"${mic}","segments":[], "x":1.0}`,
})

/** A server over the entries that `held` returns at each request, and a reader of its list. */
async function open(held: () => readonly Exchange[], unknownParameters: 'ignore' | 'warn' = 'ignore') {
  const store: ReferenceStore = {
    list: () => held().map(({ mic, listed }) => ({ mic, text: listed })),
    detail: (mic) => held().find((exchange) => exchange.mic === mic)?.detail ?? null,
  }
  const refused: string[] = []
  const { url } = await openMirror({
    routes: referenceRoutes(store),
    unknownParameters,
    authenticate: () => null,
    onRefused: (violation) => void refused.push(violation),
  })
  const get = async (path: string, init?: RequestInit) => {
    const response = await fetch(`${url}/references/exchanges${path}`, init)
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, body: JSON.parse(text) as Body }
  }
  return { get, refused }
}

const MIC = fc.string({ unit: fc.constantFrom(...'ABX19'), minLength: 1, maxLength: 4 })
const mics = fc.uniqueArray(MIC, { maxLength: 25 }).map((list) => list.sort())

test('a page scan returns each exchange once and in order, by cursor and by number alike', async () => {
  let held: Exchange[] = []
  const { get } = await open(() => held)
  await fc.assert(
    fc.asyncProperty(mics, fc.integer({ min: 1, max: 30 }), async (listed, pageSize) => {
      held = listed.map(entry)
      const byCursor: string[] = []
      for (let cursor: unknown = ''; cursor !== null; ) {
        const { body } = await get(`?pageSize=${pageSize}${cursor === '' ? '' : `&pageCursor=${cursor}`}`)
        expect(Object.keys(body.meta.paging)).toEqual(['pageSize', 'nextCursor'])
        byCursor.push(...body.data.map(({ mic }) => mic))
        cursor = body.meta.paging.nextCursor
      }
      const byNumber: string[] = []
      const pageTotal = Math.ceil(listed.length / pageSize)
      for (let pageNumber = 1; pageNumber <= pageTotal; pageNumber++) {
        const { body } = await get(`?pageSize=${pageSize}&pageNumber=${pageNumber}`)
        const paging = { pageSize, pageNumber, pageTotal, itemTotal: listed.length }
        expect(body.meta.paging).toEqual(paging)
        byNumber.push(...body.data.map(({ mic }) => mic))
      }
      expect(byCursor).toEqual(listed)
      expect(byNumber).toEqual(listed)
      expect((await get(`?pageSize=${pageSize}&pageNumber=${pageTotal + 1}`)).body.data).toEqual([])
    }),
    { numRuns: 40 },
  )
})

test('a page scan by cursor returns the remaining entries, whatever is added or removed between its pages', async () => {
  let held: Exchange[] = []
  const { get } = await open(() => held)
  await fc.assert(
    fc.asyncProperty(mics, mics, fc.integer({ min: 1, max: 5 }), async (before, after, pageSize) => {
      held = before.map(entry)
      const first = await get(`?pageSize=${pageSize}`)
      held = after.map(entry)
      const met = first.body.data.map(({ mic }) => mic)
      for (let cursor = first.body.meta.paging.nextCursor; cursor !== null; ) {
        const { body } = await get(`?pageSize=${pageSize}&pageCursor=${cursor}`)
        met.push(...body.data.map(({ mic }) => mic))
        cursor = body.meta.paging.nextCursor
      }
      const stayed = before.filter((mic) => after.includes(mic))
      expect(new Set(met).size).toBe(met.length)
      const ended = first.body.meta.paging.nextCursor === null
      const wanted = ended ? first.body.data.map(({ mic }) => mic) : stayed
      expect(met).toEqual(expect.arrayContaining(wanted))
    }),
    { numRuns: 40 },
  )
})

test('entries are sent as stored, fifty a page by default', async () => {
  const many = Array.from({ length: 60 }, (_, index) => entry(`X${100 + index}`))
  const { get } = await open(() => many)
  const list = await get('')
  expect(list.text.startsWith(`{"data":[${many[0]?.listed},`)).toBe(true)
  expect(list.body.data).toHaveLength(50)
  expect((await get('/X101')).text).toBe(`{"data":${many[1]?.detail}}`)
})

test('an unreadable parameter is refused with the remedy; sinceCursor is no parameter here', async () => {
  const { get, refused } = await open(() => [entry('XLON')])
  const statuses: [string, number, RegExp][] = [
    ['?pageSize=0', 400, /pageSize must be a whole number from 1 to 200/],
    ['?pageSize=201', 400, /pageSize/],
    ['?pageNumber=0', 400, /pageNumber/],
    ['?pageNumber=1&pageNumber=2', 400, /given 2 times/],
    ['?pageNumber=1&pageCursor=x', 400, /exclude each other/],
    ['?pageCursor=rubbish', 400, /not a cursor of this service/],
    ['/xlon', 404, /no exchange with this MIC/],
    ['/AIMX', 404, /no exchange with this MIC/],
  ]
  for (const [path, status, message] of statuses) {
    const answer = await get(path)
    expect([path, answer.status]).toEqual([path, status])
    expect(answer.body.error?.message).toMatch(message)
  }
  expect(refused.at(-1)).toBe('not_found')
  expect((await get('?sinceCursor=a')).body.data).toHaveLength(1)
  expect((await get('', { method: 'POST' })).status).toBe(405)
})

test('a page cursor of the item list is refused as one of another query', async () => {
  const { get, refused } = await open(() => [entry('XLON')])
  const foreign = Buffer.from('p100000000XLON').toString('base64url')
  expect((await get(`?pageCursor=${foreign}`)).status).toBe(400)
  expect(refused).toEqual(['page_cursor_of_other_query'])
})

test('a server that warns about unknown parameters names the closest match', async () => {
  const { get } = await open(() => [entry('XLON')], 'warn')
  expect((await get('?cursor=a&pagesize=5')).body.warnings).toEqual([
    expect.stringContaining('cursor was ignored'),
    expect.stringContaining('did you mean "pageSize"'),
  ])
  expect((await get('')).body).not.toHaveProperty('warnings')
  const { body, text } = await get('/XLON?pageSize=5')
  expect(body.warnings).toEqual([expect.stringContaining('pageSize was ignored')])
  expect(text).toContain(entry('XLON').detail ?? 'a detail')
  expect((await get('/XNYS?pageSize=5')).body).not.toHaveProperty('warnings')
})

test('what the store cannot read is answered as it says; a wrong parameter is refused before', async () => {
  const { get, refused } = await open(() => {
    throw new MirrorRefusal(503, 'unavailable', 'not now', 'Try again after the seconds in Retry-After.', 5)
  })
  for (const path of ['', '/XLON']) {
    const answer = await get(path)
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5'])
    expect(answer.body.error?.hint).toContain('Retry-After')
  }
  expect(refused).toEqual(['unavailable', 'unavailable'])
  expect((await get('?pageSize=0')).status).toBe(400)
})
