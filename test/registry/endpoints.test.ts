import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MAX_ENDPOINT_BYTES_PER_TENANT, MAX_ENDPOINTS_PER_TENANT } from '../../src/registry/endpoint-room.ts'
import { ENDPOINTS_TABLE, type EndpointRow, measureRow } from '../../src/registry/endpoint-rows.ts'
import { type Endpoint, Endpoints } from '../../src/registry/endpoints.ts'
import { newId } from '../../src/registry/ids.ts'
import { until } from '../support/http/api-server.ts'
import { keepingLogger } from '../support/keeping-logger.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { createManualClock } from '../support/time/manual-clock.ts'
import { endpointNode as node, wantedEndpoint as wanted } from '../support/webhooks/endpoints.ts'

async function made(endpoints: Endpoints, parts: Parameters<typeof wanted>[0] = {}): Promise<Endpoint> {
  const result = await endpoints.create(wanted(parts))
  if (typeof result === 'string') throw new Error(result)
  return result
}

const everything = { tenant: null, after: '', limit: 100_000 }

test('an endpoint is visible here as soon as it is written, on other nodes soon after', async () => {
  const log = createMemoryLog()
  const [first, second] = [await node(log), await node(log)]
  const endpoint = await made(first.endpoints, { filter: { isins: ['GB00B03MLX29'], types: ['gap'] } })
  expect(first.endpoints.get(endpoint.id)).toEqual(endpoint)
  await until(() => second.endpoints.get(endpoint.id) !== null)
  expect(second.endpoints.get(endpoint.id)).toEqual(endpoint)
  const patched = await second.endpoints.update(endpoint.id, () => ({ url: 'https://other.example/' }))
  expect(patched).toMatchObject({ id: endpoint.id, url: 'https://other.example/', filter: endpoint.filter })
  expect(second.endpoints.get(endpoint.id)).toEqual(patched)
  await until(() => first.endpoints.get(endpoint.id)?.url === 'https://other.example/')
  expect(first.endpoints.get(endpoint.id)).toEqual(patched)
  expect(await first.endpoints.delete(endpoint.id, () => {})).toBe(true)
  expect(first.endpoints.get(endpoint.id)).toBeNull()
  await until(() => second.endpoints.get(endpoint.id) === null)
  expect(await second.endpoints.delete(endpoint.id, () => {})).toBe(false)
  expect(await second.endpoints.update(endpoint.id, () => ({}))).toBe('unknown')
})

test('a version identifies a state: the same on all nodes and after a restart, another after every change', async () => {
  const log = createMemoryLog()
  const { endpoints } = await node(log)
  const { id, version } = await made(endpoints)
  expect((await node(log)).endpoints.get(id)?.version).toBe(version)
  const versions = new Set([version])
  for (const change of [
    { url: 'https://b.example/' },
    { status: 'paused' },
    { headers: { a: '1' } },
    { secrets: [{ wrapped: 'w2', untilMs: null }] },
  ] as const) {
    const now = await endpoints.update(id, () => change)
    if (typeof now === 'string') throw new Error(now)
    versions.add(now.version)
  }
  expect(versions.size).toBe(5)
  const back = await endpoints.update(id, ({ version: seen }) => {
    expect([...versions].at(-1)).toBe(seen)
    return null
  })
  expect(back).toMatchObject({ version: [...versions].at(-1) })
})

test('a filter stays the same object while unchanged, whatever else of the endpoint changes', async () => {
  const { endpoints } = await node(createMemoryLog())
  const { id } = await made(endpoints, { filter: { symbols: ['VOD'] } })
  const filter = endpoints.get(id)?.filter
  await endpoints.update(id, () => ({ description: 'other', filter: { symbols: ['VOD'] } }))
  expect(endpoints.get(id)?.description).toBe('other')
  expect(endpoints.get(id)?.filter).toBe(filter)
  await endpoints.update(id, () => ({ filter: { symbols: ['BP.'] } }))
  expect(endpoints.get(id)?.filter).toEqual({ symbols: ['BP.'] })
})

test('concurrent changes of an endpoint on a node run one after the other, each on the result of the earlier one', async () => {
  const { endpoints } = await node(createMemoryLog())
  const { id } = await made(endpoints)
  await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      endpoints.update(id, ({ description }) => ({ description: `${description ?? ''}${index},` })),
    ),
  )
  expect(endpoints.get(id)?.description?.split(',')).toHaveLength(21)
})

test('a change that throws changes nothing, and the next one runs', async () => {
  const { endpoints } = await node(createMemoryLog())
  const { id, version } = await made(endpoints)
  const refusal = new Error('other version')
  const refuse = (): never => {
    throw refusal
  }
  await expect(endpoints.update(id, refuse)).rejects.toBe(refusal)
  await expect(endpoints.delete(id, refuse)).rejects.toBe(refusal)
  expect(endpoints.get(id)?.version).toBe(version)
  expect(await endpoints.update(id, () => ({ status: 'paused' }))).toMatchObject({ status: 'paused' })
})

