import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { WHOLE } from '../../src/archive/copy-progress.ts'
import type { Reader } from '../../src/archive/reader.ts'
import { resumeAt } from '../../src/archive/resume.ts'
import { encodeCursor } from '../../src/core/cursor.ts'
import type { Filter } from '../../src/core/filter.ts'
import { runSession } from '../../src/feed/session.ts'
import type { Sink } from '../../src/feed/sink.ts'
import { RETRY_FRAME, sseFraming } from '../../src/feed/sse-frames.ts'
import { createManualClock } from '../support/manual-clock.ts'
import { createStore, EPOCH, type Store } from '../support/store.ts'

interface Message {
  event: string
  id: string
  data: string
}

/** Parses what a client that was cut after `bytes` would have understood. */
function parse(bytes: Buffer): { messages: Message[]; lastId: string } {
  const messages: Message[] = []
  let lastId = ''
  for (const block of bytes.toString().split('\n\n').slice(0, -1)) {
    const message: Message = { event: 'message', id: '', data: '' }
    for (const line of block.split('\n')) {
      const [name = '', value = ''] = [
        line.slice(0, line.indexOf(':')),
        line.slice(line.indexOf(':') + 1).trimStart(),
      ]
      if (name === 'event') message.event = value
      if (name === 'id') lastId = message.id = value
      if (name === 'data') message.data = value
    }
    if (message.data !== '') messages.push(message)
  }
  return { messages, lastId }
}

function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(() => setImmediate(resolve))))
}

function open(store: Store, options: { after: number; cursor?: string; filter?: Filter; slow?: boolean }) {
  const clock = createManualClock()
  const gone = new AbortController()
  const stopping = new AbortController()
  const written: Buffer[] = []
  const room = { open: (): void => {}, stall: (): void => {} }
  const sink: Sink = {
    write(bytes) {
      written.push(Buffer.from(bytes))
      return options.slow !== true
    },
    room: (signal) =>
      new Promise((resolve) => {
        room.open = () => resolve(true)
        room.stall = () => resolve(false)
        signal.addEventListener('abort', room.stall, { once: true })
      }),
  }
  const ended = runSession({
    reader: store.reader,
    filter: options.filter ?? null,
    start: {
      after: options.after,
      cursor: options.cursor ?? store.reader.cursorAt(options.after),
      notice: null,
    },
    framing: sseFraming,
    opening: RETRY_FRAME,
    sink,
    clock,
    gone: gone.signal,
    stopping: stopping.signal,
    reconnectInMs: 1234,
    onSent: () => {},
    onCursor: () => {},
    onSlow: () => {},
  })
  return {
    clock,
    gone,
    stopping,
    ended,
    room,
    text: () => Buffer.concat(written),
    writes: () => written.length,
  }
}

/** A reader whose store can be swapped, as when a copy is rebuilt under its readers. */
function switching(state: { current: Reader }): Reader {
  return {
    copy: WHOLE,
    get epoch() {
      return state.current.epoch
    },
    get oldest() {
      return state.current.oldest
    },
    get latest() {
      return state.current.latest
    },
    read: (request) => state.current.read(request),
    cursorAt: (sequence) => state.current.cursorAt(sequence),
    sequenceSince: (timeMs) => state.current.sequenceSince(timeMs),
    beforeLast: (filter, count, signal) => state.current.beforeLast(filter, count, signal),
    waitBeyond: (sequence, signal) => state.current.waitBeyond(sequence, signal),
  }
}

const sequences = (messages: Message[]): number[] =>
  messages
    .filter((message) => message.event === 'disclosure')
    .map((message) => Number((JSON.parse(message.data) as { sequence: string }).sequence))

