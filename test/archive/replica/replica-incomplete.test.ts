/** What every reader of a node is told while its copy of the log is filled. */
import { expect, test } from 'vitest'
import { createReader, type ReadRequest } from '../../../src/archive/reading/reader.ts'
import { createCopyProgress } from '../../../src/archive/store/replica-progress.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { openCopy } from '../../api/routes/replica-server.ts'
import { type ApiServer, startApi, until } from '../../support/http/api-server.ts'
import { openStream } from '../../support/streams/ws-client.ts'

/** A node that holds four of ten events; `here.latest` is what the copy is said to hold. */
async function startFilling() {
  const here = { oldest: 1, latest: 4 }
  const copy = createCopyProgress(() => here)
  const api = await startApi({
    count: 4,
    reader: ({ archive, tail }) => createReader(archive, tail, systemClock, copy),
  })
  return { api, here, copy }
}

async function answers(api: ApiServer) {
  const json = { ...api.auth, 'content-type': 'application/json' }
  const requests = [
    fetch(`${api.url}/v1/disclosures`, { headers: api.auth }),
    fetch(`${api.url}/v1/events`, { headers: api.auth }),
    fetch(`${api.url}/v1/filters/test`, { method: 'POST', headers: json, body: '{"filter":{}}' }),
  ]
  return Promise.all(
    requests.map(async (request) => {
      const response = await request
      const { detail } = (await response.json()) as { detail: string }
      return [response.status, response.headers.get('retry-after'), detail]
    }),
  )
}

test('reads answer 503 with Retry-After and say how far the copy is', async () => {
  const { api, copy } = await startFilling()
  await using _ = api
  const unknown = [503, '5', 'this node has not compared its copy with the log yet']
  expect(await answers(api)).toEqual([unknown, unknown, unknown])
  copy.compared(10)
  const filling = [503, '5', 'this node is filling its copy of the log: 40 % is here, up to event 4 of 10']
  expect(await answers(api)).toEqual([filling, filling, filling])
})

test('reads are answered as soon as the copy is whole', async () => {
  const { api, here, copy } = await startFilling()
  await using _ = api
  copy.compared(10)
  here.latest = 10
  copy.advanced()
  const response = await fetch(`${api.url}/v1/disclosures`, { headers: api.auth })
  expect([response.status, ((await response.json()) as { data: unknown[] }).data.length]).toEqual([200, 4])
})

/** A node with a whole copy of four events, read one by one; it is filled anew when `begins` says so of a call. */
function startWhole(begins: (call: 'read' | 'wait', times: number) => boolean) {
  const here = { oldest: 1, latest: 4 }
  const copy = createCopyProgress(() => here)
  copy.compared(4)
  const times = { read: 0, wait: 0 }
  return startApi({
    count: 4,
    reader({ archive, tail }) {
      const reader = createReader(archive, tail, systemClock, copy)
      const called = (call: 'read' | 'wait'): void => {
        times[call] += 1
        if (!begins(call, times[call])) return
        copy.emptied(10)
        tail.reset(0)
      }
      return Object.create(reader, {
        read: {
          async value(request: ReadRequest) {
            const result = await reader.read({ ...request, limit: 1 })
            called('read')
            return result
          },
        },
        waitBeyond: {
          async value(sequence: number, signal: AbortSignal) {
            const waiting = reader.waitBeyond(sequence, signal)
            called('wait')
            await waiting
          },
        },
      })
    },
  })
}

test('a long poll that waits when the copy is filled anew answers 503, and no place of the log before', async () => {
  // The streams' own wait is the first.
  await using api = await startWhole((call, times) => call === 'wait' && times === 2)
  const wait = '/v1/disclosures?fcaCategories=XX&wait=20'
  expect((await fetch(`${api.url}${wait}`, { headers: api.auth })).status).toBe(503)
})

test('a filter that is tried when the copy is filled anew answers 503', async () => {
  await using api = await startWhole((call, times) => call === 'read' && times === 2)
  const headers = { ...api.auth, 'content-type': 'application/json' }
  const trial = { method: 'POST', headers, body: '{"filter":{}}' }
  expect((await fetch(`${api.url}/v1/filters/test`, trial)).status).toBe(503)
})

test('a WebSocket is let in and told nothing of the log before the copy is whole', async () => {
  const { api, here, copy } = await startFilling()
  await using _ = api
  const client = await openStream(api)
  client.send({ action: 'subscribe', from: { tail: 2 } })
  await client.next('authenticated')
  copy.compared(10)
  // Another request's answer comes later than what this one would have caused.
  await answers(api)
  expect(client.types()).toEqual(['authenticated'])
  here.latest = 10
  copy.advanced()
  await client.next('live')
  expect(client.types()).toEqual(['authenticated', 'hello', 'subscribed', 'disclosure', 'disclosure', 'live'])
})

test('a WebSocket that waits for the copy is told to come back when the node stops', async () => {
  const { api } = await startFilling()
  await using _ = api
  const client = await openStream(api)
  await client.next('authenticated')
  api.stop()
  expect((await client.closed).code).toBe(4200)
  expect(client.types()).toEqual(['authenticated', 'going_away'])
  await until(() => client.webSocket.readyState === client.webSocket.CLOSED)
})

test('the upstream API answers 503 in the body of upstream', async () => {
  const here = { oldest: 1, latest: 1 }
  const copy = createCopyProgress(() => here)
  const server = await openCopy(0, copy)
  copy.compared(4)
  for (const path of ['', '/some-guid']) {
    const reply = await server.get(path)
    expect([reply.status, reply.headers.get('retry-after')]).toEqual([503, '5'])
    expect(JSON.stringify(reply.body)).toContain('25 % is here, up to event 1 of 4')
  }
})
