import fc from 'fast-check'
import { expect, test } from 'vitest'
import { atOnce } from '../../src/lifecycle/slices.ts'
import { readPage, readSingle } from '../../src/upstream/page.ts'

function page(body: string) {
  const read = atOnce(readPage(body))
  if (!read.ok) throw new Error(read.reason)
  return read.value
}

function reason(body: string): string {
  const read = atOnce(readPage(body))
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
  expect(reason('<html>')).toBe('the body is not a JSON object')
  expect(reason('{"data":[{"guid":"a"')).toBe('the body is not a JSON object')
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
      const read = atOnce(readPage(JSON.stringify(answer)))
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

test('a body is a page exactly where JSON.parse finds an object with a list, whatever was changed in it', () => {
  const whole = JSON.stringify({
    data: [{ a: ['"', '\\'] }, [1.5, -2e3], 'x', null],
    meta: { paging: {} },
    more: true,
  })
  const change = fc.record({
    at: fc.nat(whole.length),
    drop: fc.nat(3),
    add: fc.string({
      unit: fc.constantFrom('"', '\\', '{', '}', '[', ']', ',', ':', ' ', '0', 't'),
      maxLength: 3,
    }),
  })
  fc.assert(
    fc.property(fc.array(change, { maxLength: 3 }), (changes) => {
      let body = whole
      for (const { at, drop, add } of changes) body = body.slice(0, at) + add + body.slice(at + drop)
      const read = atOnce(readPage(body))
      expect(read.ok ? read.value.items.map(({ value }) => value) : null).toEqual(listIn(body))
    }),
    { numRuns: 3000 },
  )
})

/** The list that JSON.parse finds in `data`; null where there is none. */
function listIn(body: string): unknown[] | null {
  try {
    const { data } = JSON.parse(body)
    return Array.isArray(data) ? data : null
  } catch {
    return null
  }
}

test('a cursor above the limit is no cursor, and a warning says so', () => {
  const withCursors = (length: number): string => {
    const cursor = 'c'.repeat(length)
    return JSON.stringify({
      data: [1],
      meta: { paging: { nextCursor: cursor, latestCursor: cursor, hasMore: true } },
    })
  }
  expect(page(withCursors(4096))).toMatchObject({ latestCursor: 'c'.repeat(4096), warnings: [] })
  const read = page(withCursors(4097))
  expect(read).toMatchObject({ nextCursor: undefined, latestCursor: null, hasMore: true })
  expect(read.warnings).toEqual([
    '`nextCursor` has 4097 characters, more than 4096, and is ignored',
    '`latestCursor` has 4097 characters, more than 4096, and is ignored',
  ])
  expect(page(withCursors(10_000_000))).toMatchObject({
    items: [{ text: '1', value: 1 }],
    nextCursor: undefined,
    latestCursor: null,
    warnings: ['a member of the answer is too long and is ignored: "meta":{"paging":{"nextCursor":"cccccccc'],
  })
})

test('an item above half a megabyte is not parsed, and keeps its text and its guid', () => {
  const large = (guid: string) => `{"a":{"guid":"inner"},"guid":${guid},"text":"${'é'.repeat(300_000)}"}`
  const read = (text: string) => page(`{"data":[${text},{"guid":"b"}]}`).items
  const fault = 'larger than 524288 bytes'
  expect(read(large('"g"'))).toEqual([
    { text: large('"g"'), value: { guid: 'g' }, fault },
    { text: '{"guid":"b"}', value: { guid: 'b' } },
  ])
  expect(read(large(`"${'g'.repeat(10_000)}"`))[0]?.value).toBeNull()
  expect(read(`[${large('1')}]`)[0]).toMatchObject({ value: null, fault })
})

test('an item may be nested as deep as it has characters', () => {
  const deep = `{"guid":"g","deep":${'['.repeat(250_000)}${']'.repeat(250_000)}}`
  expect(page(`{"data":[${deep}]}`).items[0]).toMatchObject({ text: deep, value: { guid: 'g' } })
})

test('an answer with too many items, or too much besides them, is invalid', () => {
  const items = (count: number): string => `{"data":[${'0,'.repeat(count - 1)}0]}`
  expect(page(items(5000)).items).toHaveLength(5000)
  expect(reason(items(5001))).toBe('the answer has more than 5000 items')
  const members = Array.from({ length: 200_000 }, (_, number) => `"m${number}":[]`).join(',')
  expect(reason(`{"data":[],${members}}`)).toBe(
    'the answer has more than 1048576 characters besides its items',
  )
  const warnings = Array.from({ length: 50 }, (_, number) => `w${number}`)
  expect(page(JSON.stringify({ data: [], warnings })).warnings).toEqual(warnings.slice(0, 20))
})
