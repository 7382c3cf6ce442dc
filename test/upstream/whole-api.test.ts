/** Reads the sandbox through the typed client: every parameter and paging mode of the list, and the single item. */
import { expect, onTestFinished, test } from 'vitest'
import { createUpstreamClient, type SendPermit } from '../../src/upstream/client.ts'
import type { UpstreamListQuery } from '../../src/upstream/list-parameters.ts'
import { itemSchema, type UpstreamItem } from '../../src/upstream/schemas.ts'
import { createTransport } from '../../src/upstream/transport.ts'
import { openSandbox, UNLIMITED } from '../sandbox/sandbox-client.ts'

const permit: SendPermit = { spend: async () => {}, throttle: async () => {} }
const { signal } = new AbortController()

async function openClient() {
  const { sandbox, clock } = await openSandbox({
    ...{ scenario: 'corporate-actions', plan: 'enterprise', nativeWord: 'house', backlog: 60, ...UNLIMITED },
  })
  clock.advance(240_000)
  const transport = createTransport({ url: sandbox.url, key: sandbox.key, timeoutMs: 30_000, clock })
  onTestFinished(() => transport.close())
  const client = createUpstreamClient({ transport, now: clock.now, nativeWord: 'house' })
  const list = async (query: Partial<UpstreamListQuery>) => {
    const outcome = await client.list({ pageSize: 200, ...query }, 'probe', permit, signal)
    if (outcome.kind !== 'ok') throw new Error(JSON.stringify(outcome))
    return outcome.value
  }
  const items = async (query: Partial<UpstreamListQuery>): Promise<UpstreamItem[]> =>
    (await list(query)).items.map(({ value }) => itemSchema.parse(value))
  return { sandbox, client, list, items }
}

test('each filter of the list returns the items that have what it asks for', async () => {
  const { items } = await openClient()
  const all = await items({})
  const sample = all.find(
    ({ issuer, category }) => issuer.instrument?.symbol !== undefined && category.length > 1,
  )
  const isin = sample?.issuer.instrument?.isin ?? ''
  const symbol = sample?.issuer.instrument?.symbol?.mnemonic ?? ''
  const codes = (kind: string) =>
    sample?.category.filter((tag) => tag.kind === kind).map(({ code }) => code) ?? []
  const [fca = [], native = []] = [codes('FCA'), codes('House')]
  const has = (item: UpstreamItem, kind: string, code: string) =>
    item.category.some((tag) => tag.kind === kind && tag.code === code)
  const q = sample?.headline.slice(0, 6) ?? ''
  const guids = (found: UpstreamItem[]) => found.map(({ guid }) => guid)
  const cases: [Partial<UpstreamListQuery>, (item: UpstreamItem) => boolean][] = [
    [{ fcaCategories: fca }, (item) => has(item, 'FCA', fca[0] ?? '')],
    [{ nativeCategories: native }, (item) => has(item, 'House', native[0] ?? '')],
    [{ q }, ({ headline }) => headline.toLowerCase().includes(q.toLowerCase())],
    [{ hasSymbol: true }, ({ issuer }) => issuer.instrument?.symbol !== undefined],
    [{ fromMs: Date.UTC(2026, 1, 3, 10, 2) }, ({ timestamp }) => timestamp >= '2026-02-03T10:02:00Z'],
    [{ toMs: Date.UTC(2026, 1, 3, 10, 1) }, ({ timestamp }) => timestamp <= '2026-02-03T10:01:00Z'],
  ]
  for (const [query, holds] of cases) {
    const found = await items(query)
    expect(guids(found)).toEqual(guids(all.filter(holds)))
    expect(found.length).toBeGreaterThan(0)
    expect(found.length).toBeLessThan(all.length)
  }
  const byIsin = await items({ isins: [isin], match: 'exact' })
  expect(byIsin.map(({ guid }) => guid)).toContain(sample?.guid)
  expect(guids(await items({ symbols: [symbol], match: 'exact' }))).toEqual(guids(byIsin))
  expect((await items({ isins: [isin], match: 'related' })).length).toBeGreaterThanOrEqual(byIsin.length)
  const channel = await items({ channel: 'bot' })
  expect(channel.length > 0 && channel.length < all.length).toBe(true)
})

test('each paging mode has its figures', async () => {
  const { list } = await openClient()
  const numbered = await list({ pageSize: 7, pageNumber: 2 })
  const total = numbered.itemTotal ?? 0
  expect(numbered).toMatchObject({ pageSize: 7, pageNumber: 2, pageTotal: Math.ceil(total / 7) })
  expect(numbered.items).toHaveLength(7)
  const first = await list({ pageSize: 7 })
  const second = await list({ pageSize: 7, pageCursor: first.nextCursor ?? '' })
  expect(second.items).toEqual(numbered.items)
  const polled = await list({ sinceCursor: second.latestCursor ?? '', pageSize: 7 })
  expect(polled).toMatchObject({ count: 7, hasMore: false, latestCursor: first.latestCursor, pageSize: 7 })
})

test('an item is found by guid and by its date and number; one that is not there is refused with the words of upstream', async () => {
  const { client, items } = await openClient()
  const [item] = await items({ pageSize: 1 })
  const read = (identifier: string) => client.item(identifier, 'probe', permit, signal)
  for (const identifier of [item?.guid ?? '', `${item?.timestamp.slice(0, 10)}.${item?.rnsId}`]) {
    expect(await read(identifier)).toMatchObject({ kind: 'ok', value: { value: item } })
  }
  expect(await read('urn:nobody')).toMatchObject({
    ...{ kind: 'refused', status: 404, message: 'there is no item with this identifier' },
    hint: expect.stringContaining('guid'),
  })
})

test('a refused key keeps the words of upstream, and they never contain the key', async () => {
  const { sandbox, clock } = await openSandbox({ key: 'right-key' })
  // The sandbox says "the API key is missing or not valid".
  const transport = createTransport({ url: sandbox.url, key: 'API key', timeoutMs: 30_000, clock })
  onTestFinished(() => transport.close())
  const client = createUpstreamClient({ transport, now: () => 0, nativeWord: 'native' })
  const outcome = await client.list({ pageSize: 1 }, 'probe', permit, signal)
  expect(outcome).toMatchObject({ kind: 'unauthorised', status: 401 })
  expect(outcome).toMatchObject({ message: 'the [key] is missing or not valid' })
})
