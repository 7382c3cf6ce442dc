/** Tests the client over connections that break anywhere, with readers of any speed, against the real server. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Filter } from '../../clients/typescript/src/messages.ts'
import { connect } from '../../clients/typescript/src/stream.ts'
import { startApi, TOKEN } from '../support/http/api-server.ts'
import { startCuttingProxy } from '../support/streams/cutting-proxy.ts'

const EVENTS = 150
/** More than a chunk of the socket and a buffer hold. */
const MANY = 1000
/** With fewer bytes the greeting and one event would not pass. */
const SHORTEST_LIFE_BYTES = 2000

test('the client delivers every matching event once and in order, however often its connection is cut and however slowly it reads', async () => {
  await using api = await startApi({ count: EVENTS })
  await using proxy = await startCuttingProxy(Number(new URL(api.url).port))
  const filters: [Filter, number[]][] = [
    [{}, range(1, EVENTS)],
    [{ fcaCategories: ['FR'] }, range(1, EVENTS).filter((sequence) => sequence % 10 === 0)],
  ]
  const worlds = fc.record({
    filter: fc.constantFrom(...filters),
    lifeBytes: fc.integer({ min: SHORTEST_LIFE_BYTES, max: 60_000 }),
    bufferChars: fc.integer({ min: 1000, max: 40_000 }),
    slowEvery: fc.integer({ min: 1, max: 20 }),
  })
  await fc.assert(
    fc.asyncProperty(worlds, async ({ filter: [filter, wanted], lifeBytes, bufferChars, slowEvery }) => {
      proxy.cutAfter(lifeBytes)
      const options = { url: proxy.url, token: TOKEN, filter, from: 'earliest', bufferChars } as const
      const stream = connect({ ...options, chance: () => 0 })
      const sequences: number[] = []
      for await (const message of stream) {
        if (message.type === 'live') break
        if (message.type !== 'disclosure') continue
        sequences.push(Number(message.event.sequence))
        if (sequences.length % slowEvery === 0) await new Promise((resolve) => setImmediate(resolve))
      }
      expect(sequences).toEqual(wanted)
    }),
    { numRuns: 25 },
  )
})

/** How often a connection is cut, how little is buffered, and how slow the reader is. */
const trouble = fc.record({
  lifeBytes: fc.integer({ min: 2 * SHORTEST_LIFE_BYTES, max: 60_000 }),
  bufferChars: fc.integer({ min: 1000, max: 40_000 }),
  slowEvery: fc.integer({ min: 1, max: 20 }),
})

test('several subscriptions each get every event that they want, once and in order, over the same cuts', async () => {
  await using api = await startApi({ count: EVENTS })
  await using proxy = await startCuttingProxy(Number(new URL(api.url).port))
  const subscriptions = {
    all: { from: 'earliest' },
    few: { filter: { fcaCategories: ['FR'] }, from: 'earliest' },
    last: { from: { tail: 3 } },
  } as const
  await fc.assert(
    fc.asyncProperty(trouble, async ({ lifeBytes, bufferChars, slowEvery }) => {
      proxy.cutAfter(lifeBytes)
      const options = { url: proxy.url, token: TOKEN, subscriptions, bufferChars } as const
      const stream = connect({ ...options, chance: () => 0 })
      const sequences: Record<string, number[]> = { all: [], few: [], last: [] }
      const live = new Set<string>()
      let count = 0
      for await (const message of stream) {
        if (message.type === 'live') live.add(message.id ?? '')
        if (live.size === 3) break
        if (message.type !== 'disclosure') continue
        sequences[message.id ?? '']?.push(Number(message.event.sequence))
        count += 1
        if (count % slowEvery === 0) await new Promise((resolve) => setImmediate(resolve))
      }
      expect(sequences).toEqual({
        all: range(1, EVENTS),
        few: range(1, EVENTS).filter((sequence) => sequence % 10 === 0),
        last: range(EVENTS - 2, EVENTS),
      })
    }),
    { numRuns: 15 },
  )
})

test('a filter that changes at any moment loses and repeats nothing, over the same cuts', async () => {
  await using api = await startApi({ count: MANY })
  await using proxy = await startCuttingProxy(Number(new URL(api.url).port))
  // When the filter changes, frames of the former one are on their way, and the client never holds the end of the log.
  const moments = fc.record({
    lifeBytes: fc.integer({ min: 100_000, max: 1_000_000 }),
    bufferChars: fc.integer({ min: 80_000, max: 150_000 }),
    after: fc.integer({ min: 1, max: 60 }),
  })
  await fc.assert(
    fc.asyncProperty(moments, async ({ lifeBytes, bufferChars, after }) => {
      proxy.cutAfter(lifeBytes)
      const filter = { exclude: { fcaCategories: ['FR'] } }
      const options = { url: proxy.url, token: TOKEN, filter, from: 'earliest', bufferChars } as const
      const stream = connect({ ...options, chance: () => 0 })
      const sequences: number[] = []
      for await (const message of stream) {
        if (message.type === 'live') break
        if (message.type !== 'disclosure') continue
        sequences.push(Number(message.event.sequence))
        if (sequences.length === after) stream.subscribe({})
      }
      // Up to some event those of the former filter, of which the client held some when it changed; then every one.
      const firstTenth = sequences.find((sequence) => sequence % 10 === 0) ?? MANY
      const former = range(1, firstTenth).filter((sequence) => sequence % 10 !== 0)
      expect(sequences).toEqual([...former, ...range(firstTenth, MANY)])
      expect(former.length).toBeGreaterThanOrEqual(after)
    }),
    { numRuns: 15 },
  )
})

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index)
}