describe('a session', () => {
  it('replays from its position, says once that it is live, then follows, with no seam', async () => {
    const store = createStore(createManualClock(), 1200)
    const session = open(store, { after: 1000 })
    await settle()
    store.grow(3)
    await settle()
    session.gone.abort()
    expect(await session.ended).toBe('gone')
    const { messages } = parse(session.text())
    expect(sequences(messages)).toEqual(Array.from({ length: 203 }, (_, index) => 1001 + index))
    expect(messages.filter((message) => message.event === 'live').length).toBe(1)
    expect(messages[200]?.event).toBe('live')
  })

  it('gives a sign of life after 15 s of silence, with the place where a narrow filter stands', async () => {
    const store = createStore(createManualClock(), 5)
    const session = open(store, { after: 0, filter: { fcaCategories: ['FR'] } })
    await settle()
    store.grow(3)
    await settle()
    session.clock.advance(15_000)
    await settle()
    session.gone.abort()
    await session.ended
    const { lastId, messages } = parse(session.text())
    expect(sequences(messages)).toEqual([])
    expect(session.text().toString()).toContain(': heartbeat')
    expect(resumeAt(store.reader, lastId, 0)).toMatchObject({ after: 8 })
  })

  it('tells a reader to come back when this node stops', async () => {
    const session = open(createStore(createManualClock(), 5), { after: 5 })
    await settle()
    session.stopping.abort()
    expect(await session.ended).toBe('drained')
    expect(session.text().toString()).toMatch(/event: going_away\ndata: \{"reconnectInMs":1234\}\n\n$/)
  })

  it('pulls nothing while its reader is slow, and ends when its sink sees no progress', async () => {
    const store = createStore(createManualClock(), 400)
    const session = open(store, { after: 0, slow: true })
    await settle()
    session.room.open()
    await settle()
    const before = session.writes()
    store.grow(100)
    await settle()
    expect(session.writes()).toBe(before)
    session.room.stall()
    expect(await session.ended).toBe('too_slow')
  })

  it('waits where its cursor is ahead of this copy, and is live only beyond it', async () => {
    const store = createStore(createManualClock(), 5)
    const ahead = encodeCursor({ epoch: EPOCH, sequence: 7, timeMs: 5 })
    const session = open(store, { after: 7, cursor: ahead })
    await settle()
    expect(session.text().toString()).toBe('retry: 3000\n\n')
    store.grow(1)
    await settle()
    session.clock.advance(15_000)
    await settle()
    expect(parse(session.text()).lastId).toBe(ahead)
    store.grow(3)
    await settle()
    session.gone.abort()
    await session.ended
    expect(sequences(parse(session.text()).messages)).toEqual([8, 9])
    expect(parse(session.text()).messages.map(({ event }) => event)).toEqual([
      'disclosure',
      'disclosure',
      'live',
    ])
  })

  it('ends when what it has not read is no longer kept, without sending what comes after', async () => {
    const store = createStore(createManualClock(), 10)
    const reader = Object.create(store.reader, { oldest: { get: () => 7 } }) as Store['reader']
    const session = open({ ...store, reader }, { after: 3 })
    expect(await session.ended).toBe('fell_behind')
    expect(session.text().toString()).not.toContain('disclosure')
  })

  it('goes on in another epoch after a gap that says so', async () => {
    const old = createStore(createManualClock(), 10)
    const fresh = createStore(createManualClock(), 3, 1, 'Epoch002')
    const state = { current: old.reader }
    const reader = switching(state)
    const session = open({ ...old, reader }, { after: 10 })
    await settle()
    state.current = fresh.reader
    session.clock.advance(15_000)
    await settle()
    session.gone.abort()
    await session.ended
    const { messages } = parse(session.text())
    expect(messages.map(({ event }) => event)).toEqual([
      'live',
      'gap',
      'disclosure',
      'disclosure',
      'disclosure',
    ])
    expect(JSON.parse(messages[1]?.data ?? '')).toMatchObject({ epoch: 'Epoch002', data: { cause: 'epoch' } })
    expect(sequences(messages)).toEqual([1, 2, 3])
  })

  it('cut at random and resumed with the last id sees every matching event once, in order', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 6 }),
        fc.boolean(),
        fc.array(fc.integer({ min: 0, max: 300 }), { minLength: 1, maxLength: 6 }),
        async (cuts, narrow, growth) => {
          const store = createStore(createManualClock(), 50)
          const filter: Filter | undefined = narrow ? { fcaCategories: ['FR'] } : undefined
          const seen: number[] = []
          let lastId = store.reader.cursorAt(0)
          const lives: { cut: number; grow: number }[] = growth.map((grow, index) => ({
            cut: cuts[index] ?? 1,
            grow,
          }))
          for (const { cut, grow } of [...lives, { cut: 1, grow: 0 }]) {
            const resume = resumeAt(store.reader, lastId, 0)
            if (resume.kind !== 'from') throw new Error('too old')
            const session = open(store, { after: resume.after, ...(filter === undefined ? {} : { filter }) })
            await settle()
            store.grow(grow)
            await settle()
            session.gone.abort()
            await session.ended
            const text = session.text()
            const kept = parse(text.subarray(0, Math.floor(text.length * cut)))
            seen.push(...sequences(kept.messages))
            if (kept.lastId !== '') lastId = kept.lastId
          }
          const all = Array.from({ length: store.reader.latest }, (_, index) => index + 1)
          expect(seen).toEqual(narrow ? all.filter((sequence) => sequence % 10 === 0) : all)
        },
      ),
      { numRuns: 20 },
    )
  })
})
