import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { textFrame } from '../../../src/streams/transport/ws-frames.ts'
import { startApi, until } from '../../support/http/api-server.ts'
import { metric } from '../../support/metric.ts'
import { FIN, frame, OPCODES, openRaw } from '../../support/streams/raw-stream.ts'
import { openStream } from '../../support/streams/ws-client.ts'

const { continuation, text, binary, close, ping } = OPCODES
const PING = '{"action":"ping"}'
const invalidUtf8 = Buffer.from([0x7b, 0xc3, 0x28])
const halfCharacter = Buffer.from([0xe2, 0x82])
const code = (value: number) => Buffer.from([value >> 8, value & 0xff])

describe('unusual and broken frames', () => {
  test.each([
    ['a frame without mask', 1002, [Buffer.from([FIN | text, 2, 0x7b, 0x7d])]],
    ['a reserved opcode', 1002, [frame(FIN | 3, PING)]],
    ['a reserved control opcode', 1002, [frame(FIN | 0xb)]],
    ['the first reserved bit', 1002, [frame(FIN | 0x40 | text, PING)]],
    ['the second reserved bit', 1002, [frame(FIN | 0x20 | text, PING)]],
    ['the third reserved bit', 1002, [frame(FIN | 0x10 | text, PING)]],
    ['a control frame above 125 bytes', 1002, [frame(FIN | ping, 'x'.repeat(126))]],
    ['a fragmented control frame', 1002, [frame(ping, 'x'), frame(FIN | continuation)]],
    ['a continuation of nothing', 1002, [frame(FIN | continuation, PING)]],
    ['a message inside a message', 1002, [frame(text, '{'), frame(FIN | text, PING)]],
    ['a close frame of one byte', 1002, [frame(FIN | close, 'x')]],
    ['a close code that nobody may send', 1002, [frame(FIN | close, code(1005))]],
    ['broken UTF-8', 1007, [frame(FIN | text, invalidUtf8)]],
    ['a character that never ends', 1007, [frame(text, halfCharacter), frame(FIN | continuation)]],
    ['broken UTF-8 in a close reason', 1007, [frame(FIN | close, Buffer.concat([code(1000), invalidUtf8]))]],
    ['a length of 2^63', 1009, [frame(FIN | text, '', 2n ** 63n)]],
    ['a length of 2^40', 1009, [frame(FIN | text, '', 2n ** 40n)]],
    [
      'a fragmented message that is too large',
      1009,
      Array(6)
        .fill(frame(text, 'x'.repeat(60_000)))
        .map((piece, index) => (index === 0 ? piece : frame(continuation, 'x'.repeat(60_000)))),
    ],
    [
      'a message in too many fragments',
      1008,
      [frame(text, '{'), ...Array(1100).fill(frame(continuation, ' '))],
    ],
    ['a binary message', 1003, [frame(FIN | binary, PING)]],
  ])('%s closes with %d, is counted, and the next client is served', async (_what, wanted, pieces) => {
    await using api = await startApi()
    const client = await openRaw(api)
    client.send(...pieces)
    expect(await client.ended).toBe(wanted)
    await until(async () => (await metric(api, `stream_closes_total{transport="ws",code="${wanted}"}`)) === 1)
    await (await openStream(api)).next('hello')
    expect(api.lines.filter(({ level }) => level === 'error')).toEqual([])
  })

  test('that are only unusual are decoded: fragments with a ping between them, characters split over two', async () => {
    await using api = await startApi()
    const client = await openRaw(api)
    const euro = Buffer.from('€')
    client.send(
      frame(text, '{"action":"ping",'),
      frame(FIN | ping, 'x'),
      frame(continuation),
      frame(continuation, Buffer.concat([Buffer.from('"id":"'), euro.subarray(0, 1)])),
      frame(FIN | continuation, Buffer.concat([euro.subarray(1), Buffer.from('"}')])),
    )
    await until(() => client.texts.length === 3)
    expect(JSON.parse(client.texts[2] ?? '')).toEqual({ type: 'pong', id: '€' })
    client.send(frame(FIN | close, code(1000)))
    expect(await client.ended).toBe(1000)
  })

  test('at random never crash the server', async () => {
    await using api = await startApi({ count: 5 })
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.oneof(
            fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
            fc
              .tuple(fc.integer({ min: 0, max: 255 }), fc.uint8Array({ maxLength: 130 }))
              .map(([first, bytes]) => frame(first, Buffer.from(bytes))),
            fc.json().map((json) => frame(FIN | text, json.slice(0, 60_000))),
          ),
          { maxLength: 9 },
        ),
        async (pieces) => {
          const client = await openRaw(api)
          client.send(...pieces)
          client.finish()
          await client.ended
        },
      ),
      { numRuns: 60 },
    )
    await (await openStream(api)).next('hello')
    expect(api.lines.filter(({ level }) => level === 'error')).toEqual([])
  })
})

test('the frame header encodes the length in 1, 3 or 9 bytes', () => {
  const headOf = (length: number) => textFrame(Buffer.alloc(length))[0]?.toString('hex')
  expect([0, 125, 126, 65_535, 65_536].map(headOf)).toEqual([
    '8100',
    '817d',
    '817e007e',
    '817effff',
    '817f0000000000010000',
  ])
})
