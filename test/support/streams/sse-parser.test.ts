import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createSseParser, type SseMessage } from './sse-parser.ts'

/** What a stream holds when it comes in these pieces. */
function parsed(...pieces: string[]): { messages: SseMessage[]; lastId: string; retryMs: number | null } {
  const parser = createSseParser()
  const messages = pieces.flatMap((piece) => parser.feed(piece))
  return { messages, lastId: parser.lastId, retryMs: parser.retryMs }
}

describe('the SSE parser', () => {
  test('returns each message with its event and joined lines, and keeps the last id', () => {
    const stream = 'retry: 3000\n\nevent: disclosure\nid: c1\ndata: {"a":\ndata: 1}\n\nid: c2\ndata:  two\n\n'
    expect(parsed(stream)).toEqual({
      messages: [
        { event: 'disclosure', data: '{"a":\n1}' },
        { event: 'message', data: ' two' },
      ],
      lastId: 'c2',
      retryMs: 3000,
    })
  })

  test('skips comments and unknown fields; a bare id advances the resume point without a message', () => {
    expect(parsed(': heartbeat\n\nid: c7\n\nmood: good\n\nevent: empty\n\ndata\n\n')).toEqual({
      messages: [{ event: 'message', data: '' }],
      lastId: 'c7',
      retryMs: null,
    })
  })

  test('keeps back incomplete blocks: neither message nor id', () => {
    expect(parsed('id: c1\ndata: a\n\nid: c2\ndata: b\n')).toMatchObject({
      messages: [{ data: 'a' }],
      lastId: 'c1',
    })
  })

  test('ignores a byte order mark, an id with NUL and a retry that is no number', () => {
    expect(parsed('\ufeffdata: a\nid: x\0y\nretry: soon\n\n')).toEqual({
      messages: [{ event: 'message', data: 'a' }],
      lastId: '',
      retryMs: null,
    })
  })

  test('returns the same messages however the stream is cut and whatever ends its lines', () => {
    const lines = fc.array(
      fc.constantFrom(
        '',
        '',
        'data: one',
        'data:two',
        'data',
        'id: 1',
        'id: 2',
        'event: gap',
        ': c',
        'retry: 5',
      ),
      { maxLength: 30 },
    )
    const property = fc.property(
      lines,
      fc.constantFrom('\n', '\r', '\r\n'),
      fc.array(fc.nat(), { maxLength: 20 }),
      (content, end, seeds) => {
        const plain = content.map((text) => `${text}\n`).join('')
        const stream = content.map((text) => `${text}${end}`).join('')
        const cuts = seeds.map((seed) => seed % (stream.length + 1)).sort((a, b) => a - b)
        const pieces = [0, ...cuts].map((from, index) => stream.slice(from, cuts[index]))
        expect(parsed(...pieces)).toEqual(parsed(plain))
      },
    )
    fc.assert(property)
  })

  test('gives up on a line without end instead of filling the memory', () => {
    const parser = createSseParser()
    const piece = 'x'.repeat(4 * 1024 * 1024)
    expect(() => {
      for (let count = 0; count < 5; count++) parser.feed(piece)
    }).toThrow(/more than/)
  })
})
