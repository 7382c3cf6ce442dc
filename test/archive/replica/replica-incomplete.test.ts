/** Tests what readers of a node get while its replica of the log is being filled. */
import { expect, test } from 'vitest'
import { createReader, type ReadRequest } from '../../../src/archive/reading/reader.ts'
import { createReplicaProgress } from '../../../src/archive/store/replica-progress.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { openCopy } from '../../api/routes/replica-server.ts'
import { type ApiServer, startApi, until } from '../../support/http/api-server.ts'
import { openStream } from '../../support/streams/ws-client.ts'

/** A node with four of ten events; `here.latest` is the replica's reported position. */
async function startFilling() {
  const here = { oldest: 1, latest: 4 }
  const replica = createReplicaProgress(() => here)
  const api = await startApi({
    count: 4,
    reader: ({ archive, recentEvents }) => createReader(archive, recentEvents, systemClock, replica),
  })
  return { api, here, replica }
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

test('reads return 503 with Retry-After and the progress of the replica', async () => {
  const { api, replica } = await startFilling()
  await using _ = api
  const unknown = [503, '5', 'this node has not compared its replica with the log yet']
  expect(await answers(api)).toEqual([unknown, unknown, unknown])
  replica.compared(10)
  const filling = [503, '5', 'this node is filling its replica of the log: 40 % done, event 4 of 10']
  expect(await answers(api)).toEqual([filling, filling, filling])
})

test('reads succeed as soon as the replica is complete', async () => {
  const { api, here, replica } = await startFilling()
  await using _ = api
  replica.compared(10)
  here.latest = 10
  replica.advanced()
  const response = await fetch(`${api.url}/v1/disclosures`, { headers: api.auth })
  expect([response.status, ((await response.json()) as { data: unknown[] }).data.length]).toEqual([200, 4])
})

/** A node with a complete replica of four events, read one by one; the replica is refilled when `begins` returns true. */
function startWhole(begins: (call: 'read' | 'wait', times: number) => boolean) {
  const here = { oldest: 1, latest: 4 }
  const replica = createReplicaProgress(() => here)
  replica.compared(4)
  const times = { read: 0, wait: 0 }
  return startApi({
    count: 4,
    reader({ archive, recentEvents }) {
      const reader = createReader(archive, recentEvents, systemClock, replica)
      const called = (call: 'read' | 'wait'): void => {
        times[call] += 1
        if (!begins(call, times[call])) return
        replica.emptied(10)
        recentEvents.reset(0)
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

test('a waiting long poll returns 503 when the replica is refilled, without a position of the old log', async () => {
  // The streams' own wait is the first.
  await using api = await startWhole((call, times) => call === 'wait' && times === 2)
  const wait = '/v1/disclosures?fcaCategories=XX&wait=20'
  expect((await fetch(`${api.url}${wait}`, { headers: api.auth })).status).toBe(503)
})

test('a filter test returns 503 while the replica is refilled', async () => {
  await using api = await startWhole((call, times) => call === 'read' && times === 2)
  const headers = { ...api.auth, 'content-type': 'application/json' }
  const trial = { method: 'POST', headers, body: '{"filter":{}}' }
  expect((await fetch(`${api.url}/v1/filters/test`, trial)).status).toBe(503)
})

test('a WebSocket is accepted but gets no events before the replica is complete', async () => {
  const { api, here, replica } = await startFilling()
  await using _ = api
  const client = await openStream(api)
  client.send({ action: 'subscribe', from: { tail: 2 } })
  await client.next('authenticated')
  replica.compared(10)
  // By the time another request has its response, this one would have had its effect.
  await answers(api)
  expect(client.types()).toEqual(['authenticated'])
  here.latest = 10
  replica.advanced()
  await client.next('live')
  expect(client.types()).toEqual(['authenticated', 'hello', 'subscribed', 'disclosure', 'disclosure', 'live'])
})

test('a WebSocket that waits for the replica gets a reconnect close code when the node stops', async () => {
  const { api } = await startFilling()
  await using _ = api
  const client = await openStream(api)
  await client.next('authenticated')
  api.stop()
  expect((await client.closed).code).toBe(4200)
  expect(client.types()).toEqual(['authenticated', 'going_away'])
  await until(() => client.webSocket.readyState === client.webSocket.CLOSED)
})

test('the mirror of the upstream API returns 503 with upstream’s error body', async () => {
  const here = { oldest: 1, latest: 1 }
  const replica = createReplicaProgress(() => here)
  const server = await openCopy(0, replica)
  replica.compared(4)
  for (const path of ['', '/some-guid']) {
    const reply = await server.get(path)
    expect([reply.status, reply.headers.get('retry-after')]).toEqual([503, '5'])
    expect(JSON.stringify(reply.body)).toContain('25 % done, event 1 of 4')
  }
})
