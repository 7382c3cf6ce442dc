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
  for (const table of ['events', 'facts', 'items', 'highs', 'issuers']) {
    db.prepare(`DELETE FROM ${table} WHERE sequence <= ?`).run(last)
  }
  renewRunningMaximum(db)
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
 * Adds the rows of `highs` that are missing after the deletion: events that were below the running maximum of time may now
 * be above it, up to the first row that is left.
 */
function renewRunningMaximum(db: Database): void {
  const next = db.prepare<{ low: number | null }>('SELECT min(sequence) AS low FROM highs').get()?.low
  const before = db
    .prepare<{ sequence: number; time_ms: number }>(
      'SELECT sequence, time_ms FROM facts WHERE sequence < ? ORDER BY sequence',
    )
    .all(next ?? Number.MAX_SAFE_INTEGER)
  let maxTimeMs = Number.NEGATIVE_INFINITY
  for (const { sequence, time_ms } of before) {
    if (time_ms <= maxTimeMs) continue
    maxTimeMs = time_ms
    db.prepare('INSERT INTO highs(time_ms, sequence) VALUES (?, ?)').run(time_ms, sequence)
  }
}
