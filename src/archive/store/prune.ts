/**
 * Takes the oldest events out of a store, with everything they are found by, so that the store is as if it had begun
 * later. Owns that equality (`test/archive/store/prune.test.ts`). Refuses to know when and how far: `pruner.ts` does.
 */
import type { Database } from '../../storage/database.ts'
import { termsOf } from './index-terms.ts'
import { readFacts } from './stored.ts'

interface OldRow {
  sequence: number
  facts: string | null
}

/**
 * Removes the oldest events before `sequence`, at most `limit`. Inside a transaction of the caller.
 * @returns how many there were
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
  renewHighs(db)
  return rows.length
}

/** The indexes keep no content: what an event was filed under has to be said again. */
function unindex(db: Database, rows: readonly OldRow[]): void {
  const terms = db.prepare("INSERT INTO terms(terms, rowid, words) VALUES ('delete', ?, ?)")
  const headlines = db.prepare("INSERT INTO headlines(headlines, rowid, headline) VALUES ('delete', ?, ?)")
  for (const row of rows) {
    const facts = readFacts(row.facts)
    terms.run(row.sequence, termsOf(facts))
    if (facts.headline !== '') headlines.run(row.sequence, facts.headline)
  }
}

/** Events that came after a later time, which is gone now: up to the first that was later than everything, they count. */
function renewHighs(db: Database): void {
  const next = db.prepare<{ low: number | null }>('SELECT min(sequence) AS low FROM highs').get()?.low
  const before = db
    .prepare<{ sequence: number; time_ms: number }>(
      'SELECT sequence, time_ms FROM facts WHERE sequence < ? ORDER BY sequence',
    )
    .all(next ?? Number.MAX_SAFE_INTEGER)
  let highMs = Number.NEGATIVE_INFINITY
  for (const { sequence, time_ms } of before) {
    if (time_ms <= highMs) continue
    highMs = time_ms
    db.prepare('INSERT INTO highs(time_ms, sequence) VALUES (?, ?)').run(time_ms, sequence)
  }
}
