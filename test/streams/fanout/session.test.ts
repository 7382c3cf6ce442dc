import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Reader } from '../../../src/archive/reading/reader.ts'
import { resumeAt } from '../../../src/archive/reading/resume.ts'
import { COMPLETE_REPLICA } from '../../../src/archive/store/replica-progress.ts'
import { encodeCursor } from '../../../src/core/cursor.ts'
import type { Filter } from '../../../src/core/filter/filter.ts'
import { createStore, EPOCH, eventAt, REPLICA, type Store } from '../../support/store.ts'
import { node, open, parse, sequences, settle } from '../../support/streams/one-session.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

/** A reader whose store can be swapped, as when a replica is rebuilt under its readers. */
function switching(state: { current: Reader }): Reader {
  return {
    replica: COMPLETE_REPLICA,
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
    readBack: (request) => state.current.readBack(request),
    cursorAt: (sequence) => state.current.cursorAt(sequence),
    timeOf: (sequence) => state.current.timeOf(sequence),
    recordedAt: (sequence) => state.current.recordedAt(sequence),
    sharedThrough: (epoch) => state.current.sharedThrough(epoch),
    sequenceSince: (timeMs) => state.current.sequenceSince(timeMs),
    beforeLast: (filter, count, signal) => state.current.beforeLast(filter, count, signal),
    waitBeyond: (sequence, signal) => state.current.waitBeyond(sequence, signal),
  }
}

