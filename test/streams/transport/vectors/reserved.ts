/** Test vectors: reserved bits and opcodes. */
import { deflateRawSync } from 'node:zlib'
import { FIN, frame, OPCODES } from '../../../support/streams/raw-stream.ts'
import { command, type Section, textFrame, type Vector } from './vector.ts'

const { text, binary, continuation, ping, pong, close } = OPCODES
const PING = command('x')
const answered = [{ pong: 'x' }]

const bits: Vector[] = [1, 2, 3, 4, 5, 6, 7].flatMap((reserved) => {
  const bitsOf = reserved << 4
  const name = `with reserved bits ${reserved.toString(2).padStart(3, '0')}`
  return [
    { name: `a text ${name}`, send: [frame(FIN | bitsOf | text, PING)], closes: 1002 },
    {
      name: `a text ${name} behind one without, and a ping that is not seen`,
      before: [textFrame(PING)],
      send: [frame(FIN | bitsOf | text, PING), frame(FIN | ping, 'unseen')],
      replies: answered,
      closes: 1002,
    },
    {
      name: `a text ${name}, a byte a write`,
      send: [frame(FIN | bitsOf | text, PING)],
      chop: 1,
      closes: 1002,
    },
    { name: `a binary message ${name}`, send: [frame(FIN | bitsOf | binary, PING)], closes: 1002 },
    {
      name: `a continuation ${name}`,
      send: [frame(text, PING.slice(0, 5)), frame(FIN | bitsOf | continuation, PING.slice(5))],
      closes: 1002,
    },
    { name: `a ping ${name}`, send: [frame(FIN | bitsOf | ping, 'p')], closes: 1002 },
    { name: `a pong ${name}`, send: [frame(FIN | bitsOf | pong, 'p')], closes: 1002 },
    { name: `a close ${name}`, send: [frame(FIN | bitsOf | close)], closes: 1002 },
  ]
})

const opcodes: Vector[] = [3, 4, 5, 6, 7, 11, 12, 13, 14, 15].flatMap((opcode) => [
  { name: `opcode ${opcode}, empty`, send: [frame(FIN | opcode)], closes: 1002 },
  { name: `opcode ${opcode} with a payload`, send: [frame(FIN | opcode, PING)], closes: 1002 },
  {
    name: `opcode ${opcode} behind a text, and a ping that is not seen`,
    before: [textFrame(PING)],
    send: [frame(FIN | opcode, 'x'), frame(FIN | ping, 'unseen')],
    replies: answered,
    closes: 1002,
  },
  {
    name: `opcode ${opcode} inside a text, a byte a write`,
    send: [frame(text, PING.slice(0, 5)), frame(FIN | opcode, 'x'), frame(FIN | continuation, PING.slice(5))],
    chop: 1,
    closes: 1002,
  },
])

const COMPRESSED = FIN | 0x40
const bomb = deflateRawSync(Buffer.alloc(10 * 1024 * 1024, 0x20))

const compressed: Vector[] = [
  {
    name: 'a compressed text, which was not agreed upon',
    send: [frame(COMPRESSED | text, deflateRawSync(PING))],
    closes: 1002,
  },
  { name: 'ten mebibytes in ten kibibytes', send: [frame(COMPRESSED | text, bomb)], closes: 1002 },
  {
    name: 'the same in two frames',
    send: [frame(0x40 | text, bomb.subarray(0, 100)), frame(FIN | continuation, bomb.subarray(100))],
    closes: 1002,
  },
]

export const reserved: Section[] = [
  { title: 'reserved bits (§5.2)', vectors: bits },
  { title: 'reserved opcodes (§5.2)', vectors: opcodes },
  { title: 'compression, which is never agreed upon (RFC 7692)', vectors: compressed },
]