test('a shard owner disables an endpoint once, with the reason; a deleted one is no error', async () => {
  const { endpoints } = await node(createMemoryLog())
  const { id, version } = await made(endpoints)
  expect(await endpoints.disable(id, version, 'gone')).toBe(true)
  const disabled = endpoints.get(id)
  expect(disabled).toMatchObject({ status: 'disabled', disabledReason: 'gone' })
  expect(await endpoints.disable(id, disabled?.version ?? '', 'failing')).toBe(false)
  expect(endpoints.get(id)).toBe(disabled)
  expect(await endpoints.disable(newId('ep', 1), version, 'gone')).toBe(false)
})

test('an endpoint that was changed since is not disabled', async () => {
  const { endpoints } = await node(createMemoryLog())
  const { id, version } = await made(endpoints)
  await endpoints.update(id, () => ({ url: 'https://elsewhere.example/' }))
  expect(await endpoints.disable(id, version, 'gone')).toBe(false)
  expect(endpoints.get(id)?.status).toBe('active')
})

test('a deleted endpoint stays deleted, although a node with an old view changes it later', async () => {
  const log = createMemoryLog()
  const { endpoints } = await node(log)
  const { id } = await made(endpoints)
  const table = log.table<EndpointRow>(ENDPOINTS_TABLE)
  const row = (await table.load()).get(id)
  if (row === undefined) throw new Error('no row')
  await endpoints.delete(id, () => {})
  await table.put(id, { ...row, url: 'https://late.example/' })
  await until(async () => (await table.load()).size === 0)
  expect(endpoints.get(id)).toBeNull()
})

test('a subscriber gets every endpoint first, and then each created, changed or deleted one', async () => {
  const log = createMemoryLog()
  const first = await node(log)
  const old = await made(first.endpoints)
  const { logger } = keepingLogger()
  const second = new Endpoints({ log, clock: createManualClock(), logger })
  const stop = new AbortController()
  const heard: string[] = []
  const following = (async () => {
    for await (const ids of second.changes(stop.signal)) heard.push(...ids)
  })()
  const running = second.run(stop.signal)
  await until(() => heard.includes(old.id))
  const fresh = await made(first.endpoints)
  await until(() => heard.includes(fresh.id))
  expect(second.get(fresh.id)).toEqual(fresh)
  heard.length = 0
  await first.endpoints.delete(old.id, () => {})
  await until(() => heard.includes(old.id))
  expect([second.get(old.id), second.all()]).toEqual([null, [fresh]])
  stop.abort()
  await Promise.all([following, running])
})

test('each tenant has its limit, also for concurrent requests; a deleted endpoint makes room', async () => {
  const { endpoints } = await node(createMemoryLog())
  const asked = Array.from({ length: MAX_ENDPOINTS_PER_TENANT + 3 }, () => endpoints.create(wanted()))
  const results = await Promise.all(asked)
  expect(results.filter((result) => result === 'tenant_full')).toHaveLength(3)
  expect(typeof (await endpoints.create(wanted({ tenant: 'other' })))).toBe('object')
  const [endpoint] = endpoints.list({ tenant: 'desk', after: '', limit: 1 })
  await endpoints.delete(endpoint?.id ?? '', () => {})
  expect(typeof (await endpoints.create(wanted()))).toBe('object')
})

test('each tenant has a limit of bytes too: a change that exceeds it is refused, one that frees bytes never', async () => {
  const { endpoints } = await node(createMemoryLog())
  const description = 'x'.repeat(MAX_ENDPOINT_BYTES_PER_TENANT / 4)
  const ids: string[] = []
  for (let count = 0; count < 3; count += 1) ids.push((await made(endpoints, { description })).id)
  expect(await endpoints.create(wanted({ description }))).toBe('tenant_full')
  const small = await made(endpoints)
  expect(await endpoints.update(small.id, () => ({ description }))).toBe('tenant_full')
  expect(endpoints.get(small.id)).toEqual(small)
  expect(await endpoints.update(ids[0] ?? '', () => ({ description: null }))).toMatchObject({
    description: null,
  })
  expect(await endpoints.update(small.id, () => ({ description }))).toMatchObject({ description })
})

test('an endpoint is disabled and re-enabled although its tenant has no byte left', async () => {
  const log = createMemoryLog()
  const { endpoints } = await node(log)
  const { id } = await made(endpoints)
  const { id: other } = await made(endpoints, { description: '' })
  const rows = await log.table<EndpointRow>(ENDPOINTS_TABLE).load()
  const used = [...rows.values()].reduce((sum, row) => sum + measureRow(row).bytes, 0)
  await endpoints.update(other, () => ({ description: 'x'.repeat(MAX_ENDPOINT_BYTES_PER_TENANT - used) }))
  expect(await endpoints.update(id, () => ({ headers: { a: '1' } }))).toBe('tenant_full')
  await endpoints.disable(id, endpoints.get(id)?.version ?? '', 'gone')
  expect(endpoints.get(id)).toMatchObject({ status: 'disabled', disabledReason: 'gone' })
  const more = { status: 'paused', disabledReason: null, headers: { a: '1' } } as const
  expect(await endpoints.update(id, () => more)).toBe('tenant_full')
  await endpoints.update(id, () => ({ status: 'active', disabledReason: null }))
  expect(endpoints.get(id)).toMatchObject({ status: 'active', disabledReason: null })
})

