/** Test vectors: pings and pongs, and the allowed forms of control frames. */
import { FIN, frame, OPCODES } from '../../../support/streams/raw-stream.ts'
import { command, type Section, textFrame, type Vector } from './vector.ts'

const { ping, pong, close } = OPCODES
const payloads: [name: string, payload: Buffer][] = [
  ['without payload', Buffer.alloc(0)],
  ['with a text', Buffer.from('Hello, wörld')],
  ['with bytes that are no text', Buffer.from([0x00, 0xff, 0xfe, 0xfd, 0xfc, 0xfb, 0x00, 0xff])],
  ['of 124 bytes', Buffer.alloc(124, 0xfe)],
  ['of 125 bytes', Buffer.alloc(125, 0xfe)],
]

const pings: Vector[] = payloads.flatMap(([name, payload]) => [
  { name: `a ping ${name}`, send: [frame(FIN | ping, payload)], pongs: [payload] },
  { name: `a ping ${name}, a byte a write`, send: [frame(FIN | ping, payload)], chop: 1, pongs: [payload] },
])

const several = Array.from({ length: 9 }, (_, index) => Buffer.from(`payload ${index}`))

const pongs: Vector[] = [
  ...payloads.map(([name, payload]) => ({
    name: `a pong that nobody asked for, ${name}`,
    send: [frame(FIN | pong, payload)],
  })),
  {
    name: 'a pong that nobody asked for, then a ping',
    send: [frame(FIN | pong, 'unasked'), frame(FIN | ping, 'asked')],
    pongs: [Buffer.from('asked')],
  },
  {
    name: 'a ping between two texts',
    send: [textFrame(command('1')), frame(FIN | ping, 'p'), textFrame(command('2'))],
    replies: [{ pong: '1' }, { pong: '2' }],
    pongs: [Buffer.from('p')],
  },
]

const kinds = [
  ['ping', ping],
  ['pong', pong],
  ['close', close],
] as const

const malformed: Vector[] = kinds.flatMap(([name, opcode]) => [
  { name: `a ${name} of 126 bytes`, send: [frame(FIN | opcode, Buffer.alloc(126, 0x20))], closes: 1002 },
  {
    name: `a ${name} of 126 bytes, a byte a write`,
    send: [frame(FIN | opcode, Buffer.alloc(126, 0x20))],
    chop: 1,
    closes: 1002,
  },
  { name: `a ${name} of 65,536 bytes`, send: [frame(FIN | opcode, Buffer.alloc(65_536))], closes: 1002 },
  {
    name: `a ${name} of 2 bytes, said in 64 bits`,
    send: [frame(FIN | opcode, '\u0003\u0000', 2n)],
    closes: 1002,
  },
  { name: `a ${name} that is to be continued`, send: [frame(opcode, '')], closes: 1002 },
  {
    name: `a ${name} in two frames`,
    send: [frame(opcode, 'a'), frame(FIN | OPCODES.continuation, 'b')],
    closes: 1002,
  },
])

export const control: Section[] = [
  {
    title: 'pings (§5.5.2)',
    vectors: [
      ...pings,
      { name: 'nine pings', send: several.map((payload) => frame(FIN | ping, payload)), pongs: several },
      {
        name: 'nine pings, three bytes a write',
        send: several.map((payload) => frame(FIN | ping, payload)),
        chop: 3,
        pongs: several,
      },
    ],
  },
  { title: 'pongs (§5.5.3)', vectors: pongs },
  { title: 'control frames that are none (§5.5)', vectors: malformed },
]
