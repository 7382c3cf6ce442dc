/** Test vectors: texts in several frames, and which frames may come between. */
import { FIN, frame, OPCODES } from '../../../support/streams/raw-stream.ts'
import { closeFrame, command, fragments, type Section, textFrame, type Vector } from './vector.ts'

const { text, binary, continuation, ping, pong } = OPCODES
const FIRST = command('first')
const answered = [{ pong: 'first' }]
const [head = '', middle = '', tail = ''] = [FIRST.slice(0, 7), FIRST.slice(7, 20), FIRST.slice(20)]
const p = [Buffer.from('p')]
const pingFrame = frame(FIN | ping, 'p')

const understood: Vector[] = [
  { name: 'a text in two frames', send: fragments(head, middle + tail), replies: answered },
  { name: 'a text in three frames', send: fragments(head, middle, tail), replies: answered },
  { name: 'a text of a frame for each byte', send: fragments(...FIRST), replies: answered },
  {
    name: 'a text in three frames, a byte a write',
    send: fragments(head, middle, tail),
    chop: 1,
    replies: answered,
  },
  { name: 'a text whose first frame is empty', send: fragments('', FIRST), replies: answered },
  { name: 'a text whose last frame is empty', send: fragments(FIRST, ''), replies: answered },
  {
    name: 'a text with empty frames inside',
    send: fragments('', head, '', '', middle + tail, ''),
    replies: answered,
  },
  { name: 'three empty frames', send: fragments('', '', ''), replies: [{ error: 400 }] },
  {
    name: 'a ping inside a text',
    send: [frame(text, head), pingFrame, frame(FIN | continuation, middle + tail)],
    replies: answered,
    pongs: p,
  },
  {
    name: 'a ping inside a text, a byte a write',
    send: [frame(text, head), pingFrame, frame(FIN | continuation, middle + tail)],
    chop: 1,
    replies: answered,
    pongs: p,
  },
  {
    name: 'a ping behind each frame of a text',
    send: fragments(head, middle, tail).flatMap((part) => [part, pingFrame]),
    replies: answered,
    pongs: [...p, ...p, ...p],
  },
  {
    name: 'a pong inside a text',
    send: [frame(text, head), frame(FIN | pong, 'p'), frame(FIN | continuation, middle + tail)],
    replies: answered,
  },
  {
    name: 'two texts in pieces, one behind the other',
    send: [...fragments(head, middle + tail), ...fragments('{"action":', '"ping","id":"second"}')],
    replies: [...answered, { pong: 'second' }],
  },
  {
    name: 'a text in 1,000 frames',
    send: fragments(FIRST, ...Array<string>(999).fill(' ')),
    replies: answered,
  },
]

const broken: Vector[] = [
  { name: 'a continuation of nothing that ends', send: [frame(FIN | continuation, FIRST)] },
  { name: 'a continuation of nothing that goes on', send: [frame(continuation, FIRST)] },
  { name: 'an empty continuation of nothing', send: [frame(FIN | continuation)] },
  {
    name: 'a continuation of nothing, then a text',
    send: [frame(FIN | continuation, 'x'), textFrame(FIRST)],
  },
  {
    name: 'a continuation of nothing that goes on, a byte a write',
    send: [frame(continuation, FIRST), textFrame(FIRST)],
    chop: 1,
  },
  { name: 'a text inside a text', send: [frame(text, head), textFrame(FIRST)] },
  { name: 'a text inside a text, a byte a write', send: [frame(text, head), textFrame(FIRST)], chop: 1 },
  { name: 'the beginning of a text inside a text', send: [frame(text, head), frame(text, head)] },
  { name: 'a binary message inside a text', send: [frame(text, head), frame(FIN | binary, 'x')] },
  { name: 'the beginning of a binary message inside a text', send: [frame(text, head), frame(binary, 'x')] },
  { name: 'a text inside a binary message', send: [frame(binary, 'x'), textFrame(FIRST)] },
  {
    name: 'a ping in pieces inside a text',
    send: [frame(text, head), frame(ping, 'a'), frame(FIN | continuation, tail)],
  },
].map((vector) => ({ ...vector, closes: 1002 }))

const afterWhole: Vector[] = [
  {
    name: 'a continuation behind a whole text',
    before: [textFrame(FIRST)],
    send: [frame(FIN | continuation, 'x')],
    replies: answered,
    closes: 1002,
  },
  {
    name: 'a continuation behind a text in pieces',
    before: fragments(head, middle + tail),
    send: [frame(continuation, 'x')],
    replies: answered,
    closes: 1002,
  },
  {
    name: 'a ping inside a text that is then broken off by another',
    send: [frame(text, head), pingFrame, textFrame(FIRST)],
    pongs: p,
    closes: 1002,
  },
  {
    name: 'a binary message in pieces',
    send: [frame(binary, 'a'), frame(FIN | continuation, 'b')],
    replies: [{ error: 400 }],
    closes: 1003,
  },
  { name: 'a close inside a text', send: [frame(text, head), closeFrame(1000)], closes: 1000 },
  {
    name: 'a text in more than 1,024 frames',
    send: [frame(text, '{'), ...Array<Buffer>(1100).fill(frame(continuation, ' '))],
    closes: 1008,
  },
]

export const fragmentation: Section[] = [
  { title: 'texts in pieces (§5.4)', vectors: understood },
  { title: 'pieces that do not fit (§5.4)', vectors: [...broken, ...afterWhole] },
]
