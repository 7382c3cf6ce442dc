/** Test vectors: the three forms of frame lengths, masks, and sizes at the server's limits. */
import {
  FIN,
  frame,
  frameWithLength,
  length16,
  length64,
  MASKED,
  OPCODES,
} from '../../../support/streams/raw-stream.ts'
import { command, commandOf, fragments, type Section, textFrame, type Vector } from './vector.ts'

const { text, binary, ping } = OPCODES
const PING = command('x')
const KIB = 1024
const bare = { pong: null }
const noMask = Buffer.alloc(0)

const texts: Vector[] = [17, 125, 126, 127, 128, 65_535, 65_536, 65_537].map((bytes) => ({
  name: `a text of ${bytes} bytes`,
  send: [textFrame(commandOf(bytes))],
  replies: [bare],
}))

const chopped: Vector[] = [
  [125, 1],
  [126, 1],
  [128, 3],
  [65_535, 997],
  [65_536, 997],
  [65_536, 16_384],
].map(([bytes = 0, chop = 1]) => ({
  name: `a text of ${bytes} bytes, ${chop} a write`,
  send: [textFrame(commandOf(bytes))],
  chop,
  replies: [bare],
}))

const binaries: Vector[] = [0, 1, 125, 126, 127, 128, 65_535, 65_536].map((bytes) => ({
  name: `a binary message of ${bytes} bytes`,
  send: [frame(FIN | binary, Buffer.alloc(bytes, 0xfe))],
  replies: [{ error: 400 }],
  closes: 1003,
}))

/** Frames with the given lengths and masks. */
const lengths: Vector[] = [
  {
    name: 'an empty text',
    send: [textFrame('')],
    replies: [{ error: 400 }],
  },
  {
    name: 'a length below 126 in 16 bits',
    send: [frameWithLength(FIN | text, length16(PING.length), PING)],
    replies: [{ pong: 'x' }],
  },
  {
    name: 'a length below 126 in 64 bits',
    send: [frameWithLength(FIN | text, length64(BigInt(PING.length)), PING)],
    replies: [{ pong: 'x' }],
  },
  {
    name: 'a length of 16 bits in 64',
    send: [frameWithLength(FIN | text, length64(300n), commandOf(300))],
    replies: [bare],
  },
  {
    name: 'no bytes, said in 64 bits',
    send: [frameWithLength(FIN | text, length64(0n), '')],
    replies: [{ error: 400 }],
  },
  { name: 'a length of 2^63', send: [frame(FIN | text, '', 2n ** 63n)], closes: 1009 },
  { name: 'a length of 2^64 - 1', send: [frame(FIN | text, '', 2n ** 64n - 1n)], closes: 1009 },
  { name: 'a length of 2^53', send: [frame(FIN | text, '', 2n ** 53n)], closes: 1009 },
  { name: 'a length of 2^32', send: [frame(FIN | text, '', 2n ** 32n)], closes: 1009 },
  { name: 'a length of 2^31', send: [frame(FIN | binary, '', 2n ** 31n)], closes: 1009 },
]

const sizes: Vector[] = [
  { name: 'a text of 256 KiB', send: [textFrame(commandOf(256 * KIB))], replies: [bare] },
  {
    name: 'a text of 256 KiB and a byte',
    send: [textFrame(commandOf(256 * KIB + 1))],
    replies: [{ error: 400 }],
    closes: 1009,
  },
  {
    name: 'a text of 256 KiB in four frames',
    send: fragments(commandOf(64 * KIB), ...Array<string>(3).fill(' '.repeat(64 * KIB))),
    replies: [bare],
  },
  {
    name: 'a text of 256 KiB and a byte in five frames',
    send: fragments(commandOf(64 * KIB), ...Array<string>(3).fill(' '.repeat(64 * KIB)), ' '),
    replies: [{ error: 400 }],
    closes: 1009,
  },
  { name: 'a frame that says it has 1 MiB', send: [frame(FIN | text, '', 1n << 20n)], closes: 1009 },
]

const masks: Vector[] = [
  ['zero', [0, 0, 0, 0]],
  ['all ones', [255, 255, 255, 255]],
  ['of one bit', [0, 0, 0, 1]],
  ['like text', [0x7b, 0x22, 0x61, 0x63]],
].map(([name, mask]) => ({
  name: `a mask that is ${name}`,
  send: [
    frameWithLength(FIN | text, Buffer.from([MASKED | PING.length]), PING, Buffer.from(mask as number[])),
  ],
  replies: [{ pong: 'x' }],
}))

const unmasked: Vector[] = [
  ['text', FIN | text],
  ['first part of a text', text],
  ['binary message', FIN | binary],
  ['ping', FIN | ping],
  ['pong', FIN | OPCODES.pong],
].map(([name, first]) => ({
  name: `a ${name} without mask`,
  send: [frameWithLength(first as number, Buffer.from([2]), '{}', noMask)].map(plain),
  closes: 1002,
}))

/** A frame without a mask has its payload unchanged. */
function plain(bytes: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(0, 2), Buffer.from('{}')])
}

export const framing: Section[] = [
  { title: 'lengths of texts (§5.2)', vectors: [...texts, ...chopped] },
  { title: 'binary messages, which we do not speak (§7.4.1)', vectors: binaries },
  { title: 'forms of a length (§5.2)', vectors: lengths },
  { title: 'sizes at our bounds (§10.4)', vectors: sizes },
  {
    title: 'masks (§5.3)',
    vectors: [
      ...masks,
      ...unmasked,
      {
        name: 'a close without mask',
        send: [Buffer.from([FIN | OPCODES.close, 2, 0x03, 0xe8])],
        closes: 1002,
      },
      {
        name: 'a text without mask behind one with it',
        before: [textFrame(PING)],
        send: [Buffer.from([FIN | text, 2, 0x7b, 0x7d])],
        replies: [{ pong: 'x' }],
        closes: 1002,
      },
    ],
  },
]
