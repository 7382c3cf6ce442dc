/** Test vectors: how a connection is closed. */
import { FIN, frame, OPCODES } from '../../../support/streams/raw-stream.ts'
import { closeFrame, command, fragments, hex, type Section, textFrame, type Vector } from './vector.ts'

const { text, continuation, ping, close } = OPCODES
const PING = command('x')
const answered = [{ pong: 'x' }]

const order: Vector[] = [
  { name: 'a close without a code', send: [frame(FIN | close)], closes: 1005 },
  { name: 'a close without a code, a byte a write', send: [frame(FIN | close)], chop: 1, closes: 1005 },
  {
    name: 'a text, then a close',
    before: [textFrame(PING)],
    send: [closeFrame(1000)],
    replies: answered,
    closes: 1000,
  },
  { name: 'two closes', send: [closeFrame(1000), closeFrame(1001)], closes: 1000 },
  { name: 'a close, then a ping', send: [closeFrame(1000), frame(FIN | ping, 'unseen')], closes: 1000 },
  { name: 'a close, then a text', send: [closeFrame(1000), textFrame(PING)], closes: 1000 },
  { name: 'a close, then a broken frame', send: [closeFrame(1000), frame(0x7f, 'x')], closes: 1000 },
  { name: 'a close, then bytes', send: [closeFrame(1000), Buffer.alloc(5000, 0xff)], closes: 1000 },
  {
    name: 'a close inside a text, then the rest of it',
    send: [frame(text, PING.slice(0, 5)), closeFrame(1000), frame(FIN | continuation, PING.slice(5))],
    closes: 1000,
  },
  {
    name: 'a text of 256 KiB in pieces, a close, a ping',
    before: fragments(PING, ...Array<string>(4).fill(' '.repeat(65_000))),
    send: [closeFrame(1000), frame(FIN | ping, 'unseen')],
    replies: answered,
    closes: 1000,
  },
]

const reasons: Vector[] = [
  { name: 'a close of one byte', send: [frame(FIN | close, hex('03'))], closes: 1002 },
  {
    name: 'a close of one byte, a byte a write',
    send: [frame(FIN | close, hex('03'))],
    chop: 1,
    closes: 1002,
  },
  { name: 'a code and no reason', send: [closeFrame(1000)], closes: 1000 },
  { name: 'a code and a reason', send: [closeFrame(1000, 'Grüße, κόσμε')], closes: 1000 },
  { name: 'a code and a reason, a byte a write', send: [closeFrame(1000, 'Grüße')], chop: 1, closes: 1000 },
  { name: 'a reason of 123 bytes', send: [closeFrame(1000, '*'.repeat(123))], closes: 1000 },
  { name: 'a reason of 124 bytes', send: [closeFrame(1000, '*'.repeat(124))], closes: 1002 },
  { name: 'a reason that is no UTF-8', send: [closeFrame(1000, hex('c3 28'))], closes: 1007 },
  { name: 'a reason with half a surrogate pair', send: [closeFrame(1000, hex('ed a0 80'))], closes: 1007 },
  { name: 'a reason that ends inside a character', send: [closeFrame(1000, hex('61 e2 82'))], closes: 1007 },
  { name: 'a reason in an overlong form', send: [closeFrame(1000, hex('c0 af'))], closes: 1007 },
]

const allowed: Vector[] = [
  1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4108, 4999,
].map((code) => ({ name: `code ${code}`, send: [closeFrame(code, 'why')], closes: code }))

const forbidden: Vector[] = [
  0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1099, 1100, 2000, 2999, 5000, 65_535,
].map((code) => ({
  name: `code ${code}, which nobody may send`,
  send: [closeFrame(code, 'why')],
  closes: 1002,
}))

export const closing: Section[] = [
  { title: 'the closing handshake (§5.5.1)', vectors: order },
  { title: 'codes and reasons (§5.5.1)', vectors: reasons },
  { title: 'codes that may be sent (§7.4)', vectors: allowed },
  { title: 'codes that may not (§7.4)', vectors: forbidden },
]
