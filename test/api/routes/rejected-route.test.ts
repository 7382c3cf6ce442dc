import { expect, test } from 'vitest'
import { startApi, TOKEN } from '../../support/http/api-server.ts'
import { ask, tokenOf } from '../../support/http/ask.ts'
import { reject } from '../../support/http/rejected-items.ts'

const item = (number: number, raw = `{"headline":"item ${number}"`) => ({
  raw,
  reason: 'is not JSON',
  guid: number % 2 === 0 ? `guid-${number}` : null,
  recordedtime: `2026-06-01T06:00:0${number}.000Z`,
})

test('rejected items come as they were, newest first, page by page to a null next', async () => {
  await using api = await startApi()
  expect((await ask(api, TOKEN, '/v1/rejected')).body).toEqual({ data: [], next: null, dropped: 0 })
  const items = [1, 2, 3, 4].map((number) => item(number))
  await reject(api, ...items)
  const token = await tokenOf(api, 'desk', ['events:read'])
  expect((await ask(api, token, '/v1/rejected')).body).toEqual({
    data: items.toReversed(),
    next: null,
    dropped: 0,
  })
  const first = (await ask(api, token, '/v1/rejected?limit=2')).body
  expect(first.data).toEqual([items[3], items[2]])
  const second = (await ask(api, token, `/v1/rejected?limit=2&after=${first.next}`)).body
  expect(second).toEqual({ data: [items[1], items[0]], next: null, dropped: 0 })
})

test('large rejected items make short pages, and none is lost', async () => {
  await using api = await startApi()
  const items = [1, 2, 3].map((number) => item(number, `${number}`.repeat(150_000)))
  await reject(api, ...items)
  const first = (await ask(api, TOKEN, '/v1/rejected')).body
  expect(first.data).toEqual([items[2], items[1]])
  expect((await ask(api, TOKEN, `/v1/rejected?after=${first.next}`)).body).toEqual({
    data: [items[0]],
    next: null,
    dropped: 0,
  })
})

test('a token without events:read and a wrong place are refused', async () => {
  await using api = await startApi()
  const token = await tokenOf(api, 'desk', ['webhooks:read'])
  expect((await ask(api, token, '/v1/rejected?after=x')).status).toBe(403)
  expect((await ask(api, TOKEN, '/v1/rejected?after=x')).status).toBe(400)
})
