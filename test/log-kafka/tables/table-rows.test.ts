import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { RecordName } from '../../../src/log-kafka/client/foreign-records.ts'
import type { ReadBatch } from '../../../src/log-kafka/reading/partition-reader.ts'
import { TableRows } from '../../../src/log-kafka/tables/table-rows.ts'

type Row = readonly [key: string, value: number | null]

/** A batch of rows of the table `t`. */
function batch(rows: readonly Row[], how: Partial<ReadBatch> = {}): ReadBatch {
  const records = rows.map(([key, value], offset) => ({
    offset,
    timestampMs: 0,
    key: Buffer.from(`t/${key}`),
    value: value === null ? null : Buffer.from(JSON.stringify(value)),
    headers: {},
  }))
  return { records, nextOffset: records.length, atEnd: true, rewound: null, ...how }
}

const REWOUND = { asked: 9, earliest: 0, end: 9 }

/** No rows yet; `foreign` collects the records that are left out. */
function rowsOf(foreign: RecordName[] = []): TableRows {
  return new TableRows({ topic: 'tables', onForeign: (record) => foreign.push(record) })
}

/** The rows of the table. */
function standing(rows: TableRows): Record<string, unknown> {
  return Object.fromEntries([...rows.textsOf('t')].map(([key, text]) => [key, JSON.parse(text)]))
}

/** Every change reported so far and later. */
function heard(rows: TableRows): Row[] {
  const published: Row[] = []
  void (async () => {
    for await (const changes of rows.feedOf('t').subscribe(new AbortController().signal)) {
      for (const { key, value } of changes) published.push([key, value as number | null])
    }
  })()
  return published
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('rows stay while a topic is re-read, and the differences are reported at its end', async () => {
  const rows = rowsOf()
  rows.take(batch([...Object.entries({ a: 1, b: 2, c: 3 })]))
  const published = heard(rows)
  rows.take(batch([['b', 20]], { rewound: REWOUND, atEnd: false }))
  expect(standing(rows)).toEqual({ a: 1, b: 2, c: 3 })
  expect(rows.nextOffset).toBe(0)
  rows.take(
    batch(
      [
        ['c', 3],
        ['d', 4],
      ],
      { nextOffset: 7 },
    ),
  )
  expect(standing(rows)).toEqual({ b: 20, c: 3, d: 4 })
  expect(rows.nextOffset).toBe(7)
  await turn()
  expect(published).toEqual([
    ['a', null],
    ['b', 20],
    ['d', 4],
  ])
})

test('a second re-read before the end discards the first one', () => {
  const rows = rowsOf()
  rows.take(batch([['a', 1]]))
  rows.take(batch([['x', 1]], { rewound: REWOUND, atEnd: false }))
  rows.take(batch([['b', 2]], { rewound: REWOUND }))
  expect(standing(rows)).toEqual({ b: 2 })
})

test('no row exists or is reported before the topic was first read to its end', async () => {
  const rows = rowsOf()
  const published = heard(rows)
  rows.take(batch([['a', 1]], { atEnd: false }))
  expect(standing(rows)).toEqual({})
  rows.take(batch([['b', 2]]))
  expect(standing(rows)).toEqual({ a: 1, b: 2 })
  await turn()
  expect(published).toEqual([])
})

test('through any writes, missed records and re-reads, reported changes add up to the rows', async () => {
  const change = fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.option(fc.nat(3), { nil: null }))
  const step = fc.record({ changes: fc.array(change, { maxLength: 5 }), missed: fc.boolean() })
  await fc.assert(
    fc.asyncProperty(fc.array(step), async (steps) => {
      const rows = rowsOf()
      rows.take(batch([]))
      const published = heard(rows)
      const truth = new Map<string, number>()
      for (const { changes, missed } of steps) {
        for (const [key, value] of changes) value === null ? truth.delete(key) : truth.set(key, value)
        // A compacted topic returns current rows, and no record of rows deleted long ago.
        rows.take(missed ? batch([...truth], { rewound: REWOUND }) : batch(changes))
        expect(standing(rows)).toEqual(Object.fromEntries(truth))
      }
      await turn()
      const applied = new Map<string, number>()
      for (const [key, value] of published) value === null ? applied.delete(key) : applied.set(key, value)
      expect(applied).toEqual(truth)
    }),
  )
})

/** One record that holds what no bridge stores. */
function garbage(key: string, how: Partial<ReadBatch> = {}): ReadBatch {
  const record = { timestampMs: 0, key: Buffer.from(key), value: Buffer.from('hello'), headers: {} }
  return { ...batch([]), records: [{ ...record, offset: 5 }], ...how }
}

const damageOf = (key: string) =>
  expect.objectContaining({
    code: 'log_damaged',
    message: `the value stored under ${key}, at offset 5 of tables, is not JSON`,
    hint: expect.stringContaining(`a record with the key ${key} and no value`),
  })

test('a value of a table in use that is not JSON is damage that names its row, in the first reading and later', () => {
  const first = rowsOf()
  first.feedOf('t')
  expect(() => first.take(garbage('t/a'))).toThrow(damageOf('t/a'))
  const rows = rowsOf()
  rows.feedOf('t')
  rows.take(batch([['b', 1]]))
  expect(() => rows.take(garbage('t/a'))).toThrow(damageOf('t/a'))
})

test('a damaged row that is deleted or written again by the end of the first reading is none', () => {
  const rows = rowsOf()
  rows.feedOf('t')
  rows.take(garbage('t/a', { atEnd: false }))
  rows.take(garbage('t/b', { atEnd: false }))
  rows.take(
    batch([
      ['a', null],
      ['b', 2],
    ]),
  )
  expect(standing(rows)).toEqual({ b: 2 })
})

test.each(['foreign', '/foreign', 't/', ''])('a record with the key "%s" is foreign, and left out', (key) => {
  const foreign: RecordName[] = []
  const rows = rowsOf(foreign)
  rows.feedOf('t')
  rows.take(garbage(key, { atEnd: false }))
  rows.take(batch([['a', 1]]))
  rows.take(garbage(key))
  expect(standing(rows)).toEqual({ a: 1 })
  expect(foreign).toEqual([
    { offset: 5, key },
    { offset: 5, key },
  ])
})

test('an unreadable row of a table that nobody uses is foreign; who uses the table later learns of the damage', () => {
  const foreign: RecordName[] = []
  const rows = rowsOf(foreign)
  rows.take(batch([['a', 1]]))
  rows.take(garbage('of-a-newer-version/x'))
  expect(standing(rows)).toEqual({ a: 1 })
  expect(foreign).toEqual([{ offset: 5, key: 'of-a-newer-version/x' }])
  expect(() => rows.textsOf('of-a-newer-version')).toThrow(damageOf('of-a-newer-version/x'))
})
