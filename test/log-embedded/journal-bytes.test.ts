/** Tests the bound in bytes of a journal in the embedded log's file. */
import { expect, onTestFinished, test } from 'vitest'
import { DAY_MS } from '../../src/core/durations.ts'
import { createGroupCommit } from '../../src/log-embedded/group-commit.ts'
import { createSqliteJournal } from '../../src/log-embedded/journal.ts'
import { ensureLogTables } from '../../src/log-embedded/writer-tables.ts'
import { openDatabase } from '../../src/storage/database.ts'
import { journalled } from '../log/journals.ts'
import { createManualClock } from '../support/time/manual-clock.ts'

const MOST_BYTES = 1000

/** A file in memory, and journals in it. A record of `n` characters has two bytes more as JSON. */
function world() {
  const db = openDatabase({ path: ':memory:', durable: false })
  onTestFinished(() => db.close())
  ensureLogTables(db)
  const clock = createManualClock()
  const commits = createGroupCommit(db, clock)
  const parts = { db, commits, clock, open: () => undefined, closed: new AbortController().signal }
  const journalOf = (name: string, mostBytes = MOST_BYTES) => {
    const journal = createSqliteJournal<string>(parts, name, DAY_MS, mostBytes)
    const append = async (...lengths: number[]): Promise<void> => {
      const appended = journal.append(lengths.map((length) => 'x'.repeat(length - 2)))
      clock.advance(100)
      await appended
    }
    return { journal, append }
  }
  const kept = (name: string) =>
    db
      .prepare<{ bytes: number }>(
        'SELECT octet_length(value) AS bytes FROM journals WHERE name = ? ORDER BY id',
      )
      .all(name)
      .map(({ bytes }) => bytes)
  return { db, clock, journalOf, kept }
}

test('the oldest records go once there are too many bytes, and a reader goes on with the oldest that is left', async () => {
  const { journalOf, kept } = world()
  const other = journalOf('other')
  await other.append(900)
  const { journal, append } = journalOf('audit')
  await append(100)
  const { batches } = await journalled(journal, null, 1)
  await append(200, 300, 400)
  expect(kept('audit')).toEqual([100, 200, 300, 400])
  await append(10)
  expect(kept('audit')).toEqual([200, 300, 400, 10])
  await append(500, 20)
  expect(kept('audit')).toEqual([400, 10, 500, 20])
  const rest = await journalled(journal, batches[0]?.position ?? null, 4)
  expect(rest.records.map(({ length }) => length)).toEqual([398, 8, 498, 18])
  expect(kept('other')).toEqual([900])
})

test('bytes are those of the text in UTF-8', async () => {
  const { clock, journalOf, kept } = world()
  const { journal } = journalOf('audit')
  for (let n = 0; n < 3; n++) {
    const appended = journal.append(['é'.repeat(199)])
    clock.advance(100)
    await appended
  }
  expect(kept('audit')).toEqual([400, 400])
})

test('a journal that was larger at the start shrinks by four times what is added', async () => {
  const { journalOf, kept } = world()
  await journalOf('audit', 1e9).append(...Array(100).fill(50))
  const { append } = journalOf('audit')
  const counts: number[] = []
  for (let n = 0; n < 40; n++) {
    await append(50)
    counts.push(kept('audit').length)
  }
  expect(counts.slice(0, 3)).toEqual([97, 94, 91])
  expect(counts.at(-1)).toBe(20)
})

test('after a failed write the bytes are those of the records that are there', async () => {
  const { db, journalOf, kept } = world()
  const { append } = journalOf('audit', 100_000)
  await append(40_000, 40_000)
  db.exec('PRAGMA max_page_count = 1')
  await expect(append(50_000)).rejects.toMatchObject({ code: 'log_unavailable' })
  db.exec('PRAGMA max_page_count = 1000000')
  expect(kept('audit')).toEqual([40_000, 40_000])
  await append(20_000)
  expect(kept('audit')).toEqual([40_000, 40_000, 20_000])
  await append(10)
  expect(kept('audit')).toEqual([40_000, 20_000, 10])
})
