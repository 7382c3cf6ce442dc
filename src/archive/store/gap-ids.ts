/**
 * Stores the sequence of each gap event by its id, as further rows of the table `issuers`. As with `replacements.ts`, builds
 * without this file ignore these rows, and `catch-up.ts` adds those of events that such a build has written.
 */
import type { Database } from '../../storage/database.ts'

/** Stores it. Inside a transaction. */
export function learnGapId(db: Database, id: string, sequence: number): void {
  db.prepare("INSERT OR REPLACE INTO issuers(identifier, company, sequence) VALUES (?, '', ?)").run(
    rowOf(id),
    sequence,
  )
}

/** The sequence of the gap event of that id; undefined where none is stored. */
export function sequenceOfGap(db: Database, id: string): number | undefined {
  return db.prepare<{ sequence: number }>('SELECT sequence FROM issuers WHERE identifier = ?').get(rowOf(id))
    ?.sequence
}

function rowOf(id: string): string {
  return `event ${id}`
}
