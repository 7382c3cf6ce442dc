import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { rejectedHash } from '../../src/log/events.ts'
import {
  ensureLogTables,
  hashesWithin,
  readRejectedPage,
  rejectedDropped,
  rejectedKept,
  writeRejected,
} from '../../src/log-embedded/writer-tables.ts'
import { openDatabase } from '../../src/storage/database.ts'
import { temporaryDirectory } from '../support/bridge-process.ts'

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

const itemOf = (n: number) => ({ raw: `${n}`, reason: 'no guid', guid: null, recordedtime: '' })

test('the newest rejected items are stored, and the oldest ones go once there are too many', () => {
  const db = openDatabase({ path: ':memory:', durable: false })
  ensureLogTables(db)
  const most = { count: 4, bytes: 1000 }
  expect(rejectedKept(db)).toBe(0)
  for (const n of [0, 3, 6]) writeRejected(db, [itemOf(n), itemOf(n + 1), itemOf(n + 2)], most)
  const newest = () => readRejectedPage(db, { before: null, limit: 9, mostBytes: 1e9 })
  expect(newest().map(({ place: _, ...item }) => item)).toEqual([8, 7, 6, 5].map(itemOf))
  expect([rejectedDropped(db), rejectedKept(db)]).toEqual([5, 4])
  writeRejected(db, [], { count: 1, bytes: 1 })
  expect(newest()).toHaveLength(4)
  db.close()
})

test('how many are stored is read from the ends of the table alone', () => {
  using directory = temporaryDirectory()
  const path = join(directory.path, 'log.db')
  const written = openDatabase({ path, durable: false })
  ensureLogTables(written)
  written.transaction(() =>
    writeRejected(
      written,
      Array.from({ length: 1000 }, (_, n) => ({ ...itemOf(n), raw: 'x'.repeat(1000) })),
    ),
  )
  written.close()
  // Of its megabyte the pages in the middle, which hold items, are no longer readable.
  const file = openSync(path, 'r+')
  writeSync(file, Buffer.alloc(512 * 1024), 0, 512 * 1024, 256 * 1024)
  closeSync(file)
  const db = openDatabase({ path, durable: false })
  expect(() => db.prepare('SELECT count(raw) FROM rejected').get()).toThrow('malformed')
  expect(rejectedKept(db)).toBe(1000)
  db.close()
})

test('large rejected items leave the newest ones within the limit of bytes, however few they are', () => {
  const db = openDatabase({ path: ':memory:', durable: false })
  ensureLogTables(db)
  const write = (...lengths: number[]): void => {
    const items = lengths.map((length, n) => ({ ...itemOf(n), raw: 'é'.repeat(length / 2) }))
    writeRejected(db, items, { count: 100, bytes: 1000 })
  }
  const lengths = () =>
    readRejectedPage(db, { before: null, limit: 9, mostBytes: 1e9 }).map(({ raw }) => Buffer.byteLength(raw))
  write(10, 400, 20)
  write(500, 80)
  expect(lengths()).toEqual([80, 500, 20, 400])
  write(2)
  expect(lengths()).toEqual([2, 80, 500, 20])
  write(1000)
  expect(lengths()).toEqual([1000])
  db.close()
})
