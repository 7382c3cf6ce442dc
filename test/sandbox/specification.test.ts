/**
 * Checks the sandbox's responses strictly against the tables of the specification (§2): a member that is not in a
 * table, or has another type, fails. Scenarios that break the schema on purpose are left out.
 */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { MAX_HEADER_BYTES, MAX_URL_BYTES } from '../../src/http/limits.ts'
import { raw } from '../http/raw.ts'
import { item as anItem, guids, openSandbox } from './sandbox-client.ts'

const text = z.string().min(1)

/** §2.3, §2.4 */
const instrument = z.strictObject({
  isin: z.string().regex(/^[A-Z]{2}[A-Z0-9]{9}\d$/),
  symbol: z.strictObject({ mnemonic: text }).optional(),
})
/** §2.2 */
const company = z.strictObject({ name: text, lei: text.optional(), instrument: instrument.optional() })
/** §2.5 */
const category = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('Native'),
    code: z.enum(['AA', 'BC', 'CS', 'CU', 'DD', 'DI', 'HO', 'ME', 'RE', 'TU', 'XX']),
    name: text,
  }),
  z.strictObject({
    kind: z.literal('FCA'),
    code: text,
    name: text,
    description: text.optional(),
    importance: z.enum(['low', 'medium', 'high', 'ultra']).optional(),
  }),
])
const guid = z.string().regex(/^urn:newsml:[^:]+:\d{8}:\d{4}[A-Z]:\d+$/)
/** §2.1, §2.6, §2.7, §2.8 */
const item = z.strictObject({
  rnsId: z.string().regex(/^\d{4}[A-Z]$/),
  timestamp: z.iso.datetime(),
  source: z.literal('RNS'),
  guid,
  version: z.int(),
  issuer: company,
  related: z.array(company).optional(),
  headline: z.string(),
  category: z.array(category).min(1),
  publication: z.array(z.strictObject({ mime: text, url: z.url() })).min(1),
  derivatives: z.strictObject({ semanticHtml: z.strictObject({ url: z.url() }).optional() }).optional(),
  replaces: z.strictObject({ guid, version: z.int() }).optional(),
})
/** §2.12 */
const pagings = {
  cursor: z.strictObject({
    pageSize: z.int(),
    nextCursor: text.nullable(),
    latestCursor: text.optional(),
  }),
  number: z.strictObject({
    pageSize: z.int(),
    pageNumber: z.int().min(1),
    pageTotal: z.int(),
    itemTotal: z.int(),
    latestCursor: text.optional(),
  }),
  since: z.strictObject({ pageSize: z.int(), latestCursor: text, count: z.int(), hasMore: z.boolean() }),
}
const listOf = (paging: z.ZodType) =>
  z.strictObject({
    data: z.array(item),
    meta: z.strictObject({ paging }),
    warnings: z.array(z.string()).optional(),
  })
/** §2.13 */
const errorResponse = z.strictObject({
  error: z.strictObject({ message: text, hint: text.optional() }),
})

test('every item of a usual day matches the specification, and its version is that of its guid', async () => {
  const { sandbox, list } = await openSandbox({ scenario: 'normal', plan: 'ultimate' })
  sandbox.moveForward(14 * 3_600_000)
  const items: z.infer<typeof item>[] = []
  let cursor: string | null = null
  do {
    const query = { pageSize: 200, ...(cursor === null ? {} : { pageCursor: cursor }) }
    const reply = await list(query)
    expect(reply.status).toBe(200)
    expect(reply.headers.get('content-type')).toMatch(/^application\/json/)
    const page = listOf(pagings.cursor).parse(reply.body)
    items.push(...page.data)
    cursor = reply.body.meta.paging.nextCursor as string | null
  } while (cursor !== null)
  expect(items.length).toBeGreaterThan(3_500)
  for (const { guid: id, version, rnsId, timestamp } of items) {
    expect(id.split(':').slice(3)).toEqual([timestamp.slice(0, 10).replaceAll('-', ''), rnsId, `${version}`])
  }
  // Optional members are present on some items and absent on others, so that a client sees both.
  const share = (has: (one: z.infer<typeof item>) => boolean) => items.filter(has).length / items.length
  const optional = [
    share((one) => one.related !== undefined),
    share((one) => one.replaces !== undefined),
    share((one) => one.issuer.lei !== undefined),
    share((one) => one.issuer.instrument?.symbol !== undefined),
    share((one) => one.category.some((tag) => tag.kind === 'FCA' && tag.importance !== undefined)),
  ]
  for (const part of optional) expect(part > 0 && part < 1).toBe(true)
})

