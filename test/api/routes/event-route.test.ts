import { expect, test } from 'vitest'
import { eventsBetween } from '../../../src/archive/reading/query.ts'
import type { NewEvent } from '../../../src/core/event.ts'
import { eventWith, gapAt, inPlace, START_MS } from '../../archive/samples.ts'
import { type ApiServer, startApi, TOKEN } from '../../support/http/api-server.ts'
import { ask, tokenOf } from '../../support/http/ask.ts'
import { EPOCH, REPLICA } from '../../support/store.ts'

const item = (guid: string, fields: object = {}): NewEvent => eventWith({ fca: ['FR'], ...fields }, guid)

/** Commits these events and shows them to readers. */
function commit({ store }: ApiServer, events: readonly NewEvent[], committedMs?: number): void {
  const { archive, recentEvents } = store
  const before = archive.latest
  const placed = inPlace(events, before + 1, EPOCH)
  archive.append(placed.map((event) => ({ ...event, ...(committedMs && { committedMs }) })))
  recentEvents.push(eventsBetween(archive, before, archive.latest))
}

/** Asks for one event. */
const one = (api: ApiServer, name: string, token = TOKEN) =>
  ask(api, token, `/v1/disclosures/${encodeURIComponent(name)}`)

test('an event is found by its id and by its sequence, as it is in a pull, with how and when it came', async () => {
  await using api = await startApi()
  commit(api, [{ ...item('a'), foundBy: 'fill' }], START_MS)
  const [pulled] = (await ask(api, TOKEN, '/v1/disclosures')).body.data
  const details = {
    revisions: ['a'],
    replacedBy: null,
    topics: ['disclosures.all', 'disclosures.fca.FR'],
    foundBy: 'fill',
    committedTime: new Date(START_MS).toISOString(),
  }
  for (const name of ['a', '1', '00000000000000000001']) {
    expect((await one(api, name)).body).toEqual({ ...pulled, ...details })
  }
})

test('each revision is found by its own id, and names all of them', async () => {
  await using api = await startApi()
  commit(api, [item('a'), item('b'), item('a', { kind: 'amended', headline: 'later' })])
  const [first, second] = [await one(api, 'a'), await one(api, 'a#2')]
  expect([first.body.sequence, second.body.sequence].map(Number)).toEqual([1, 3])
  expect([first.body.revisions, second.body.revisions]).toEqual([
    ['a', 'a#2'],
    ['a', 'a#2'],
  ])
  expect((await one(api, 'a#1')).status).toBe(404)
})

test('a replaced announcement names the newest one that replaces it', async () => {
  await using api = await startApi()
  commit(api, [item('a'), { ...item('b'), replacesid: 'a' }])
  expect((await one(api, 'a')).body.replacedBy).toBe('b')
  expect((await one(api, 'b')).body.replacedBy).toBe(null)
  commit(api, [{ ...item('c'), replacesid: 'a' }])
  expect((await one(api, '1')).body.replacedBy).toBe('c')
})

test('a gap event is found by its id; nobody found it, and it has no revisions', async () => {
  await using api = await startApi()
  commit(api, [item('a'), gapAt('g', START_MS)], START_MS)
  const gap = (await one(api, '2')).body
  expect(gap).toMatchObject({ revisions: [], replacedBy: null, foundBy: null })
  expect(gap.topics).toEqual(['disclosures.all', 'disclosures.gaps'])
  expect((await one(api, gap.id)).body).toEqual(gap)
})

test('an event that an older build wrote answers null for what it did not store', async () => {
  await using api = await startApi({ count: 1 })
  expect((await one(api, '1')).body).toMatchObject({ foundBy: null, committedTime: null })
})

test('an id that looks like a sequence is an id', async () => {
  await using api = await startApi()
  commit(api, [item('2'), item('b')])
  expect((await one(api, '2')).body.id).toBe('2')
  expect((await one(api, '02')).body.id).toBe('b')
})

test('unknown ids, a sequence ahead and nonsense are answered 404, and one no longer kept 410 with where to start', async () => {
  await using api = await startApi({ count: 3, first: 41 })
  const nonsense = [
    '0',
    '-1',
    '1.5',
    '1e3',
    '44',
    '9'.repeat(40),
    'x',
    'x#2',
    'a/b',
    '💥',
    "'--",
    ' 41',
    'gap:x:opened',
  ]
  for (const name of nonsense) {
    const answer = await one(api, name)
    expect([name, answer.status, answer.body.code]).toEqual([name, 404, 'not_found'])
  }
  const dropped = await one(api, '40')
  expect([dropped.status, dropped.body.code]).toEqual([410, 'cursor_too_old'])
  const resumed = await ask(api, TOKEN, `/v1/disclosures?after=${dropped.body.oldest}`)
  expect(Number(resumed.body.data[0].sequence)).toBe(41)
})

test('a token without events:read is refused, and a missing event comes before what else is wrong', async () => {
  await using api = await startApi({ count: 1 })
  const token = await tokenOf(api, 'desk', ['webhooks:read'])
  expect((await one(api, 'x', token)).status).toBe(403)
  expect((await ask(api, TOKEN, '/v1/disclosures/x?y=1')).status).toBe(404)
  expect((await ask(api, TOKEN, '/v1/disclosures/1?y=1')).status).toBe(400)
})

test('a node whose replica is being filled answers 503', async () => {
  const filling = { sequence: 1, goal: 2, share: 0.5 }
  await using api = await startApi({ count: 1, replica: { ...REPLICA, filling } })
  expect((await one(api, '1')).status).toBe(503)
})
