import fc from 'fast-check'
import { expect, test } from 'vitest'
import { rejectedHash } from '../../src/log/events.ts'
import { hashesWithin } from '../../src/log-embedded/writer-tables.ts'

test('the newest texts are hashed, newest last, and no further one is read once the window is full', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ maxLength: 30 })),
      fc.nat(30),
      fc.integer({ min: 1, max: 200 }),
      (newestFirst, limit, mostBytes) => {
        const read: string[] = []
        const texts = function* () {
          for (const text of newestFirst) {
            read.push(text)
            yield text
          }
        }
        const hashes = hashesWithin(texts(), { limit, mostBytes })
        expect(hashes).toEqual(read.map(rejectedHash).reverse())
        expect(read.length).toBeLessThanOrEqual(limit)
        const beforeLast = read.slice(0, -1).reduce((sum, text) => sum + Buffer.byteLength(text), 0)
        expect(beforeLast).toBeLessThan(mostBytes)
        const isFull =
          read.length === limit || read.reduce((sum, text) => sum + Buffer.byteLength(text), 0) >= mostBytes
        expect(isFull || read.length === newestFirst.length).toBe(true)
      },
    ),
  )
})
