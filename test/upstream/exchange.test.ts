import { expect, test } from 'vitest'
import { readExchange, readExchangePage } from '../../src/upstream/exchange.ts'

test('the text of an entry stays as received; entries without a MIC are counted as unreadable', () => {
  const odd = '{"mic":"XLON", "name":7,\n "country":"GB","since":1.0}'
  const body = `{"data":[${odd},{"mic":"XNYS","city":null},{"mic":"../x"},{"name":"none"},null,5],"meta":{}}`
  const page = readExchangePage(body)
  expect(page).toMatchObject({ ok: true, value: { unreadable: 4, nextCursor: undefined } })
  if (!page.ok) throw new Error(page.reason)
  expect(page.value.exchanges.map(({ mic }) => mic)).toEqual(['XLON', 'XNYS'])
  expect(page.value.exchanges[0]?.text).toBe(odd.replace('\n', ' '))
})

test('an entry or a detail above the size limit is rejected', () => {
  const huge = `{"mic":"XLON","comments":"${'x'.repeat(262_144)}"}`
  expect(readExchangePage(`{"data":[${huge},{"mic":"XNYS"}]}`)).toMatchObject({
    value: { exchanges: [{ mic: 'XNYS' }], unreadable: 1 },
  })
  expect(readExchange(`{"data":${huge}}`, 'XLON').ok).toBe(false)
})

test('the next cursor is a string, null at the end, or undefined when the response has none', () => {
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

test('the text of a detail stays as received, including unknown members', () => {
  const data =
    '{"mic":"XLON","abbreviation":"LSE","website":"WWW","creationDate":"2005-06-27","expiryDate":null,' +
    '"segments":[{"mic":"AIMX","status":"ACTIVE"},{"name":"none"},7],"_links":{"self":"/x"},"more":[1.0]}'
  const read = readExchange(`{"data":0,"warnings":[],"data":${data}}`, 'XLON')
  expect(read).toMatchObject({ ok: true, value: { mic: 'XLON', text: data } })
  expect(read.ok && read.value.value).toMatchObject({ abbreviation: 'LSE', expiryDate: null, website: 'WWW' })
})

test('a response without an exchange, or with another exchange, is rejected', () => {
  for (const body of ['<html>', '[]', '{}', '{"data":null}', '{"data":[]}', '{"data":{"mic":7}}']) {
    expect(readExchange(body, 'XLON').ok).toBe(false)
  }
  expect(readExchange('{"data":{"mic":"XNYS"}}', 'XLON')).toEqual({
    ok: false,
    reason: 'the answer is about XNYS',
  })
  expect(readExchange('{"data":{"mic":"XLON","segments":null,"_links":"x"}}', 'XLON').ok).toBe(true)
})
