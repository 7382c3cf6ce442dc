/** Tests a corpus of bad inputs over a real socket: each is refused with a readable error, and nothing is stored. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { encodeCursor } from '../../../src/core/cursor.ts'
import { type ApiServer, startApi, TOKEN } from '../../support/http/api-server.ts'
import { ask, tokenOf } from '../../support/http/ask.ts'

const URL = 'https://hooks.example/in'
const CUT = encodeCursor({ epoch: 'Epoch001', sequence: 1, timeMs: 0 }).slice(0, -1)
let api: ApiServer
let id: string

beforeAll(async () => {
  api = await startApi({ count: 3 })
  id = (await ask(api, TOKEN, '/v1/webhooks', 'POST', { url: URL })).body.id
})
afterAll(() => api[Symbol.asyncDispose]())

/** The body as JSON text, for what JavaScript values cannot express. */
function whole(members: string): string {
  return `{"url":"${URL}"${members}}`
}

function many(count: number, value: string): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, value]))
}

type Row = [what: string, body: unknown, code: string, field: string | null, words: RegExp]

const bodies: Row[] = [
  ['no JSON', '{"url":', 'body_malformed', null, /not JSON/],
  ['a list', '[]', 'body_invalid', null, /JSON object/],
  ['null', 'null', 'body_invalid', null, /JSON object/],
  ['a name twice', whole(`,"url":"${URL}"`), 'body_malformed', null, /"url" twice/],
  ['a header twice', whole(',"headers":{"a":"1","a":"2"}'), 'body_malformed', null, /"a" twice/],
  [
    'depth 10,000',
    whole(`,"filter":${'['.repeat(10_000)}${']'.repeat(10_000)}`),
    'body_malformed',
    null,
    /deeper/,
  ],
  ['300 KB', whole(`,"description":"${'x'.repeat(300_000)}"`), 'body_too_large', null, /262144 bytes/],
  ['__proto__', whole(',"__proto__":{"admin":true}'), 'body_invalid', '__proto__', /not a member/],
  ['constructor', whole(',"constructor":{}'), 'body_invalid', 'constructor', /not a member/],
  ['a near match', { url: URL, fliter: {} }, 'body_invalid', 'fliter', /mean "filter"/],
  ['its tenant', { url: URL, tenant: 'other' }, 'body_invalid', 'tenant', /not a member/],
  ['its secret', { url: URL, secret: 'whsec_x' }, 'body_invalid', 'secret', /not a member/],
  ['1e400 at a time', whole(',"maxConcurrency":1e400'), 'body_invalid', 'maxConcurrency', /1 to 64/],
  ['0 at a time', { url: URL, maxConcurrency: 0 }, 'body_invalid', 'maxConcurrency', /1 to 64/],
  ['65 at a time', { url: URL, maxConcurrency: 65 }, 'body_invalid', 'maxConcurrency', /1 to 64/],
  ['half a one at a time', { url: URL, maxConcurrency: 1.5 }, 'body_invalid', 'maxConcurrency', /whole/],
  ['1e400 a second', whole(',"rateLimit":1e400'), 'body_invalid', 'rateLimit', /0.01 to 1000/],
  ['none a second', { url: URL, rateLimit: 0 }, 'body_invalid', 'rateLimit', /or null/],
  ['fewer than none', { url: URL, rateLimit: -1 }, 'body_invalid', 'rateLimit', /or null/],
  ['a batch of one', { url: URL, maxBatch: 1 }, 'body_invalid', 'maxBatch', /2 to 100, or null/],
  ['a batch of 101', { url: URL, maxBatch: 101 }, 'body_invalid', 'maxBatch', /2 to 100/],
  ['half a batch', { url: URL, maxBatch: 2.5 }, 'body_invalid', 'maxBatch', /whole number/],
  ['a rate in words', { url: URL, rateLimit: '5' }, 'body_invalid', 'rateLimit', /number/],
  ['another order', { url: URL, order: 'isuer' }, 'body_invalid', 'order', /mean "issuer"/],
  ['half a character', { url: URL, description: '\ud800' }, 'body_invalid', 'description', /control/],
  ['NUL', { url: URL, description: 'a\0b' }, 'body_invalid', 'description', /control/],
  ['201 characters', { url: URL, description: 'x'.repeat(201) }, 'body_invalid', 'description', /200/],
  ['a wrong filter', { url: URL, filter: { isins: ['x'] } }, 'filter_invalid', 'filter.isins[0]', /ISIN/],
  [
    'an unknown field',
    { url: URL, filter: { isin: ['x'] } },
    'filter_invalid',
    'filter.isin',
    /mean "isins"/,
  ],
  ['a filter that is none', { url: URL, filter: null }, 'filter_invalid', 'filter', /JSON object/],
  ['half a headline', { url: URL, filter: { q: 'ab\ud800' } }, 'filter_invalid', 'filter.q', /plain text/],
]

