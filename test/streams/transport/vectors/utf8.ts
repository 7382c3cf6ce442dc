/** Test vectors: valid and invalid UTF-8, whole and split at every position. */
import { FIN, frame, OPCODES } from '../../../support/streams/raw-stream.ts'
import { command, commandAround, fragments, hex, type Section, textFrame, type Vector } from './vector.ts'

/** One character of each length, and the word of Markus Kuhn's test file. */
const MIXED = 'κόσμε é € 𝄞'

const letters: [name: string, text: string][] = [
  ['Greek with accents', 'κόσμε'],
  ['five scripts', 'aäߧ日本語हिन्दी'],
  ['beyond the first plane', '𝄞😀🏴'],
  ['a combining accent', 'e\u0301'],
  ['right to left', 'שלום \u202eabc'],
  ['a byte order mark', '\ufeffx'],
  ['the replacement character', '\ufffd'],
]
/** First and last characters of each length, the neighbours of the surrogates, and some noncharacters. */
const edges = [
  0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xfdd0, 0xfffd, 0xfffe, 0xffff, 0x10000, 0x1fffe, 0x1ffff,
  0x2fffe, 0x8ffff, 0xeffff, 0xffffe, 0xfffff, 0x10fffe, 0x10ffff,
]

const valid: Vector[] = [
  ...letters,
  ...edges.map((point): [string, string] => [
    `U+${point.toString(16).toUpperCase().padStart(4, '0')}`,
    String.fromCodePoint(point),
  ]),
].map(([name, text]) => ({
  name,
  send: [textFrame(commandAround(Buffer.from(text)))],
  replies: [{ pong: text }],
}))

const bytes = Buffer.from(command(MIXED))
const places = Array.from({ length: bytes.length - 1 }, (_, index) => index + 1)
const cuts: Vector[] = [
  ...places
    .filter((place) => ((bytes[place] ?? 0) & 0xc0) === 0x80)
    .map((place) => ({
      name: `two frames, cut before byte ${place}, inside a character`,
      send: fragments(bytes.subarray(0, place), bytes.subarray(place)),
      replies: [{ pong: MIXED }],
    })),
  {
    name: 'a frame for each byte',
    send: fragments(...[...bytes].map((byte) => Buffer.from([byte]))),
    replies: [{ pong: MIXED }],
  },
  { name: 'one frame, a byte a write', send: [textFrame(bytes)], chop: 1, replies: [{ pong: MIXED }] },
  {
    name: 'a ping inside a character',
    send: [
      frame(OPCODES.text, bytes.subarray(0, 24)),
      frame(FIN | OPCODES.ping, 'p'),
      frame(FIN | OPCODES.continuation, bytes.subarray(24)),
    ],
    replies: [{ pong: MIXED }],
    pongs: [Buffer.from('p')],
  },
]

const broken: [name: string, bytes: string][] = [
  ['a continuation byte alone', '80'],
  ['the last continuation byte alone', 'bf'],
  ['two continuation bytes', '80 bf'],
  ['seven continuation bytes', '80 bf 80 bf 80 bf 80'],
  ['a continuation byte behind a character', 'c3 a9 80'],
  ['the first of two bytes, then a space', 'c2 20'],
  ['the first of two bytes, the last there is', 'df 20'],
  ['the first of three bytes, then a space', 'e0 20'],
  ['the first of three bytes, the last there is', 'ef 20'],
  ['the first of four bytes, then a space', 'f0 20'],
  ['the first of four bytes, the last there is', 'f4 20'],
  ['two of three bytes', 'e2 82 20'],
  ['two of four bytes', 'f0 90 20'],
  ['three of four bytes', 'f0 90 80 20'],
  ['beginnings one after the other', 'c2 e2 82 f0 90 80'],
  ['a sequence of five bytes', 'f8 88 80 80 80'],
  ['a sequence of six bytes', 'fc 84 80 80 80 80'],
  ['the largest of four bytes', 'f7 bf bf bf'],
  ['the first above U+10FFFF', 'f4 90 80 80'],
  ['a beginning that only leads above U+10FFFF', 'f5 80 80 80'],
  ['the byte fe', 'fe'],
  ['the byte ff', 'ff'],
  ['fe and ff, twice each', 'fe fe ff ff'],
  ['a slash in two bytes', 'c0 af'],
  ['a slash in three bytes', 'e0 80 af'],
  ['a slash in four bytes', 'f0 80 80 af'],
  ['a slash in five bytes', 'f8 80 80 80 af'],
  ['a slash in six bytes', 'fc 80 80 80 80 af'],
  ['the largest overlong of two bytes', 'c1 bf'],
  ['the largest overlong of three bytes', 'e0 9f bf'],
  ['the largest overlong of four bytes', 'f0 8f bf bf'],
  ['NUL in two bytes', 'c0 80'],
  ['NUL in three bytes', 'e0 80 80'],
  ['NUL in four bytes', 'f0 80 80 80'],
  ['the first high surrogate', 'ed a0 80'],
  ['the last high surrogate', 'ed af bf'],
  ['the first low surrogate', 'ed b0 80'],
  ['the last low surrogate', 'ed bf bf'],
  ['a pair of surrogates', 'ed a0 bd ed b8 80'],
  ['a pair of surrogates, the last', 'ed af bf ed bf bf'],
]

const invalid: Vector[] = broken.map(([name, wrong]) => ({
  name,
  send: [textFrame(commandAround(hex(wrong)))],
  closes: 1007,
}))

const around = commandAround(hex('ce ba f4 90 80 80'))
const cutInvalid: Vector[] = [
  ...[23, 24, 25, 26, 27, 28, 29].map((place) => ({
    name: `cut before byte ${place}`,
    send: fragments(around.subarray(0, place), around.subarray(place)),
    closes: 1007,
  })),
  { name: 'a byte a write', send: [textFrame(around)], chop: 1, closes: 1007 },
  {
    name: 'a frame for each byte, in writes of seven',
    send: fragments(...[...around].map((byte) => Buffer.from([byte]))),
    chop: 7,
    closes: 1007,
  },
  {
    name: 'a character that the last frame does not end',
    send: fragments(Buffer.from('{'), hex('f0 9f 98')),
    closes: 1007,
  },
  {
    name: 'a character that an empty last frame does not end',
    send: fragments(Buffer.from('{'), hex('e2 82'), ''),
    closes: 1007,
  },
  {
    name: 'a text that was good before it',
    before: [textFrame(command('x'))],
    send: [textFrame(hex('ff'))],
    replies: [{ pong: 'x' }],
    closes: 1007,
  },
]

export const utf8: Section[] = [
  { title: 'texts in UTF-8 (§5.6)', vectors: valid },
  { title: 'texts in UTF-8, cut (§5.6)', vectors: cuts },
  { title: 'texts that are no UTF-8 (§8.1)', vectors: invalid },
  { title: 'texts that are no UTF-8, cut (§8.1)', vectors: cutInvalid },
]
