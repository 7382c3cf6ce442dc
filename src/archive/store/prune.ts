/**
 * Deletes the oldest events of the archive with all their index rows, which leaves the archive as if it had begun later.
 * `replica/pruner.ts` chooses when and how far.
 */
import type { Database } from '../../storage/database.ts'
import { termsOf } from './index-terms.ts'
import { readFacts } from './stored.ts'

interface OldRow {
  sequence: number
  facts: string | null
}

/**
 * Deletes the oldest events before `sequence`, at most `limit`, within a transaction of the caller.
 * @returns how many were deleted
 */
export function removeOldest(db: Database, sequence: number, limit: number): number {
  const rows = db
    .prepare<OldRow>('SELECT sequence, facts FROM facts WHERE sequence < ? ORDER BY sequence LIMIT ?')
    .all(sequence, limit)
  const last = rows.at(-1)?.sequence
  if (last === undefined) return 0
  unindex(db, rows)
  for (const table of ['events', 'facts', 'items', 'issuers']) {
    db.prepare(`DELETE FROM ${table} WHERE sequence <= ?`).run(last)
  }
  pruneRunningMaximum(db, last)
  return rows.length
}

/** The indexes store no content, so FTS5 needs the terms of an event again to delete it. */
function unindex(db: Database, rows: readonly OldRow[]): void {
  const terms = db.prepare("INSERT INTO terms(terms, rowid, words) VALUES ('delete', ?, ?)")
  const headlines = db.prepare("INSERT INTO headlines(headlines, rowid, headline) VALUES ('delete', ?, ?)")
  for (const row of rows) {
    const facts = readFacts(row.facts)
    terms.run(row.sequence, termsOf(facts))
    if (facts.headline !== '') headlines.run(row.sequence, facts.headline)
  }
}

/**
 * Deletes the rows of `highs` up to the sequence `last`, and adds those that are missing then: events that were below the
 * running maximum of time may now be above it, up to the first row that is left. Times and sequences of `highs` rise
 * together, so its oldest rows are the first ones by time, and no index by sequence is needed to find them.
 */
function pruneRunningMaximum(db: Database, last: number): void {
  const next = db
    .prepare<{ sequence: number; time_ms: number }>(
      'SELECT sequence, time_ms FROM highs WHERE sequence > ? ORDER BY time_ms LIMIT 1',
    )
    .get(last)
  db.prepare('DELETE FROM highs WHERE time_ms < ?').run(next?.time_ms ?? Number.MAX_SAFE_INTEGER)
  const before = db
    .prepare<{ sequence: number; time_ms: number }>(
      'SELECT sequence, time_ms FROM facts WHERE sequence < ? ORDER BY sequence',
    )
    .iterate(next?.sequence ?? Number.MAX_SAFE_INTEGER)
  let maxTimeMs = Number.NEGATIVE_INFINITY
  for (const { sequence, time_ms } of before) {
    if (time_ms <= maxTimeMs) continue
    maxTimeMs = time_ms
    db.prepare('INSERT INTO highs(time_ms, sequence) VALUES (?, ?)').run(time_ms, sequence)
  }
}
