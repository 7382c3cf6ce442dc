import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readPage, readSingle } from '../../src/upstream/page.ts'

function page(body: string) {
  const read = readPage(body)
  if (!read.ok) throw new Error(read.reason)
  return read.value
}

function reason(body: string): string {
  const read = readPage(body)
  return read.ok ? 'ok' : read.reason
}

test('a valid page returns its items in order, its cursors and its warnings', () => {
  const body = JSON.stringify({
    data: [{ guid: 'b' }, { guid: 'a' }],
    meta: { paging: { pageSize: 2, nextCursor: 'n', latestCursor: 'l', hasMore: true } },
    warnings: ['ignored'],
  })
  expect(page(body)).toEqual({
    items: [
      { text: '{"guid":"b"}', value: { guid: 'b' } },
      { text: '{"guid":"a"}', value: { guid: 'a' } },
    ],
    pageSize: 2,
    nextCursor: 'n',
    latestCursor: 'l',
    hasMore: true,
    warnings: ['ignored'],
  })
})

test('a missing cursor is distinguished from the end of a page scan', () => {
  expect(page('{"data":[]}')).toMatchObject({ nextCursor: undefined, latestCursor: null, hasMore: undefined })
  expect(page('{"data":[],"meta":{"paging":{"nextCursor":null}}}').nextCursor).toBeNull()
  expect(
    page('{"data":[],"meta":{"paging":{"nextCursor":"","latestCursor":7,"hasMore":"yes"}}}'),
  ).toMatchObject({
    nextCursor: undefined,
    latestCursor: null,
    hasMore: undefined,
  })
  expect(page('{"data":[],"meta":[]}').latestCursor).toBeNull()
})

test('the text of an item stays as received: digits, escapes, order of members', () => {
  const text = '{"b":1.0,"a":12345678901234567890,"c":"\\u00e9"}'
  expect(page(`{"data":[ ${text} ]}`).items).toEqual([{ text, value: JSON.parse(text) }])
})

test('an item that is not an object does not make the page invalid', () => {
  expect(page('{"data":[null,1,"x",[],{}]}').items.map((item) => item.value)).toEqual([null, 1, 'x', [], {}])
})

test('a response without a list is rejected with the reason', () => {
  for (const body of ['', 'null', '[]', '3', '"data"', '{}', '{"data":null}', '{"data":{}}']) {
    expect(reason(body)).not.toBe('ok')
  }
  expect(reason('<html>')).toBe('the body is not JSON')
  expect(reason('{"data":[{"guid":"a"')).toBe('the body is not JSON')
  expect(reason('{"data":null}')).toBe('the answer has no list `data`')
  expect(reason('{"__proto__":{"data":[1]}}')).toBe('the answer has no list `data`')
})

test('warnings of any shape are read and cut to 500 characters', () => {
  const odd = page('{"data":[],"warnings":[{"toString":1,"valueOf":2},null,7,["x"]]}').warnings
  expect(odd).toEqual(['{"toString":1,"valueOf":2}', 'null', '7', '["x"]'])
  expect(page(JSON.stringify({ data: [], warnings: ['w'.repeat(900)] })).warnings[0]).toHaveLength(500)
  expect(page('{"data":[],"warnings":"all"}').warnings).toEqual([])
})

test('no JSON value makes the page reader throw', () => {
  const odd = fc.record(
    {
      data: fc.oneof(fc.array(fc.jsonValue()), fc.jsonValue()),
      meta: fc.oneof(fc.record({ paging: fc.jsonValue() }), fc.jsonValue()),
      warnings: fc.oneof(fc.array(fc.jsonValue()), fc.jsonValue()),
    },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(odd, (answer) => {
      const read = readPage(JSON.stringify(answer))
      expect(read.ok).toBe(Array.isArray(answer.data))
      if (read.ok) for (const item of read.value.items) expect(JSON.parse(item.text)).toEqual(item.value)
    }),
  )
})

test('the figures of each paging shape are read, and one of another type counts as absent', () => {
  const read = (paging: object) => page(JSON.stringify({ data: [], meta: { paging } }))
  expect(read({ pageSize: 5, pageNumber: 2, pageTotal: 3, itemTotal: 11 })).toMatchObject({
    ...{ pageSize: 5, pageNumber: 2, pageTotal: 3, itemTotal: 11 },
  })
  expect(read({ pageSize: 5, latestCursor: 'l', count: 0, hasMore: false })).toMatchObject({
    ...{ pageSize: 5, latestCursor: 'l', count: 0, hasMore: false },
  })
  expect(read({ pageSize: '5', itemTotal: 1.5, count: null })).toMatchObject({
    ...{ pageSize: undefined, itemTotal: undefined, count: undefined },
  })
})

test('a single item is read as its text and value; a body without an object in `data` is rejected', () => {
  const text = '{"guid":"a", "version":1.0}'
  expect(readSingle(`{"data":${text}}`)).toEqual({
    ok: true,
    value: { text, value: { guid: 'a', version: 1 } },
  })
  for (const body of ['', 'null', '[]', '{}', '{"data":null}', '{"data":[]}', '{"data":"a"}']) {
    expect(readSingle(body).ok).toBe(false)
  }
})
