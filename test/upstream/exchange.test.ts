import { expect, test } from 'vitest'
import { readExchange, readExchangePage } from '../../src/upstream/exchange.ts'

test('an entry is read tolerantly, and its text stays as it came', () => {
  const odd = '{"mic":"XLON", "name":7,\n "country":"GB","since":1.0}'
  const body = `{"data":[${odd},{"mic":"XNYS","city":null},{"mic":"../x"},{"name":"none"},null,5],"meta":{}}`
  const page = readExchangePage(body)
  expect(page).toMatchObject({ ok: true, value: { unreadable: 4, nextCursor: undefined } })
  if (!page.ok) throw new Error(page.reason)
  expect(page.value.exchanges.map(({ mic, name, country, city }) => [mic, name, country, city])).toEqual([
    ['XLON', null, 'GB', null],
    ['XNYS', null, null, null],
  ])
  expect(page.value.exchanges[0]?.text).toBe(odd.replace('\n', ' '))
})

test('an entry without bounds is left out, and a detail without bounds is none', () => {
  const huge = `{"mic":"XLON","comments":"${'x'.repeat(262_144)}"}`
  expect(readExchangePage(`{"data":[${huge},{"mic":"XNYS"}]}`)).toMatchObject({
    value: { exchanges: [{ mic: 'XNYS' }], unreadable: 1 },
  })
  expect(readExchange(`{"data":${huge}}`, 'XLON').ok).toBe(false)
})

test('the next page is where the answer says, or nowhere, or unsaid', () => {
  const next = (paging: string) => {
    const page = readExchangePage(`{"data":[],"meta":{"paging":${paging}}}`)
    return page.ok ? page.value.nextCursor : page.reason
  }
  expect([next('{"nextCursor":"a"}'), next('{"nextCursor":null}'), next('{}')]).toEqual([
    'a',
    null,
    undefined,
  ])
  expect(readExchangePage('<html>').ok).toBe(false)
  expect(readExchangePage('{"data":null}').ok).toBe(false)
})

test('a detail brings its segments and its link; unknown members stay in the text', () => {
  const data =
    '{"mic":"XLON","abbreviation":"LSE","website":"WWW","creationDate":"2005-06-27","expiryDate":null,' +
    '"segments":[{"mic":"AIMX","status":"ACTIVE"},{"name":"none"},7],"_links":{"self":"/x"},"more":[1.0]}'
  const read = readExchange(`{"data":0,"warnings":[],"data":${data}}`, 'XLON')
  expect(read).toEqual({
    ok: true,
    value: {
      ...{ mic: 'XLON', name: null, country: null, city: null, status: null, comments: null, text: data },
      ...{ abbreviation: 'LSE', website: 'WWW', creationDate: '2005-06-27', lastUpdateDate: null },
      ...{ expiryDate: null, segments: [{ mic: 'AIMX', name: null, status: 'ACTIVE' }], self: '/x' },
    },
  })
})

test('an answer that is no exchange, or another one, is not kept for the one asked for', () => {
  for (const body of ['<html>', '[]', '{}', '{"data":null}', '{"data":[]}', '{"data":{"mic":7}}']) {
    expect(readExchange(body, 'XLON').ok).toBe(false)
  }
  expect(readExchange('{"data":{"mic":"XNYS"}}', 'XLON')).toEqual({
    ok: false,
    reason: 'the answer is about XNYS',
  })
  expect(readExchange('{"data":{"mic":"XLON","segments":null,"_links":"x"}}', 'XLON')).toMatchObject({
    value: { segments: [], self: null },
  })
})