const urls: Row[] = [
  [undefined, /missing/],
  [null, /must be a URL/],
  [7, /must be a URL/],
  ['', /must be a URL/],
  ['hooks.example', /must be a URL/],
  ['https://hooks.example/\ud800', /must be a URL/],
  ['http://hooks.example/', /https:\/\//],
  ['ftp://hooks.example/', /https:\/\//],
  ['https://user:word@hooks.example/', /user or password/],
  ['https://hooks.example/#f', /fragment/],
  ['https://hooks.example:22/', /ports 443, 8443/],
  ...['127.0.0.1', '2130706433', '[::ffff:169.254.169.254]', 'localhost', 'metadata.google.internal'].map(
    (host) => [
      `https://${host}/`,
      /^must not lead to a private, loopback, link-local or metadata address; as its operator, allow it with BRIDGE_WEBHOOK_ALLOW_NETS$/,
    ],
  ),
  ['https://hooks.example/\r\nX: y', /control character/],
  [`https://hooks.example/${'x'.repeat(65_536)}`, /2048/],
].map(([url, words]) => [
  `the URL ${String(url).slice(0, 40)}`,
  { url },
  'body_invalid',
  'url',
  words as RegExp,
])

const headers: Row[] = [
  [[], 'headers', /object/],
  [null, 'headers', /object/],
  ['a: b', 'headers', /object/],
  [many(21, 'v'), 'headers', /more than 20/],
  [many(5, 'v'.repeat(900)), 'headers', /4096 bytes/],
  [{ a: 'x\r\nHost: evil.example' }, 'headers.a', /printable ASCII/],
  [{ a: 'x\0' }, 'headers.a', /printable ASCII/],
  [{ a: 'é' }, 'headers.a', /printable ASCII/],
  [{ a: ' x' }, 'headers.a', /either end/],
  [{ a: '' }, 'headers.a', /printable ASCII/],
  [{ a: 7 }, 'headers.a', /must be text/],
  [{ a: ['x'] }, 'headers.a', /must be text/],
  [{ '': 'x' }, 'headers.', /not a header name/],
  [{ 'a b': 'x' }, 'headers.a b', /not a header name/],
  [{ 'a:b': 'x' }, 'headers.a:b', /not a header name/],
  [{ 'a\r\nb': 'x' }, 'headers.a\r\nb', /not a header name/],
  [{ ':path': 'x' }, 'headers.:path', /not a header name/],
  [{ ü: 'x' }, 'headers.ü', /not a header name/],
  [JSON.parse('{"__proto__":"x"}'), 'headers.__proto__', /not a header name/],
  [{ 'X-A': '1', 'x-a': '2' }, 'headers.x-a', /twice/],
  ...[
    'Host',
    'content-length',
    'Content-Type',
    'WEBHOOK-ID',
    'webhook-signature',
    'Transfer-Encoding',
    'connection',
    'te',
    'trailer',
    'upgrade',
    'expect',
    'keep-alive',
    'proxy-authorization',
    'traceparent',
    'tracestate',
    'x-forwarded-for',
    'forwarded',
    'via',
    'date',
    'accept-encoding',
  ].map((name) => [{ [name]: 'x' }, `headers.${name}`, /cannot be set/]),
].map(([value, field, words], index) => [
  `headers ${index}`,
  { url: URL, headers: value },
  'body_invalid',
  field as string,
  words as RegExp,
])

const starts: Row[] = [
  [7, 'body_invalid', 'since', /cursor, or a time/],
  ['', 'body_invalid', 'since', /cursor, or a time/],
  ['2026-13', 'body_invalid', 'since', /is not a time/],
  ['2099-01-01', 'body_invalid', 'since', /future/],
  ['yesterday', 'cursor_invalid', null, /not a cursor/],
  [CUT, 'cursor_invalid', null, /not a cursor/],
  [`${CUT}_`, 'cursor_invalid', null, /not a cursor/],
].map(([since, code, field, words]) => [
  `since ${since}`,
  { url: URL, since },
  code as string,
  field as string | null,
  words as RegExp,
])

describe.each([
  ['POST', (): string => '/v1/webhooks'],
  ['PATCH', (): string => `/v1/webhooks/${id}`],
] as const)('%s refuses with a readable error, and stores nothing of', (method, path) => {
  const all = [...bodies, ...urls, ...headers, ...(method === 'POST' ? starts : [])]
  // Members that a PATCH may omit are no errors there.
  const rows = all.filter(([what]) => method === 'POST' || what !== 'the URL undefined')

  test.each(rows)('%s', async (_what, body, code, field, words) => {
    const before = JSON.stringify(api.endpoints.all())
    const answer = await ask(api, TOKEN, path(), method, body)
    expect([answer.body.code, answer.body.errors[0]?.field ?? null]).toEqual([code, field])
    expect(field === null ? answer.body.detail : answer.body.errors[0].message).toMatch(words)
    expect(answer.status).toBe(code === 'body_too_large' ? 413 : 400)
    expect(JSON.stringify(api.endpoints.all())).toBe(before)
  })
})

test('one response lists every error', async () => {
  const body = {
    url: 'x',
    maxConcurrency: 0,
    rateLimit: 0,
    order: 'x',
    headers: { te: 'x', '': 'x' },
    since: 7,
    z: 1,
  }
  const { errors } = (await ask(api, TOKEN, '/v1/webhooks', 'POST', body)).body
  expect(errors.map(({ field }: { field: string }) => field).sort()).toEqual(
    ['headers.', 'headers.te', 'maxConcurrency', 'order', 'rateLimit', 'since', 'url', 'z'].sort(),
  )
})

test('targets allowed by the operator are accepted; the others stay blocked', async () => {
  await using open = await startApi({ allowNets: ['127.0.0.0/8'] })
  const body = { url: 'https://127.0.0.1:9000/' }
  expect((await ask(open, TOKEN, '/v1/webhooks', 'POST', body)).status).toBe(201)
  const blocked = { url: `https://${'10.0.0.1'}/` }
  const rule = 'must not lead to a private, loopback, link-local or metadata address'
  const messages = async (token: string, url: string): Promise<string[]> => {
    const { errors } = (await ask(open, token, '/v1/webhooks', 'POST', { url })).body
    return errors.map(({ message }: { message: string }) => message)
  }
  const desk = await tokenOf(open, 'desk')
  expect(await messages(desk, blocked.url)).toEqual([rule])
  const advice = (setting: string): string => `; as its operator, allow it with ${setting}`
  expect(await messages(TOKEN, blocked.url)).toEqual([`${rule}${advice('BRIDGE_WEBHOOK_ALLOW_NETS')}`])
  expect(await messages(TOKEN, 'http://hooks.example/')).toEqual([
    `must begin with https://: plain http is off here${advice('BRIDGE_WEBHOOK_ALLOW_HTTP')}`,
  ])
})

test.each(['x', 'ep_', '..%2f..', '%00', '__proto__', 'ep_000000000000000000000%0a', 'REWRAP', '%ff'])(
  'an invalid id, %s, is unknown or unreadable on every path',
  async (wrong) => {
    for (const [method, action, body] of [
      ['GET', '', undefined],
      ['PATCH', '', {}],
      ['DELETE', '', undefined],
      ['POST', '/rotate', undefined],
      ['POST', '/enable', undefined],
      ['POST', '/disable', undefined],
    ] as const) {
      const answer = await ask(api, TOKEN, `/v1/webhooks/${wrong}${action}`, method, body)
      expect([400, 404]).toContain(answer.status)
      expect(answer.body.detail.length).toBeGreaterThan(10)
    }
  },
)

test('paths without a body refuse one, and no path accepts an unknown parameter', async () => {
  for (const path of ['/rotate', '/enable', '/disable']) {
    const answer = await ask(api, TOKEN, `/v1/webhooks/${id}${path}`, 'POST', { a: 1 })
    expect(answer.body.code).toBe('body_unexpected')
    const asked = await ask(api, TOKEN, `/v1/webhooks/${id}${path}?a=1`, 'POST')
    expect(asked.body.code).toBe('parameter_invalid')
  }
})
