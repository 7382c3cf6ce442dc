import { gzipSync } from 'node:zlib'
import { afterEach, expect, test } from 'vitest'
import type { Purpose } from '../../src/core/purpose.ts'
import { createUpstreamClient, type SendPermit, type UpstreamClient } from '../../src/upstream/client.ts'
import { createTransport } from '../../src/upstream/transport.ts'
import { createManualClock } from '../support/time/manual-clock.ts'
import { answers, raw, type Script, startScriptedUpstream } from '../support/worlds/scripted-upstream.ts'

const never = new AbortController().signal
const clock = createManualClock()
const open: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

async function clientAgainst(script: Script) {
  const server = await startScriptedUpstream(script)
  const transport = createTransport({ url: server.url, key: 'k', timeoutMs: 30_000, clock })
  const client: UpstreamClient = createUpstreamClient({ transport, now: clock.now, nativeWord: 'house' })
  open.push(
    () => server[Symbol.asyncDispose](),
    () => client.close(),
  )
  return { server, client }
}

const openPermit: SendPermit = { spend: async () => {}, throttle: async () => {} }

test('the unit is durable before the throttle grants a slot, and both happen before the request is sent', async () => {
  const order: string[] = []
  const spends: [Purpose, number][] = []
  const { client } = await clientAgainst((response, request) => {
    order.push('request')
    answers(200, '{"data":[]}')(response, request)
  })
  const permit: SendPermit = {
    async spend(purpose, atMs) {
      spends.push([purpose, atMs])
      await Promise.resolve()
      order.push('spent')
    },
    async throttle() {
      order.push('throttled')
    },
  }
  await client.list({ pageSize: 1 }, 'fill', permit, never)
  expect(order).toEqual(['spent', 'throttled', 'request'])
  expect(spends).toEqual([['fill', clock.now()]])
})

test('a request whose unit could not be written is not sent', async () => {
  const { client, server } = await clientAgainst(answers(200, '{"data":[]}'))
  const fenced = new Error('fenced')
  const shut: SendPermit = { ...openPermit, spend: () => Promise.reject(fenced) }
  await expect(client.list({ pageSize: 1 }, 'poll', shut, never)).rejects.toBe(fenced)
  const jammed: SendPermit = { ...openPermit, throttle: () => Promise.reject(fenced) }
  await expect(client.list({ pageSize: 1 }, 'poll', jammed, never)).rejects.toBe(fenced)
  expect(server.requests).toHaveLength(0)
})

test('a query sends its cursors unchanged and its date bounds widened to whole seconds', async () => {
  const { client, server } = await clientAgainst(answers(200, '{"data":[]}'))
  const fromMs = Date.UTC(2026, 5, 1, 6, 0, 0, 999)
  const toMs = Date.UTC(2026, 5, 1, 6, 10, 0, 1)
  await client.list({ pageSize: 100, sinceCursor: 'a+/=&b' }, 'poll', openPermit, never)
  await client.list({ pageSize: 100, pageCursor: 'ü', fromMs, toMs }, 'fill', openPermit, never)
  const queries = server.requests.map((request) => [...new URL(request.url ?? '', 'http://x').searchParams])
  expect(queries).toEqual([
    [
      ['pageSize', '100'],
      ['sinceCursor', 'a+/=&b'],
    ],
    [
      ['pageSize', '100'],
      ['pageCursor', 'ü'],
      ['dateFrom', '2026-06-01T06:00:00Z'],
      ['dateTo', '2026-06-01T06:10:01Z'],
    ],
  ])
  expect(server.requests[0]?.url).toMatch(/^\/v2\/disclosures\/sources\/rns\/items\?/)
})

test('a query sends every filter under its name, lists with commas, the own categories under the word of the service', async () => {
  const { client, server } = await clientAgainst(answers(200, '{"data":[]}'))
  const query = {
    ...{ pageSize: 7, pageNumber: 3, isins: ['GB0000000001', 'GB0000000002'], symbols: ['AAA', 'B.'] },
    ...{ match: 'exact' as const, fcaCategories: ['FR', 'IR'], nativeCategories: ['RE'], q: 'a, b & c' },
    ...{ hasSymbol: true, channel: 'bot' as const },
  }
  await client.list(query, 'probe', openPermit, never)
  const { searchParams } = new URL(server.requests[0]?.url ?? '', 'http://x')
  expect(Object.fromEntries(searchParams)).toEqual({
    ...{ pageSize: '7', pageNumber: '3', isins: 'GB0000000001,GB0000000002', symbols: 'AAA,B.' },
    ...{ match: 'exact', fcaCategories: 'FR,IR', houseCategories: 'RE', q: 'a, b & c' },
    ...{ hasSymbol: 'true', channel: 'bot' },
  })
})

test('a page is returned parsed; any other response is invalid and keeps its times', async () => {
  const good = await clientAgainst(answers(200, '{"data":[{"guid":"a"}]}'))
  const page = await good.client.list({ pageSize: 1 }, 'poll', openPermit, never)
  expect(page).toMatchObject({ kind: 'ok', sent: true, value: { items: [{ text: '{"guid":"a"}' }] } })
  for (const body of ['<html>', '{"data":null}', '{"data":[{"guid":"a"}', '']) {
    const { client } = await clientAgainst(answers(200, body))
    const outcome = await client.list({ pageSize: 1 }, 'poll', openPermit, never)
    expect(outcome).toMatchObject({ kind: 'invalid', sent: true, startedMs: clock.now() })
    expect(outcome).not.toHaveProperty('value')
  }
  const cut = gzipSync('{"data":[{"guid":"a"}]}').subarray(0, 28)
  const { client: half } = await clientAgainst(answers(200, cut, { 'content-encoding': 'gzip' }))
  expect((await half.list({ pageSize: 1 }, 'poll', openPermit, never)).kind).toBe('invalid')
  const { client } = await clientAgainst(raw('', 'reset'))
  expect((await client.list({ pageSize: 1 }, 'poll', openPermit, never)).kind).toBe('network')
})

test('a page with more items than were asked for is returned whole, with a warning', async () => {
  const { client } = await clientAgainst(answers(200, '{"data":[1,2,3],"warnings":["theirs"]}'))
  const warningsOf = async (pageSize: number) => {
    const outcome = await client.list({ pageSize }, 'poll', openPermit, never)
    return outcome.kind === 'ok' ? [outcome.value.items.length, ...outcome.value.warnings] : outcome
  }
  expect(await warningsOf(3)).toEqual([3, 'theirs'])
  expect(await warningsOf(2)).toEqual([3, 'theirs', 'the page has 3 items, but only 2 were asked for'])
})

test('only a list may be larger than 4 MiB', async () => {
  const large = `{"data":[{"guid":"a","text":"${'x'.repeat(400_000)}"}],"more":"${'x'.repeat(4 * 1024 * 1024)}"}`
  const { server, client } = await clientAgainst(answers(200, large))
  expect((await client.list({ pageSize: 1 }, 'poll', openPermit, never)).kind).toBe('ok')
  const transport = createTransport({ url: server.url, key: 'k', timeoutMs: 30_000, clock })
  open.push(() => transport.close())
  expect(await transport.get('/x', never)).toMatchObject({
    kind: 'invalid',
    reason: 'the body is larger than 4194304 bytes',
  })
})