test.each(['many-categories', 'no-derivatives', 'later-versions'])(
  '%s: every item matches the specification, and its version is that of its guid',
  async (scenario) => {
    const { clock, list } = await openSandbox({ scenario, plan: 'ultimate' })
    clock.advance(120_000)
    const page = listOf(pagings.cursor).parse((await list('pageSize=200')).body)
    expect(page.data.length).toBeGreaterThanOrEqual(40)
    for (const { guid: id, version, rnsId } of page.data) {
      expect(id.split(':').slice(4)).toEqual([rnsId, `${version}`])
    }
  },
)

test('each paging mode has its own response shape, with and without items', async () => {
  const { list } = await openSandbox({ scenario: 'quiet', backlog: 20, plan: 'advanced' })
  const first = await list('pageSize=3')
  listOf(pagings.cursor).parse(first.body)
  const latest = String(first.body.meta.paging.latestCursor)
  listOf(pagings.cursor).parse((await list('q=nobody+writes+this')).body)
  listOf(pagings.number).parse((await list('pageNumber=2&pageSize=3')).body)
  listOf(pagings.number).parse((await list('pageNumber=9999')).body)
  listOf(pagings.since).parse((await list({ sinceCursor: latest })).body)
})

test('every error response has the error body of the specification', async () => {
  const { get } = await openSandbox({ plan: 'lite', backlog: 5 })
  const items = '/disclosures/sources/rns/items'
  const refused: [string, number, Record<string, string>?][] = [
    [`${items}?pageSize=0`, 400],
    [`${items}?pageNumber=1&sinceCursor=a`, 400],
    [`${items}?pageSize=200`, 400],
    [items, 401, { 'x-api-key': 'wrong' }],
    [`${items}/nobody`, 404],
    [`${items}/nobody`, 401, { 'x-api-key': 'wrong' }],
    ['/nothing/here', 404],
  ]
  for (const [path, status, headers] of refused) {
    const reply = await get(path, headers)
    expect([path, reply.status]).toEqual([path, status])
    expect(errorResponse.safeParse(reply.body).error).toBeUndefined()
  }
})

test('what is refused before its path is known has the error body too', async () => {
  const { sandbox } = await openSandbox()
  const get = (target: string, headers = '') => `GET ${target} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`
  const path = '/v2/disclosures/sources/rns/items?q='
  const atMost = `${path}${'x'.repeat(MAX_URL_BYTES - path.length)}`
  const long = 'x'.repeat(MAX_HEADER_BYTES)
  const key = `x-api-key: ${sandbox.key}\r\n`
  const refused: [string, number][] = [
    [get(`${atMost}x`, key), 414],
    [get(path, `${key}x-long: ${long}\r\n`), 431],
    [get(`${atMost}${long}`, key), 431],
    ['GET\r\n\r\n', 400],
  ]
  const { port } = new URL(sandbox.url)
  expect((await raw(Number(port), get(atMost, key))).status).toBe(200)
  for (const [text, status] of refused) {
    const reply = await raw(Number(port), text)
    expect([text.slice(0, 60), reply.status]).toEqual([text.slice(0, 60), status])
    expect(reply.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(errorResponse.safeParse(JSON.parse(reply.body)).error).toBeUndefined()
  }
})

test('with pageNumber, new items shift the pages', async () => {
  const { sandbox, list } = await openSandbox({ scenario: 'quiet', backlog: 20 })
  const [before, next] = [await list('pageNumber=1&pageSize=5'), await list('pageNumber=2&pageSize=5')]
  sandbox.publish([
    anItem('urn:newsml:wire.sandbox.example:20260203:9999Z:1', new Date(sandbox.marketNow()).toISOString()),
  ])
  const after = await list('pageNumber=2&pageSize=5')
  expect(guids(after)).toEqual([guids(before)[4], ...guids(next).slice(0, 4)])
})
