/**
 * Stores which announcement replaces which, as further rows of the table `issuers`. Builds without this file ignore these rows
 * and delete them with all others; `catch-up.ts` adds those of events that such a build has written.
 */
import type { Database } from '../../storage/database.ts'

/** That an announcement replaces another; both by guid. */
export interface Replacement {
  guid: string
  by: string
  /** Of the event that says so. */
  sequence: number
}

/** Stores it. Inside a transaction. */
export function learnReplacement(db: Database, { guid, by, sequence }: Replacement): void {
  db.prepare(
    `INSERT INTO issuers(identifier, company, sequence) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET sequence = excluded.sequence`,
  ).run(rowOf(guid), by, sequence)
}

/** The guid of the newest announcement up to that sequence that replaces this one; null where there is none. */
export function replacementOf(db: Database, guid: string, through: number): string | null {
  return (
    db
      .prepare<{ company: string }>(
        'SELECT company FROM issuers WHERE identifier = ? AND sequence <= ? ORDER BY sequence DESC LIMIT 1',
      )
      .get(rowOf(guid), through)?.company ?? null
  )
}

function rowOf(guid: string): string {
  return `replaced ${guid}`
}
