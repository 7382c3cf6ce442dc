import { expect, test } from 'vitest'
import { DAY_MS } from '../../../src/core/durations.ts'
import type { NewEvent } from '../../../src/core/event.ts'
import { eventWith, gapAt, inPlace, START_MS } from '../../archive/samples.ts'
import { guids, type Reply } from '../../sandbox/sandbox-client.ts'
import { REPLICA } from '../../support/store.ts'
import { openCopy as openCopyAt } from './replica-server.ts'

/** The bridge's `/v2` a day later, over these events. */
async function openCopy(events: readonly NewEvent[] = []) {
  const copy = await openCopyAt(START_MS + DAY_MS)
  copy.append(...events)
  return copy
}

const published = (guid: string, timeMs = START_MS, headline = 'First') =>
  eventWith({ headline }, guid, timeMs)
const amended = (guid: string, timeMs = START_MS, headline = 'Second') =>
  eventWith({ kind: 'amended', headline }, guid, timeMs)
const pagingOf = (reply: Reply) => reply.body.meta.paging as Record<string, string | null>

test('the list has the latest revision of each item, newest in the log first, and no gaps', async () => {
  const { list, get } = await openCopy([
    published('a'),
    published('b', START_MS + 1000),
    gapAt('x', START_MS + 2000),
    amended('a'),
  ])
  const reply = await list()
  expect(guids(reply)).toEqual(['a', 'b'])
  expect(reply.body.data[0]?.headline).toBe('Second')
  expect((await list('pageNumber=1')).body.meta.paging).toMatchObject({ itemTotal: 2 })
  expect((await get('/a')).body.data).toMatchObject({ headline: 'Second' })
  expect(guids(await list('q=first'))).toEqual(['b'])
})

test('an item published late is never skipped by a poll, and an amended one is returned again', async () => {
  const { list, append } = await openCopy([published('a', START_MS + 5000)])
  const first = pagingOf(await list()).latestCursor
  append(published('late', START_MS), amended('a', START_MS + 5000))
  const poll = await list(`sinceCursor=${first}`)
  expect(guids(poll)).toEqual(['a', 'late'])
  expect(pagingOf(await list(`sinceCursor=${pagingOf(poll).latestCursor}`))).toMatchObject({ count: 0 })
})

test('a poll without dates returns everything after its cursor, however old', async () => {
  const { list, append } = await openCopy([published('a')])
  const since = pagingOf(await list()).latestCursor
  append(published('old', START_MS - 400 * DAY_MS))
  expect(guids(await list(`sinceCursor=${since}`))).toEqual(['old'])
  expect(guids(await list(`sinceCursor=${since}&dateTo=2030`))).toEqual([])
  expect(guids(await list())).toEqual(['a'])
})

test('a page scan returns each item that existed when it began once, with its content at that moment', async () => {
  const { list, append } = await openCopy(
    ['a', 'b', 'c', 'd', 'e', 'f'].map((guid, index) => published(guid, START_MS + index)),
  )
  const first = await list('pageSize=2')
  expect(guids(first)).toEqual(['f', 'e'])
  append(amended('b'), amended('f'), published('new'))
  const second = await list(`pageSize=2&pageCursor=${pagingOf(first).nextCursor}`)
  expect(guids(second)).toEqual(['d', 'c'])
  append(amended('a'))
  const third = await list(`pageSize=2&pageCursor=${pagingOf(second).nextCursor}`)
  expect(guids(third)).toEqual(['b', 'a'])
  expect(third.body.data.map(({ headline }) => headline)).toEqual(['First', 'First'])
  expect(pagingOf(third).nextCursor).toBeNull()
  const poll = await list(`sinceCursor=${pagingOf(first).latestCursor}`)
  expect(guids(poll)).toEqual(['a', 'new', 'f', 'b'])
})

test('a cursor of another log, a changed one and garbage answer 400 in both modes', async () => {
  const { archive, list, append } = await openCopy([published('a'), published('b')])
  const { latestCursor, nextCursor } = pagingOf(await list('pageSize=1'))
  const refused = async (query: string) => {
    const { status, body } = await list(query)
    expect({ query, status, body }).toEqual({
      query,
      status: 400,
      body: { error: { message: expect.any(String), hint: expect.any(String) } },
    })
  }
  await refused(`sinceCursor=${latestCursor?.slice(0, -1)}A`)
  await refused('sinceCursor=rubbish')
  await refused('pageCursor=rubbish')
  await refused(`pageSize=1&pageCursor=${nextCursor}&q=other`)
  archive.clear()
  archive.append(inPlace([published('a'), published('b')], 1, 'Epoch002'))
  await refused(`sinceCursor=${latestCursor}`)
  await refused(`pageSize=1&pageCursor=${nextCursor}`)
  append(published('c'))
  expect(guids(await list())).toEqual(['c', 'b', 'a'])
})

test('a cursor from before a backup was put back answers 400, as one that upstream does not know', async () => {
  const log = await openCopy([published('a'), published('b', START_MS + 1000)])
  const { latestCursor } = pagingOf(await log.list())
  log.archive.clear()
  log.append(published('a'))
  expect((await log.list(`sinceCursor=${latestCursor}`)).status).toBe(400)
  log.append(published('c', START_MS + 2000))
  expect((await log.list(`sinceCursor=${latestCursor}`)).status).toBe(400)

  const replica = await openCopyAt(START_MS + DAY_MS, REPLICA)
  replica.append(published('a'))
  expect(guids(await replica.list(`sinceCursor=${latestCursor}`))).toEqual([])
  replica.append(published('c', START_MS + 2000))
  expect((await replica.list(`sinceCursor=${latestCursor}`)).status).toBe(400)
})

