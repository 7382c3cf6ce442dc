/**
 * Stores journals (append-only records, kept for a limited time) in the SQLite file of the embedded log, and deletes expired
 * records in small steps.
 */
import { yieldToEventLoop } from '../lifecycle/clock.ts'
import { createWakeup } from '../lifecycle/wakeup.ts'
import type { Journal } from '../log/journal.ts'
import { storedValue } from '../log/stored-value.ts'
import { JOURNAL_BATCH, positionOf } from '../log-shared/journal-position.ts'
import { recordTexts } from '../log-shared/stored-rows.ts'
import type { Database } from '../storage/database.ts'
import type { StoreParts } from './group-commit.ts'

/** Expired records deleted with each new one, so that a journal shrinks faster than it grows. */
const FORGOTTEN_PER_RECORD = 4

/** Expired records deleted in one step from a journal that is only read. */
const FORGOTTEN_AT_ONCE = 200

/** A record as JSON text, with its number in the journal: from 1 on, never reused. */
interface JournalRow {
  id: number
  text: string
}

/** The journal of that name, whose records are kept for `retentionMs`. */
export function createSqliteJournal<V>(parts: StoreParts, name: string, retentionMs: number): Journal<V> {
  const { db, commits, clock, open, closed } = parts
  const wakeup = createWakeup()
  const oldestMs = (): number => clock.now() - retentionMs
  const lastId = (): number =>
    db.prepare<{ last: number }>('SELECT last FROM journal_ends WHERE name = ?').get(name)?.last ?? 0
  /** Deletes expired records in steps, for a journal without new appends. */
  const forgetAll = (): void => {
    const first = db.prepare<{ at_ms: number }>(
      'SELECT at_ms FROM journals WHERE name = ? ORDER BY id LIMIT 1',
    )
    if ((first.get(name)?.at_ms ?? Number.POSITIVE_INFINITY) >= oldestMs()) return
    commits
      .run(() => forget(db, name, oldestMs(), FORGOTTEN_AT_ONCE))
      .then(forgetAll)
      // Records that could not be deleted are deleted after the next read.
      .catch(() => undefined)
  }
  /** Records after that one, in order; expired records that are not deleted yet are not among them. */
  const readAfter = (after: number): JournalRow[] => {
    const rows = db
      .prepare<JournalRow>(
        'SELECT id, value AS text FROM journals WHERE name = ? AND id > ? AND at_ms >= ? ORDER BY id LIMIT ?',
      )
      .iterate(name, after, oldestMs(), JOURNAL_BATCH.records)
    const found: JournalRow[] = []
    let length = 0
    for (const row of rows) {
      found.push(row)
      length += row.text.length
      if (length >= JOURNAL_BATCH.characters) break
    }
    if (found.length === 0) forgetAll()
    return found
  }
  return {
    async append(records) {
      open()
      const texts = recordTexts(records)
      if (texts.length === 0) return
      await commits.run(() => {
        const insert = db.prepare('INSERT INTO journals(name, id, at_ms, value) VALUES (?, ?, ?, ?)')
        let last = lastId()
        for (const text of texts) insert.run(name, ++last, clock.now(), text)
        db.prepare('INSERT OR REPLACE INTO journal_ends(name, last) VALUES (?, ?)').run(name, last)
        forget(db, name, oldestMs(), FORGOTTEN_PER_RECORD * texts.length)
      })
      wakeup.wake()
    },
    async *read(after, signal) {
      open()
      const ended = AbortSignal.any([signal, closed])
      const asked = positionOf(after)
      let id = asked > lastId() ? 0 : asked
      while (!ended.aborted) {
        const rows = readAfter(id)
        const last = rows.at(-1)
        if (last === undefined) {
          await wakeup.wait(ended)
          continue
        }
        id = last.id
        yield { records: rows.map(({ text }) => storedValue<V>('a journal', text)), position: id.toString() }
        await yieldToEventLoop()
      }
    },
  }
}

/** Deletes records older than a moment, at most the `limit` oldest. Inside a transaction. */
function forget(db: Database, name: string, oldestMs: number, limit: number): void {
  const old = db
    .prepare<{ id: number; at_ms: number }>(
      'SELECT id, at_ms FROM journals WHERE name = ? ORDER BY id LIMIT ?',
    )
    .all(name, limit)
  const last = old.findLast(({ at_ms }) => at_ms < oldestMs)
  if (last !== undefined) db.prepare('DELETE FROM journals WHERE name = ? AND id <= ?').run(name, last.id)
}
