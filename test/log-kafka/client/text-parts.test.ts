import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LARGEST_BATCH_BYTES, recordBytes } from '../../../src/log-kafka/client/batch-splitting.ts'
import type { KafkaRecord } from '../../../src/log-kafka/client/partition-protocol.ts'
import type { NewRecord } from '../../../src/log-kafka/client/records.ts'
import { TextAssembly, textRecords } from '../../../src/log-kafka/client/text-parts.ts'

/** The record as it is read back. */
function readBack({ key, value, headers = {} }: NewRecord): KafkaRecord {
  const bytes = (text: string | null): Buffer | null => (text === null ? null : Buffer.from(text))
  const marks = Object.entries(headers).map(([name, text]) => [name, Buffer.from(text)])
  return {
    offset: 0,
    timestampMs: 0,
    key: bytes(key),
    value: bytes(value),
    headers: Object.fromEntries(marks),
  }
}

const someText = fc
  .tuple(fc.string({ unit: 'binary', maxLength: 9 }), fc.constantFrom(0, 1, 40_000))
  .map(([text, times]) => text.repeat(times))

test('a text of any length survives splitting into parts that a broker accepts', () => {
  fc.assert(
    fc.property(someText, (text) => {
      const records = textRecords('key', text, 'id')
      expect(records.every((record) => recordBytes(record) <= LARGEST_BATCH_BYTES)).toBe(true)
      const assembly = new TextAssembly()
      const taken = records.map((record) => assembly.take(readBack(record)))
      expect(taken.slice(0, -1).every((part) => part === null)).toBe(true)
      expect(taken.at(-1) === text).toBe(true)
    }),
    { numRuns: 40 },
  )
})

test('the parts of two texts under one key stay apart, and an incomplete text is never returned', () => {
  const [one, other] = ['a'.repeat(500_000), 'b'.repeat(500_000)].map((text, index) =>
    textRecords('key', text, `text ${index}`).map(readBack),
  )
  if (one === undefined || other === undefined) throw new Error('two texts')
  const assembly = new TextAssembly()
  const mixed = one.flatMap((record, index) => (index === 1 ? [other[1]] : [other[index], record]))
  const given = mixed.flatMap((record) => (record === undefined ? [] : (assembly.take(record) ?? [])))
  expect(given).toEqual(['b'.repeat(500_000)])
})
