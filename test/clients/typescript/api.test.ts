/** Tests the client's requests against the real server. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { createApi, type Page } from '../../../clients/typescript/src/api.ts'
import { startApi, TOKEN } from '../../support/http/api-server.ts'

const sequences = ({ data }: Page): number[] => data.map(({ sequence }) => Number(sequence))

test('a pull reads from each start, with a filter, up to an end, forwards and backwards', async () => {
  await using server = await startApi({ count: 40 })
  const api = createApi({ url: `${server.url}/`, token: TOKEN })
  const cursorAt = (sequence: number): string => server.store.reader.cursorAt(sequence)
  const first = await api.pull({ limit: 2 })
  expect([sequences(first), first.cursor, first.more]).toEqual([[1, 2], cursorAt(2), true])
  expect(sequences(await api.pull({ after: first.cursor, limit: 2 }))).toEqual([3, 4])
  expect(sequences(await api.pull({ after: cursorAt(30), until: cursorAt(32) }))).toEqual([31, 32])
  expect(sequences(await api.pull({ since: '2026-01-06T07:00:39Z' }))).toEqual([39, 40])
  expect(sequences(await api.pull({ tail: 2, filter: { fcaCategories: ['FR'] } }))).toEqual([30, 40])
  expect(sequences(await api.pull({ before: cursorAt(10), limit: 2 }))).toEqual([9, 8])
})

test('one event is found by id and by sequence with what the bridge knows; null where there is none', async () => {
  await using server = await startApi({ count: 3 })
  const api = createApi({ url: server.url, token: TOKEN })
  const { data } = await api.pull({ limit: 1 })
  const event = await api.event('1')
  expect(event).toMatchObject({ ...data[0], revisions: [data[0]?.id], replacedBy: null })
  expect(await api.event(data[0]?.id ?? '')).toEqual(event)
  expect(await api.event('no#such/event')).toBeNull()
})

test('an id that no address can carry and an address without the API are no missing event', async () => {
  await using server = await startApi({ count: 3 })
  const api = createApi({ url: server.url, token: TOKEN })
  for (const id of ['', '.', '..']) await expect(api.event(id)).rejects.toThrow(TypeError)
  const elsewhere = createApi({ url: `${server.url}/elsewhere`, token: TOKEN })
  await expect(elsewhere.event('1')).rejects.toMatchObject({
    status: 404,
    code: 'not_found',
    message: expect.stringContaining('no such path'),
  })
})

test('a signal ends a request that waits, with its own reason', async () => {
  await using server = await startApi({ count: 1 })
  const api = createApi({ url: server.url, token: TOKEN })
  const { cursor } = await api.pull()
  const abort = new AbortController()
  const waiting = api.pull({ after: cursor, wait: 30, signal: abort.signal })
  abort.abort(new Error('the page was closed'))
  await expect(waiting).rejects.toThrow('the page was closed')
  await expect(api.event('1', { signal: abort.signal })).rejects.toThrow('the page was closed')
})

test('a refusal has status, code and sentence of the bridge, and says when to try again', async () => {
  await using server = await startApi({ count: 1 })
  const api = createApi({ url: server.url, token: TOKEN })
  await expect(api.pull({ after: 'x' })).rejects.toMatchObject({
    name: 'ApiFailure',
    status: 400,
    code: expect.stringMatching(/^[a-z_]+$/),
    message: expect.stringContaining('cursor'),
  })
  await expect(api.pull({ limit: 0 })).rejects.toMatchObject({ errors: [{ field: 'limit' }] })
  const other = createApi({ url: server.url, token: 'another token' })
  await expect(other.event('1')).rejects.toMatchObject({ status: 401 })
  expect(() => createApi({ url: 'ws://127.0.0.1:1', token: TOKEN })).toThrow(TypeError)

  const proxy = createServer((_request, response) => {
    response.writeHead(503, { 'retry-after': '2' }).end('<html>')
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void proxy.close())
  const behind = createApi({ url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, token: TOKEN })
  await expect(behind.pull()).rejects.toMatchObject({ status: 503, code: null, retryInMs: 2000 })
})
