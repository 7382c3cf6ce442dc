import fc from 'fast-check'
import { expect, test } from 'vitest'
import { apiKeys, correlationOf, createFrameSplitter, framed, requestFrame, requestHeader } from './frames.ts'

const payloads = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 8 })
/** Lengths of the pieces in which a stream arrives; the last one is repeated to its end. */
const pieces = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 40 })
const int16 = fc.integer({ min: -32_768, max: 32_767 })
const int32 = fc.integer({ min: -2_147_483_648, max: 2_147_483_647 })

function* cut(stream: Buffer, lengths: number[]): Generator<Buffer> {
  let at = 0
  for (let index = 0; at < stream.length; index++) {
    const length = lengths[Math.min(index, lengths.length - 1)] ?? 1
    yield stream.subarray(at, at + length)
    at += length
  }
}

test('a stream cut anywhere decodes to the frames that were sent', () => {
  fc.assert(
    fc.property(payloads, pieces, (sent, lengths) => {
      const frames = sent.map((payload) => framed(Buffer.from(payload)))
      const splitter = createFrameSplitter()
      const got = [...cut(Buffer.concat(frames), lengths)].flatMap((chunk) => splitter.push(chunk))
      expect(got.map((frame) => frame.toString('hex'))).toEqual(frames.map((frame) => frame.toString('hex')))
    }),
  )
})

test('an incomplete frame is kept back', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 40 }), fc.nat(43), (payload, cutAt) => {
      const frame = framed(Buffer.from(payload))
      const at = cutAt % frame.length
      const splitter = createFrameSplitter()
      expect(splitter.push(frame.subarray(0, at))).toEqual([])
      expect(splitter.push(frame.subarray(at))).toEqual([frame])
    }),
  )
})

test('a request holds its API, its version and the correlation id of its response', () => {
  fc.assert(
    fc.property(
      int16,
      int16,
      int32,
      fc.string({ maxLength: 20 }),
      (apiKey, apiVersion, correlationId, client) => {
        const header = { apiKey, apiVersion, correlationId }
        expect(requestHeader(requestFrame(header, client, Buffer.from('body')))).toEqual(header)
        const reply = Buffer.alloc(4)
        reply.writeInt32BE(correlationId)
        expect(correlationOf(framed(reply))).toBe(correlationId)
      },
    ),
  )
})

test('data that is not Kafka, or encrypted, is refused', () => {
  const tlsHandshake = Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00])
  expect(() => createFrameSplitter().push(tlsHandshake)).toThrow('encrypted')
  expect(() => createFrameSplitter().push(Buffer.from([0xff, 0xff, 0xff, 0xff]))).toThrow('not Kafka')
  expect(() => requestHeader(framed(Buffer.from([0, apiKeys.endTxn])))).toThrow('A request of 6 bytes')
  expect(() => correlationOf(framed(Buffer.alloc(2)))).toThrow('A reply of 6 bytes')
})
