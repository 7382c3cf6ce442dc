/**
 * Derives the rows of `listings.ts`, `replacements.ts` and `gap-ids.ts` from events that a build without one of these files
 * has written. Marks in the table `issuers` say up to which event they are complete.
 */
import type { Database } from '../../storage/database.ts'
import { learnGapId } from './gap-ids.ts'
import { learnListing } from './listings.ts'
import { learnReplacement } from './replacements.ts'
import { readFacts } from './stored.ts'

/** The row whose `sequence` is that of the last event with all kinds of rows. */
const MARK = 'replacements through'
/** The row by which a build with listings only knows that it need not derive listings again. */
const LISTINGS_MARK = 'links through'
/** Events of one transaction of the catch-up. */
const BATCH_EVENTS = 5_000

/** Records that the rows of all events up to this sequence are stored. Inside a transaction. */
export function markLinks(db: Database, sequence: number): void {
  const mark = db.prepare("INSERT OR REPLACE INTO issuers(identifier, company, sequence) VALUES (?, '', ?)")
  for (const name of [MARK, LISTINGS_MARK]) mark.run(name, sequence)
}

/** Stores the rows that are missing; ten seconds for a million events. */
export function catchUpLinks(
  db: Database,
  report: (progress: { sequence: number; latest: number }) => void = () => {},
): void {
  const latest =
    db.prepare<{ high: number | null }>('SELECT max(sequence) AS high FROM facts').get()?.high ?? 0
  const mark = db.prepare<{ sequence: number }>('SELECT sequence FROM issuers WHERE identifier = ?').get(MARK)
  let done = mark?.sequence ?? 0
  if (done >= latest) return
  report({ sequence: done, latest })
  while (done < latest) done = db.transaction(() => learnBatch(db, done))
  report({ sequence: done, latest })
}

interface LinkedRow {
  sequence: number
  facts: string | null
  /** null of a gap event. */
  guid: string | null
  /** The guid that it replaces. */
  replaced: string | null
  /** Of a gap event its id. */
  gap: string | null
}

/** Stores the rows of the next events after `after`; returns the last of their sequences. */
function learnBatch(db: Database, after: number): number {
  const rows = db
    .prepare<LinkedRow>(
      `SELECT sequence, f.facts, f.guid, CASE WHEN instr(e.attributes, '"replacesid":') > 0
         THEN json_extract(e.attributes || '}', '$.replacesid') END AS replaced,
         CASE WHEN f.guid IS NULL THEN json_extract(e.attributes || '}', '$.id') END AS gap
       FROM facts f CROSS JOIN events e USING (sequence)
       WHERE sequence > ? ORDER BY sequence LIMIT ?`,
    )
    .all(after, BATCH_EVENTS)
  for (const { sequence, facts, guid, replaced, gap } of rows) {
    if (gap !== null) learnGapId(db, gap, sequence)
    learnListing(db, readFacts(facts).issuer, sequence)
    if (guid !== null && replaced !== null) learnReplacement(db, { guid: replaced, by: guid, sequence })
  }
  const last = rows.at(-1)?.sequence ?? after
  markLinks(db, last)
  return last
}
