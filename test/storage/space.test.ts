import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, expect, test } from 'vitest'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { type Database, openDatabase } from '../../src/storage/database.ts'
import { fileSpace, hasSpareSpace, returnSpace, walBacklog } from '../../src/storage/space.ts'

const folders: string[] = []
const opened: Database[] = []

afterEach(() => {
  for (const db of opened.splice(0)) db.close()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

const PACE = { stepPages: 8, pauseMs: 0, keepBytes: 64 * 1024, keepShare: 0.1 }
const never = new AbortController().signal

function newPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-space-'))
  folders.push(folder)
  return join(folder, 'a.db')
}

function open(path: string): Database {
  const db = openDatabase({ path, durable: false })
  opened.push(db)
  return db
}

function fill(db: Pick<Database, 'exec'>): void {
  db.exec(`
    CREATE TABLE texts(id INTEGER PRIMARY KEY, text TEXT NOT NULL);
    WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 500)
    INSERT INTO texts(text) SELECT hex(randomblob(2000)) FROM numbers;
  `)
}

test('a file gives the pages of deleted rows back, but for some that new rows will use', async () => {
  const path = newPath()
  const db = open(path)
  fill(db)
  const full = fileSpace(db)
  expect(full).toMatchObject({ isIncremental: true, pageBytes: 8192 })
  db.exec('DELETE FROM texts WHERE id <= 400')
  expect(hasSpareSpace(fileSpace(db), PACE)).toBe(true)
  const bytes = await returnSpace({ db, clock: systemClock }, never, PACE)
  const after = fileSpace(db)
  expect(bytes).toBe((full.pages - after.pages) * 8192)
  expect(after.pages).toBeLessThan(full.pages / 2)
  expect(after.freePages).toBeGreaterThanOrEqual(8)
  expect(hasSpareSpace(after, PACE)).toBe(false)
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  expect(statSync(path).size).toBe(after.pages * 8192)
  expect(db.prepare<{ n: number }>('SELECT count(*) AS n FROM texts').get()?.n).toBe(100)
})

test('a file of a version that could not give space back is left as it is', async () => {
  const path = newPath()
  const older = new DatabaseSync(path)
  older.exec('PRAGMA page_size = 8192; PRAGMA journal_mode = WAL')
  fill(older)
  older.close()
  const db = open(path)
  db.exec('DELETE FROM texts WHERE id <= 400')
  expect(fileSpace(db).isIncremental).toBe(false)
  expect(await returnSpace({ db, clock: systemClock }, never, PACE)).toBe(0)
})

test('the backlog of the write-ahead log is what another reader keeps from being copied', () => {
  const path = newPath()
  const db = open(path)
  fill(db)
  expect(walBacklog(db)).toBe(0)
  const reader = new DatabaseSync(path, { readOnly: true })
  reader.exec('BEGIN; SELECT count(*) FROM texts')
  db.exec('DELETE FROM texts')
  expect(walBacklog(db)).toBeGreaterThan(100)
  reader.close()
  expect(walBacklog(db)).toBe(0)
})