test('differences from upstream are stated in warnings', async () => {
  const { list, get } = await openCopy([published('a')])
  const warned = async (query: string) => (await list(query)).body.warnings ?? []
  const day = new Date(START_MS).toISOString().slice(0, 10)
  expect(await warned(`dateFrom=${day}T07:00`)).toEqual([])
  expect(await warned(`dateFrom=${day}`)).toEqual([expect.stringContaining(`begins at ${day}T07:00:00Z`)])
  expect(await warned('isins=GB00BH4HKS39')).toEqual([expect.stringContaining('begins at')])
  expect(await warned(`dateFrom=${day}T07:00&channel=app`)).toEqual([expect.stringContaining('channel')])
  expect(await warned(`dateFrom=${day}T07:00&pageSise=2`)).toEqual([expect.stringContaining('"pageSize"')])
  const { latestCursor } = pagingOf(await list())
  expect(await warned(`sinceCursor=${latestCursor}`)).toEqual([])
  expect((await get('/a?channel=app')).body).toMatchObject({
    data: { guid: 'a' },
    warnings: [expect.stringContaining('channel was ignored')],
  })
  expect((await get('/a')).body).not.toHaveProperty('warnings')
})

test('a poll from before the retained events is warned once, and only if events may be missing', async () => {
  const { archive, list, append } = await openCopy([
    published('a'),
    published('b', START_MS + 1000),
    published('c', START_MS + 2000),
    published('d', START_MS + 3000),
  ])
  const cursorOf = async (page: number) => pagingOf(await list(`pageSize=1&pageNumber=${page}`)).latestCursor
  const [ofC, ofB, ofA] = [await cursorOf(2), await cursorOf(3), await cursorOf(4)]
  const polled = async (query: string) => {
    const reply = await list(`sinceCursor=${query}`)
    return { guids: guids(reply), warnings: reply.body.warnings ?? [], next: pagingOf(reply).latestCursor }
  }
  expect(await polled(`${ofA}`)).toMatchObject({ guids: ['d', 'c', 'b'], warnings: [] })
  archive.prune(3, 100)
  expect(archive.oldest).toBe(3)
  const old = await polled(`${ofA}`)
  expect(old).toMatchObject({
    guids: ['d', 'c'],
    warnings: [expect.stringMatching(/begins at 2026-01-06T07:00:02Z, later than sinceCursor/)],
  })
  expect((await polled(`${ofA}&pageSize=1`)).warnings).toHaveLength(1)
  expect(await polled(`${ofA}&dateFrom=2026-01-06T07:00:02Z`)).toMatchObject({ warnings: [] })
  expect(await polled(`${ofB}`)).toMatchObject({ guids: ['d', 'c'], warnings: [] })
  expect(await polled(`${ofC}`)).toMatchObject({ guids: ['d'], warnings: [] })
  append(published('e'))
  expect(await polled(`${old.next}`)).toMatchObject({ guids: ['e'], warnings: [] })
  expect((await list('sinceCursor=rubbish')).status).toBe(400)
})

test('an empty replica answers empty lists, and says that it is empty', async () => {
  const { list, get } = await openCopy()
  expect((await list()).body).toEqual({
    data: [],
    meta: { paging: { pageSize: 50, nextCursor: null } },
    warnings: ['This copy holds no items yet.'],
  })
  expect((await list('pageNumber=3')).body.meta.paging).toMatchObject({ itemTotal: 0, pageTotal: 0 })
  expect((await get('/a')).status).toBe(404)
})

/** The event, of an announcement with that number. */
const withNumber = (event: NewEvent): NewEvent => ({
  ...event,
  data: JSON.stringify({ ...JSON.parse(event.data), rnsId: '0123A' }),
})

test('of two guids with one rnsDateId the latest one is found', async () => {
  const { archive, append, get } = await openCopy()
  append(withNumber(published('a')), withNumber(published('b')), published('c'))
  expect(archive.latest).toBe(3)
  expect((await get('/2026-01-06.0123A')).body.data).toMatchObject({ guid: 'b' })
  expect((await get('/2026-01-07.0123A')).status).toBe(404)
})

test('an rnsDateId that only a superseded revision has is not found', async () => {
  const { append, get } = await openCopy([withNumber(published('a'))])
  append(withNumber(amended('a', START_MS + DAY_MS)))
  expect((await get('/2026-01-06.0123A')).status).toBe(404)
  for (const identifier of ['2026-01-07.0123A', 'a']) {
    expect((await get(`/${identifier}`)).body.data).toMatchObject({ headline: 'Second' })
  }
})

test('an item keeps an rnsDateId that another one had too before it was amended', async () => {
  const { append, get } = await openCopy([withNumber(published('a')), withNumber(published('b'))])
  append(withNumber(amended('b', START_MS + DAY_MS)))
  expect((await get('/2026-01-06.0123A')).body.data).toMatchObject({ guid: 'a' })
})
