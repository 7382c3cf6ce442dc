import { describe, expect, test } from 'vitest'
import { LARGE_BUDGET_BYTES, SMALL_BATCH_BYTES } from '../../../src/http/bounds/send-buffers.ts'
import { type ApiServer, startApi, until } from '../../support/http/api-server.ts'
import { knows } from '../../support/http/callers.ts'
import { metric } from '../../support/metric.ts'

const authenticate = knows({ one: {}, two: {} })

/** A long poll of a token, from the end of the log on. */
async function poll(api: ApiServer, token = 'one') {
  const headers = { authorization: `Bearer ${token}` }
  const { cursor } = (await (await fetch(`${api.url}/v1/disclosures`, { headers })).json()) as {
    cursor: string
  }
  const leave = new AbortController()
  const answer = fetch(`${api.url}/v1/disclosures?wait=30&after=${cursor}`, { headers, signal: leave.signal })
  return { answer, leave: () => leave.abort() }
}

const refusals = (api: ApiServer, cause: string) => metric(api, `http_refused_total{cause="${cause}"}`)

async function expectRefused(answer: Promise<Response>, status: number, code: string): Promise<void> {
  const response = await answer
  expect([response.status, response.headers.get('retry-after')]).toEqual([status, '5'])
  expect(await response.json()).toMatchObject({ code })
}

describe('waiting pulls', () => {
  test('take places of their token, beside its streams, and free them when they are answered or left', async () => {
    await using api = await startApi({ count: 1, authenticate, maxPerToken: 2 })
    const stream = new AbortController()
    await fetch(`${api.url}/v1/events`, { headers: { authorization: 'Bearer one' }, signal: stream.signal })
    const first = await poll(api)
    await until(async () => (await fetch(`${api.url}/v1/disclosures`, bearerOf('one'))).status === 429)
    await expectRefused(fetch(`${api.url}/v1/disclosures`, bearerOf('one')), 429, 'too_many')
    expect(await refusals(api, 'token_pulls')).toBe(2)
    const other = await poll(api, 'two')
    first.leave()
    await expect(first.answer).rejects.toThrow('abort')
    await until(async () => (await fetch(`${api.url}/v1/disclosures`, bearerOf('one'))).status === 200)
    other.leave()
    await expect(other.answer).rejects.toThrow('abort')
    stream.abort()
  })

  test('take places of the node like streams', async () => {
    await using api = await startApi({ count: 1, maxClients: 2, authenticate })
    const [first, second] = [await poll(api), await poll(api, 'two')]
    await until(async () => (await fetch(`${api.url}/v1/disclosures`, bearerOf('one'))).status === 503)
    await expectRefused(fetch(`${api.url}/v1/disclosures`, bearerOf('one')), 503, 'over_capacity')
    await expectRefused(fetch(`${api.url}/v1/events`, bearerOf('one')), 503, 'over_capacity')
    expect(await refusals(api, 'pulls')).toBeGreaterThanOrEqual(1)
    api.store.grow(1)
    for (const { answer } of [first, second]) expect((await answer).status).toBe(200)
    await until(async () => (await fetch(`${api.url}/v1/disclosures`, bearerOf('one'))).status === 200)
  })

  test('of the token of the settings have its limit of pulls too', async () => {
    await using api = await startApi({ count: 1, maxPerToken: 1 })
    const leave = new AbortController()
    const { cursor } = (await (await fetch(`${api.url}/v1/disclosures`, { headers: api.auth })).json()) as {
      cursor: string
    }
    const waiting = fetch(`${api.url}/v1/disclosures?wait=30&after=${cursor}`, {
      headers: api.auth,
      signal: leave.signal,
    })
    await until(async () => (await fetch(`${api.url}/v1/disclosures`, { headers: api.auth })).status === 429)
    leave.abort()
    await expect(waiting).rejects.toThrow('abort')
  })
})

test('a page is smaller while slow clients hold much memory, and reading goes on behind it', async () => {
  await using api = await startApi({ count: 1000 })
  const whole = await page(api, '')
  expect([whole.data.length, whole.more]).toEqual([1000, false])
  const others = Buffer.alloc(LARGE_BUDGET_BYTES)
  api.limits.sendBuffers.retain(others)
  const small = await page(api, '')
  expect(JSON.stringify(small).length).toBeLessThan(2 * SMALL_BATCH_BYTES)
  expect(small.more).toBe(true)
  expect((await page(api, `&after=${small.cursor}`)).data[0]).toEqual(whole.data[small.data.length])
  api.limits.sendBuffers.release(others)
  await until(async () => (await page(api, '')).data.length === 1000)
})

async function page(api: ApiServer, query: string) {
  const response = await fetch(`${api.url}/v1/disclosures?limit=1000${query}`, { headers: api.auth })
  return (await response.json()) as { data: unknown[]; cursor: string; more: boolean }
}

function bearerOf(token: string): { headers: Record<string, string> } {
  return { headers: { authorization: `Bearer ${token}` } }
}
