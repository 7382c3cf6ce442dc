import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { encodeCursor } from '../../../src/core/cursor.ts'
import { streamCloseCodes } from '../../../src/obs/metrics.ts'
import { type CloseCode, closeCodes, type ProtocolCode } from '../../../src/streams/transport/refusal.ts'
import { root } from '../../support/house/repository.ts'
import { type ApiServer, startApi, until } from '../../support/http/api-server.ts'
import { knows } from '../../support/http/callers.ts'
import { metric } from '../../support/metric.ts'
import { EPOCH } from '../../support/store.ts'
import { largeEvents } from '../../support/streams/large-events.ts'
import { FIN, frame, OPCODES, openRaw, type RawStream } from '../../support/streams/raw-stream.ts'

const { text, binary, continuation } = OPCODES

/** A server, the client's action that makes it close, and the client's headers. */
interface Way {
  server?: Parameters<typeof startApi>[0]
  authorization?: string
  does?: (client: RawStream, api: ApiServer) => void | Promise<void>
}

const says = (message: object) => (client: RawStream) =>
  client.send(frame(FIN | text, JSON.stringify(message)))
const sends =
  (...frames: Buffer[]) =>
  (client: RawStream) =>
    client.send(...frames)
const subscribe = (from: unknown) => says({ action: 'subscribe', from })
const unreadable: NonNullable<Way['server']> = {
  reader: ({ reader }) =>
    Object.create(reader, { read: { value: () => Promise.reject(new Error('of this test')) } }),
}

/** How to provoke each code; the compiler refuses a table that lacks one. */
const ways: Record<CloseCode | Exclude<ProtocolCode, '1009'>, Way> = {
  1002: { does: sends(frame(FIN | 3)) },
  1003: { does: sends(frame(FIN | binary, '{"action":"ping"}')) },
  1007: { does: sends(frame(FIN | text, Buffer.from([0xc3, 0x28]))) },
  1008: { does: sends(frame(text, '{'), ...Array(1100).fill(frame(continuation, ' '))) },
  1009: { does: sends(frame(FIN | text, 'x'.repeat(256 * 1024 + 1))) },
  1011: { server: unreadable, does: subscribe('live') },
  4001: { authorization: 'Bearer wrong' },
  4003: {
    server: { authenticate: knows({ other: { scopes: ['admin'] } }) },
    authorization: 'Bearer other',
  },
  4006: { server: { authenticate: knows({ reader: {} }), maxPerToken: 0 }, authorization: 'Bearer reader' },
  4007: {
    async does(client, api) {
      await until(() => client.texts.length === 2)
      const page = (await (await fetch(`${api.url}/v1/streams`, { headers: api.auth })).json()) as {
        data: { id: string }[]
      }
      await fetch(`${api.url}/v1/streams/${page.data[0]?.id}`, { method: 'DELETE', headers: api.auth })
    },
  },
  4010: {
    server: { first: 50, count: 3 },
    does: subscribe({ after: encodeCursor({ epoch: EPOCH, sequence: 3, timeMs: 0 }) }),
  },
  4100: { server: { maxClients: 0 } },
  4108: {
    server: { count: 400, reader: largeEvents },
    async does(client, api) {
      client.pause()
      subscribe('earliest')(client)
      await until(async () => (await metric(api, 'stream_slow_clients')) === 1)
      await until(async () => {
        api.clock.advance(1000)
        return (await metric(api, 'stream_slow_clients')) === 0
      })
      client.resume()
    },
  },
  4129: { does: sends(...Array(21).fill(frame(FIN | text, '{"action":"ping"}'))) },
  4200: {
    async does(client, api) {
      await until(() => client.texts.length === 2)
      api.stop()
    },
  },
  4201: {
    async does(client, api) {
      await until(() => client.texts.length === 2)
      api.clock.advance(30_000)
      await until(() => client.pings.length === 1)
      api.clock.advance(10_000)
    },
  },
}

test.each(Object.entries(ways))('the client receives %s, and the metrics count it', async (code, way) => {
  await using api = await startApi(way.server)
  const { authorization, does } = way
  const client = await openRaw(api, authorization === undefined ? {} : { authorization })
  await does?.(client, api)
  expect(await client.ended).toBe(Number(code))
  await until(async () => (await metric(api, `stream_closes_total{transport="ws",code="${code}"}`)) === 1)
  expect(await metric(api, 'stream_clients{transport="ws"}')).toBe(0)
})

test('every close code has its series and its line in the docs', () => {
  const lines = readFileSync(join(root, 'docs/use/websocket.md'), 'utf8').split('\n')
  const documented = lines
    .flatMap((line) => /^\| ([\d, ]+) \|/.exec(line)?.[1]?.split(', ') ?? [])
    .filter((code) => code.length === 4)
  const codes = [...new Set([...closeCodes.map(String), ...Object.keys(ways)])].sort()
  expect(documented.sort()).toEqual(codes)
  expect(streamCloseCodes.filter((code) => /^\d{4}$/.test(code))).toEqual(codes)
})
