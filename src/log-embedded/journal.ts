/**
 * Stores journals (append-only records, kept for a limited time) in the SQLite file of the embedded log, and deletes records
 * that are expired or beyond the bytes of a journal in small steps.
 */
import { yieldToEventLoop } from '../lifecycle/clock.ts'
import { createWakeup } from '../lifecycle/wakeup.ts'
import type { Journal } from '../log/journal.ts'
import { storedValue } from '../log/stored-value.ts'
import { JOURNAL_BATCH, positionOf } from '../log-shared/journal-position.ts'
import { recordTexts } from '../log-shared/stored-rows.ts'
import type { Database } from '../storage/database.ts'
import type { StoreParts } from './group-commit.ts'

/** Most bytes of a journal's records, as of rejected items: the oldest go before their time. */
const MOST_BYTES = 1024 ** 3

/** Expired records deleted with each new one, and bytes with each new byte, so that a journal shrinks faster than it grows. */
const FORGOTTEN_PER_RECORD = 4

/** Expired records deleted in one step from a journal that is only read. */
const FORGOTTEN_AT_ONCE = 200

/** A record as JSON text, with its number in the journal: from 1 on, never reused. */
interface JournalRow {
  id: number
  text: string
}

/** What is deleted at most: expired records among so many of the oldest, and no further ones after so many bytes. */
interface Forgetting {
  oldestMs: number
  records: number
  bytes: number
}

/** The journal of that name, whose records are kept for `retentionMs`, and no more than have `mostBytes`. */
export function createSqliteJournal<V>(
  parts: StoreParts,
  name: string,
  retentionMs: number,
  mostBytes = MOST_BYTES,
): Journal<V> {
  const { db, commits, clock, open, closed } = parts
  const wakeup = createWakeup()
  const oldestMs = (): number => clock.now() - retentionMs
  const lastId = (): number =>
    db.prepare<{ last: number }>('SELECT last FROM journal_ends WHERE name = ?').get(name)?.last ?? 0
  const size = new JournalSize(db, name)
  /** Deletes the oldest records that are expired, or with which there are too many bytes. Inside a transaction. */
  const forget = ({ oldestMs: keptFromMs, records, bytes: mostFreed }: Forgetting): void => {
    const rows = db
      .prepare<{ id: number; at_ms: number; bytes: number }>(
        'SELECT id, at_ms, octet_length(value) AS bytes FROM journals WHERE name = ? ORDER BY id',
      )
      .iterate(name)
    const { bytes: bytesBefore } = size
    let [last, lastFreed, seen, freed] = [0, 0, 0, 0]
    for (const { id, at_ms, bytes } of rows) {
      const isBeyond = bytesBefore - freed > mostBytes && freed < mostFreed
      if (!isBeyond && seen >= records) break
      seen += 1
      freed += bytes
      if (isBeyond || at_ms < keptFromMs) [last, lastFreed] = [id, freed]
    }
    if (last === 0) return
    db.prepare('DELETE FROM journals WHERE name = ? AND id <= ?').run(name, last)
    size.bytes = bytesBefore - lastFreed
  }
  /** Deletes expired records in steps, for a journal without new appends. */
  const forgetAll = (): void => {
    const first = db.prepare<{ at_ms: number }>(
      'SELECT at_ms FROM journals WHERE name = ? ORDER BY id LIMIT 1',
    )
    if ((first.get(name)?.at_ms ?? Number.POSITIVE_INFINITY) >= oldestMs()) return
    commits
      .run(() => forget({ oldestMs: oldestMs(), records: FORGOTTEN_AT_ONCE, bytes: 0 }))
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
        const bytesBefore = size.bytes
        const added = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
        let last = lastId()
        for (const text of texts) insert.run(name, ++last, clock.now(), text)
        db.prepare('INSERT OR REPLACE INTO journal_ends(name, last) VALUES (?, ?)').run(name, last)
        size.bytes = bytesBefore + added
        const [records, bytes] = [FORGOTTEN_PER_RECORD * texts.length, FORGOTTEN_PER_RECORD * added]
        forget({ oldestMs: oldestMs(), records, bytes })
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

/**
 * The bytes of a journal's records. Reads all of them once and again after a failed transaction, which has left another first
 * or last record than was counted.
 */
class JournalSize {
  readonly #db: Database
  readonly #name: string
  #counted = { first: 0, last: 0, bytes: 0 }

  constructor(db: Database, name: string) {
    this.#db = db
    this.#name = name
  }

  get bytes(): number {
    const [first, last] = [this.#end('ASC'), this.#end('DESC')]
    if (first !== this.#counted.first || last !== this.#counted.last) this.bytes = this.#sum()
    return this.#counted.bytes
  }

  /** Set in the transaction that adds or deletes records, after it has. */
  set bytes(bytes: number) {
    this.#counted = { first: this.#end('ASC'), last: this.#end('DESC'), bytes }
  }

  #end(order: 'ASC' | 'DESC'): number {
    const sql = `SELECT id FROM journals WHERE name = ? ORDER BY id ${order} LIMIT 1`
    return this.#db.prepare<{ id: number }>(sql).get(this.#name)?.id ?? 0
  }

  #sum(): number {
    const sql = 'SELECT coalesce(sum(octet_length(value)), 0) AS bytes FROM journals WHERE name = ?'
    return this.#db.prepare<{ bytes: number }>(sql).get(this.#name)?.bytes ?? 0
  }
}
