import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  LARGEST_BATCH_BYTES,
  recordBytes,
  splitIntoSends,
} from '../../../src/log-kafka/client/batch-splitting.ts'
import type { NewRecord } from '../../../src/log-kafka/client/records.ts'

const someRecords = fc
  .array(fc.integer({ min: 1, max: LARGEST_BATCH_BYTES + 100_000 }), { maxLength: 12 })
  .map((sizes): NewRecord[] =>
    sizes.map((size, n) => ({ partition: 0, key: String(n), value: 'x'.repeat(size) })),
  )

describe('batch splitting in a transaction', () => {
  it('keeps each topic’s records in order, in batches that a broker accepts', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom('a', 'b', 'c'), someRecords), (byTopic) => {
        const rounds = splitIntoSends(new Map(Object.entries(byTopic)))
        for (const [topic, records] of Object.entries(byTopic)) {
          const batches = rounds.flat().filter((sent) => sent.topic === topic)
          expect(batches.flatMap(({ messages }) => messages)).toEqual(records)
          for (const { messages } of batches) {
            const bytes = messages.reduce((sum, record) => sum + recordBytes(record), 0)
            if (messages.length > 1) expect(bytes).toBeLessThanOrEqual(LARGEST_BATCH_BYTES)
          }
        }
        for (const round of rounds) expect(new Set(round.map(({ topic }) => topic)).size).toBe(round.length)
      }),
      { numRuns: 50 },
    )
  })
})