describe('a session', () => {
  it('replays from its position, sends live once, then follows without a hole or repeat', async () => {
    const store = createStore(createManualClock(), 1200)
    const session = open(store, { after: 1000 })
    await settle()
    store.grow(3)
    await settle()
    await session.stop()
    const { messages } = parse(session.text())
    expect(sequences(messages)).toEqual(Array.from({ length: 203 }, (_, index) => 1001 + index))
    expect(messages.filter((message) => message.event === 'live').length).toBe(1)
    expect(messages[200]?.event).toBe('live')
  })

  it('accounts for live events from when the log stored them, and for earlier ones not at all', async () => {
    const store = createStore(createManualClock(), 5)
    const session = open(store, { after: 0 })
    await settle()
    store.grow(1)
    await settle()
    await session.stop()
    expect(session.committedMs).toEqual([null, Date.parse(eventAt(6).recordedtime)])
  })

  it('sends a heartbeat after 15 s of silence, with the resume point of a narrow filter', async () => {
    const store = createStore(createManualClock(), 5)
    const session = open(store, { after: 0, filter: { fcaCategories: ['FR'] } })
    await settle()
    store.grow(3)
    await settle()
    session.clock.advance(15_000)
    await settle()
    await session.stop()
    const { lastId, messages } = parse(session.text())
    expect(sequences(messages)).toEqual([])
    expect(session.text().toString()).toContain(': heartbeat')
    expect(resumeAt(store.reader, lastId, 0)).toMatchObject({ after: 8 })
  })

  it('tells of a silent leader within 13 s of its last word, and then every 15 s as always', async () => {
    const store = createStore(createManualClock(), 5)
    const at: { asOf: string | null } = { asOf: null }
    const shared = node(store.reader, () => at)
    const { clock } = shared.parts
    const says = (): void => {
      at.asOf = new Date(clock.now()).toISOString()
    }
    says()
    const session = open(store, { after: 5 }, shared)
    const beats = (): number =>
      session
        .text()
        .toString()
        .match(/^: heartbeat /gm)?.length ?? 0
    const passed = async (seconds: number, saysEvery = Number.POSITIVE_INFINITY): Promise<number> => {
      const before = beats()
      for (let second = 1; second <= seconds; second += 1) {
        clock.advance(1000)
        if (second % saysEvery === 0) says()
        await settle()
      }
      return beats() - before
    }
    expect(await passed(70, 5)).toBe(4)
    // The usual one, 15 s after the last.
    expect(await passed(9)).toBe(1)
    expect(await passed(4)).toBe(1)
    expect(await passed(11)).toBe(0)
    expect(await passed(31)).toBe(2)
    says()
    expect(await passed(30, 5)).toBe(2)
    await session.stop()
  })

  it('sends the heartbeats of server-sent events every 15 s while events come, too', async () => {
    const store = createStore(createManualClock(), 5)
    const session = open(store, { after: 0 })
    for (let second = 0; second < 46; second += 1) {
      await settle()
      store.grow(1)
      session.clock.advance(1_000)
    }
    await session.stop()
    expect(
      session
        .text()
        .toString()
        .match(/^: heartbeat /gm),
    ).toHaveLength(3)
  })

  it('sends with a heartbeat the cursor of what it has sent, not of what the node has matched for others', async () => {
    const store = createStore(createManualClock(), 5)
    const neverReads = { value: () => new Promise(() => {}) }
    const reader = Object.create(store.reader, { read: neverReads }) as Store['reader']
    const session = open({ ...store, reader }, { after: 2 })
    session.clock.advance(15_000)
    await session.stop()
    const { lastId } = parse(session.text())
    expect(session.text().toString()).toContain(': heartbeat')
    expect(resumeAt(store.reader, lastId, 0)).toMatchObject({ after: 2 })
    expect(session.session.cursor).toBe(store.reader.cursorAt(2))
  })

  it('ends at its maximum age, once it has caught up', async () => {
    const store = createStore(createManualClock(), 5)
    const session = open(store, { after: 0, endsMs: createManualClock().now() + 20_000 })
    await settle()
    session.clock.advance(15_000)
    expect(sequences(parse(session.text()).messages)).toEqual([1, 2, 3, 4, 5])
    session.clock.advance(15_000)
    expect(await session.ended).toBe('lifetime_over')
    await session.stop()
  })

  it('reads nothing while its client is slow, and resumes at its position', async () => {
    const store = createStore(createManualClock(), 400)
    const session = open(store, { after: 0, slow: true })
    await settle()
    expect(session.writes()).toBe(1)
    store.grow(100)
    session.clock.advance(60_000)
    await settle()
    expect(session.writes()).toBe(1)
    for (let block = 0; block < 20; block++) {
      session.room()
      await settle()
    }
    await session.stop()
    const { messages } = parse(session.text())
    expect(sequences(messages)).toEqual(Array.from({ length: 500 }, (_, index) => 1 + index))
  })

  it('waits while its cursor is ahead of this replica, and sends live only past it', async () => {
    const store = createStore(createManualClock(), 5, 1, EPOCH, REPLICA)
    const ahead = encodeCursor({ epoch: EPOCH, sequence: 7, timeMs: eventAt(7).timeMs })
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
    await session.stop()
    expect(sequences(parse(session.text()).messages)).toEqual([8, 9])
    expect(parse(session.text()).messages.map(({ event }) => event)).toEqual([
      'disclosure',
      'disclosure',
      'live',
    ])
  })

  it('resolves a cursor ahead of this replica again once that is reached: of another history, it gets a gap', async () => {
    const store = createStore(createManualClock(), 5, 1, EPOCH, REPLICA)
    const ahead = encodeCursor({ epoch: EPOCH, sequence: 7, timeMs: eventAt(7).timeMs + 1 })
    const session = open(store, { after: 7, cursor: ahead })
    await settle()
    store.grow(1)
    await settle()
    expect(session.text().toString()).toBe('retry: 3000\n\n')
    store.grow(3)
    await settle()
    store.grow(1)
    await settle()
    await session.stop()
    const { messages } = parse(session.text())
    expect(messages[0]?.event).toBe('gap')
    expect(JSON.parse(messages[0]?.data ?? '')).toMatchObject({ data: { cause: 'epoch' } })
    expect(sequences(messages)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    expect(messages.filter(({ event }) => event === 'live').length).toBe(1)
  })

  it('ends when its next events are beyond retention, without sending later ones', async () => {
    const store = createStore(createManualClock(), 10)
    const reader = Object.create(store.reader, { oldest: { get: () => 7 } }) as Store['reader']
    const session = open({ ...store, reader }, { after: 3 })
    await settle()
    expect(session.text().toString()).not.toContain('disclosure')
    expect(await session.ended).toBe('fell_behind')
  })

  it('reads nothing more once its node stops, however far it lags', async () => {
    const store = createStore(createManualClock(), 1200)
    let reads = 0
    const read: Reader['read'] = (request) => {
      reads += 1
      if (reads > 100) throw new Error('a read that brings nothing is tried again and again')
      return store.reader.read(request)
    }
    const reader = Object.create(store.reader, { read: { value: read } }) as Store['reader']
    const session = open({ ...store, reader }, { after: 0, slow: true })
    session.room()
    await settle()
    session.stopNode()
    session.room()
    await settle()
    expect(reads).toBe(1)
    await session.stop()
  })

  it('continues in another epoch after a gap that announces the change', async () => {
    const old = createStore(createManualClock(), 10)
    const fresh = createStore(createManualClock(), 3, 1, 'Epoch002')
    const state = { current: old.reader }
    const reader = switching(state)
    const session = open({ ...old, reader }, { after: 10 })
    await settle()
    state.current = fresh.reader
    session.clock.advance(15_000)
    await settle()
    await session.stop()
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

  it('delivers every matching event once and in order when cut at random and resumed with the last id', async () => {
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
            await session.stop()
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
