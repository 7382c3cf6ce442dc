/** Tests the client over connections that break anywhere, with readers of any speed, against the real server. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Filter } from '../../clients/typescript/src/messages.ts'
import { connect } from '../../clients/typescript/src/stream.ts'
import { startApi, TOKEN } from '../support/http/api-server.ts'
import { startCuttingProxy } from '../support/streams/cutting-proxy.ts'

const EVENTS = 150
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

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index)
}