test('an invalid row is logged and left out, also in the place of a valid one', async () => {
  const log = createMemoryLog()
  const table = log.table<unknown>(ENDPOINTS_TABLE)
  const first = await node(log)
  const good = await made(first.endpoints)
  const row = (await table.load()).get(good.id) as Record<string, unknown>
  const wrong: Record<string, unknown> = {
    null: null,
    text: 'text',
    list: [],
    kind: { ...row, kind: 'robot' },
    status: { ...row, status: 'asleep' },
    filter: { ...row, filter: { isins: ['x'] } },
    headers: { ...row, headers: { a: 1 } },
    concurrency: { ...row, maxConcurrency: 65 },
    fraction: { ...row, maxConcurrency: 1.5 },
    rate: { ...row, rateLimit: 0 },
    order: { ...row, order: 'chaos' },
    secrets: { ...row, secrets: [] },
    secret: { ...row, secrets: [{ wrapped: 'w', untilMs: 'soon' }] },
    created: { ...row, createdAtMs: null },
  }
  for (const [id, value] of Object.entries(wrong)) await table.put(id, value)
  const { endpoints, lines } = await node(log)
  expect(endpoints.all()).toEqual([good])
  const told = lines.filter(({ event }) => event === 'endpoint.unreadable')
  expect(told.map(({ fields }) => fields?.endpointId).sort()).toEqual(
    Object.keys(wrong)
      .filter((id) => id !== 'null')
      .sort(),
  )
  await table.put(good.id, wrong.status)
  await until(() => endpoints.get(good.id) === null)
  await table.put(good.id, { ...row, script: 'of a newer version', disabledReason: 'of a newer version' })
  await until(() => endpoints.get(good.id)?.disabledReason === 'of a newer version')
})

test('a stop releases callers that wait for an unavailable log', async () => {
  const whole = createMemoryLog()
  const table = whole.table<EndpointRow>(ENDPOINTS_TABLE)
  const unseen = { ...table, changes: () => ({ async *[Symbol.asyncIterator]() {} }) }
  const { endpoints, stop } = await node({
    ...whole,
    table: <V>() => unseen as never as ReturnType<typeof whole.table<V>>,
  })
  const id = newId('ep', 0)
  const waiting = endpoints.create(wanted({ id }))
  await until(async () => (await table.load()).size === 1)
  stop.abort()
  expect(await waiting).toMatchObject({ id })
})

test('after any sequence of changes, a node and a later one agree with the naive list', async () => {
  const step = fc.oneof(
    fc.record({ tenant: fc.constantFrom('a', 'b') }),
    fc.record({ of: fc.nat(20), maxConcurrency: fc.integer({ min: 1, max: 64 }) }),
    fc.record({ deletes: fc.nat(20) }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const log = createMemoryLog()
      const first = await node(log)
      const { clock, endpoints } = first
      const naive = new Map<string, { tenant: string; maxConcurrency: number }>()
      const chosen = (place: number) => [...naive.keys()][place % Math.max(1, naive.size)] ?? ''
      for (const action of steps) {
        if ('deletes' in action) {
          const id = chosen(action.deletes)
          expect(await endpoints.delete(id, () => {})).toBe(naive.delete(id))
        } else if ('of' in action) {
          const { maxConcurrency } = action
          const entry = naive.get(chosen(action.of))
          await endpoints.update(chosen(action.of), () => ({ maxConcurrency }))
          if (entry !== undefined) entry.maxConcurrency = maxConcurrency
        } else {
          clock.advance(1)
          const { id } = await made(endpoints, { ...action, id: newId('ep', clock.now()) })
          naive.set(id, { tenant: action.tenant, maxConcurrency: 8 })
        }
      }
      const later = await node(log, clock)
      for (const { endpoints: each } of [first, later]) {
        for (const tenant of ['a', 'b', null]) {
          const of = [...naive].filter(([, entry]) => tenant === null || entry.tenant === tenant)
          const pages: Endpoint[] = []
          for (;;) {
            const page = each.list({ tenant, after: pages.at(-1)?.id ?? '', limit: 3 })
            pages.push(...page)
            if (page.length < 3) break
          }
          expect(pages.map(({ id, maxConcurrency }) => [id, maxConcurrency])).toEqual(
            of.map(([id, { maxConcurrency }]) => [id, maxConcurrency]),
          )
        }
        expect(each.all()).toHaveLength(each.list(everything).length)
      }
      first.stop.abort()
      later.stop.abort()
    }),
    { numRuns: 40 },
  )
})
