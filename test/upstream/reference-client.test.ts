import { expect, onTestFinished, test } from 'vitest'
import { createReferenceClient, type ReferenceClient } from '../../src/upstream/reference-client.ts'
import { createTransport } from '../../src/upstream/transport.ts'
import { openSandbox } from '../sandbox/sandbox-client.ts'
import { createManualClock } from '../support/time/manual-clock.ts'
import { answers, type Script, startScriptedUpstream } from '../support/worlds/scripted-upstream.ts'

const permit = { throttle: async () => {} }
const never = new AbortController().signal

function clientOf(url: string): ReferenceClient {
  const transport = createTransport({ url, key: 'secret', timeoutMs: 30_000, clock: createManualClock() })
  onTestFinished(() => transport.close())
  return createReferenceClient(transport)
}

async function clientAgainst(script: Script) {
  const server = await startScriptedUpstream(script)
  onTestFinished(() => server[Symbol.asyncDispose]())
  return { server, client: clientOf(server.url) }
}

test('the API key is never sent for references', async () => {
  const { server, client } = await clientAgainst(answers(200, '{"data":[]}'))
  await client.exchanges({ pageSize: 50 }, permit, never)
  await client.exchanges({ pageSize: 7, pageCursor: 'a+/=&b' }, permit, never)
  await client.exchange('XLON', permit, never)
  expect(server.requests.map(({ url }) => url)).toEqual([
    '/v2/references/exchanges?pageSize=50',
    '/v2/references/exchanges?pageSize=7&pageCursor=a%2B%2F%3D%26b',
    '/v2/references/exchanges/XLON',
  ])
  for (const { headers, rawHeaders } of server.requests) {
    expect(headers).not.toHaveProperty('x-api-key')
    expect(rawHeaders.join()).not.toContain('secret')
  }
})

test('a request waits for the throttle before it is sent; a rejecting throttle sends nothing', async () => {
  const { server, client } = await clientAgainst(answers(200, '{"data":[]}'))
  const jammed = { throttle: () => Promise.reject(new Error('jammed')) }
  await expect(client.exchanges({ pageSize: 1 }, jammed, never)).rejects.toThrow('jammed')
  await expect(client.exchange('XLON', jammed, never)).rejects.toThrow('jammed')
  expect(server.requests).toHaveLength(0)
})

test('a scan of the sandbox returns every exchange with its detail and costs no unit', async () => {
  const { sandbox } = await openSandbox()
  const client = clientOf(sandbox.url)
  const mics: string[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const query = { pageSize: 20, ...(cursor === undefined ? {} : { pageCursor: cursor }) }
    const page = await client.exchanges(query, permit, never)
    if (page.kind !== 'ok') throw new Error(page.kind)
    mics.push(...page.value.exchanges.map(({ mic }) => mic))
    cursor = page.value.nextCursor
  }
  expect(mics).toHaveLength(46)
  const london = await client.exchange('XLON', permit, never)
  expect(london).toMatchObject({ kind: 'ok', value: { mic: 'XLON' } })
  const text = london.kind === 'ok' ? london.value.text : '{}'
  expect(JSON.parse(text)).toMatchObject({ city: 'LONDON', segments: { length: 4 } })
  expect(await client.exchange('XXXX', permit, never)).toMatchObject({ kind: 'refused', status: 404 })
  expect(sandbox.usage()).toMatchObject({ units: 0, violations: 0 })
})

test('a response without an exchange is invalid and keeps its times', async () => {
  const { client } = await clientAgainst(answers(200, '{"data":{"mic":"XNYS"}}'))
  const outcome = await client.exchange('XLON', permit, never)
  expect(outcome).toMatchObject({ kind: 'invalid', reason: 'the answer is about XNYS', sent: true })
  expect(outcome).not.toHaveProperty('value')
  expect((await client.exchanges({ pageSize: 1 }, permit, never)).kind).toBe('invalid')
})
