/**
 * Derives the rows of `listings.ts`, `replacements.ts`, `gap-ids.ts` and `directory.ts` from events that a build without one
 * of these files has written. Marks in the table `issuers` say up to which event they are complete.
 */
import { readDisclosure } from '../../core/disclosure.ts'
import { companyKey, type Facts } from '../../core/filter/facts.ts'
import type { Steps } from '../../lifecycle/slices.ts'
import type { Database } from '../../storage/database.ts'
import { learnDirectory } from './directory.ts'
import { learnGapId } from './gap-ids.ts'
import { learnListing } from './listings.ts'
import { learnReplacement } from './replacements.ts'
import { readFacts } from './stored.ts'

/** The row whose `sequence` is that of the last event with all kinds of rows. */
const MARK = 'directory through'
/** The rows by which builds without the last kinds of rows know that they need not derive theirs again. */
const OLDER_MARKS = ['replacements through', 'links through']
/** Events of one transaction of the catch-up. */
const BATCH_EVENTS = 5_000

/** Records that the rows of all events up to this sequence are stored. Inside a transaction. */
export function markLinks(db: Database, sequence: number): void {
  const mark = db.prepare("INSERT OR REPLACE INTO issuers(identifier, company, sequence) VALUES (?, '', ?)")
  for (const name of [MARK, ...OLDER_MARKS]) mark.run(name, sequence)
}

/** Stores the rows that are missing, a batch a step; half a minute for a million events. */
export function* catchUpLinks(
  db: Database,
  report: (progress: { sequence: number; latest: number }) => void = () => {},
): Steps<void> {
  const latest =
    db.prepare<{ high: number | null }>('SELECT max(sequence) AS high FROM facts').get()?.high ?? 0
  const mark = db.prepare<{ sequence: number }>('SELECT sequence FROM issuers WHERE identifier = ?').get(MARK)
  let done = mark?.sequence ?? 0
  if (done >= latest) return
  report({ sequence: done, latest })
  while (done < latest) {
    const before = done
    done = db.transaction(() => learnBatch(db, before))
    yield
  }
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
  const newest = new Map<string, { facts: Facts; sequence: number }>()
  for (const { sequence, facts: text, guid, replaced, gap } of rows) {
    const facts = readFacts(text)
    if (gap !== null) learnGapId(db, gap, sequence)
    learnListing(db, facts.issuer, sequence)
    learnDirectory(db, facts, facts.issuer.name ?? null, sequence)
    newest.set(companyKey(facts.issuer) ?? '', { facts, sequence })
    if (guid !== null && replaced !== null) learnReplacement(db, { guid: replaced, by: guid, sequence })
  }
  for (const { facts, sequence } of newest.values()) learnName(db, facts, sequence)
  const last = rows.at(-1)?.sequence ?? after
  markLinks(db, last)
  return last
}

/** Facts do not have the name of a company with an LEI: reading it from one item of each company is fast enough. */
function learnName(db: Database, facts: Facts, sequence: number): void {
  if (facts.issuer.lei === undefined) return
  const row = db.prepare<{ data: string }>('SELECT data FROM events WHERE sequence = ?').get(sequence)
  const read = row === undefined ? null : readDisclosure(JSON.parse(row.data))
  if (read?.ok) learnDirectory(db, facts, read.disclosure.issuer.name, sequence)
}
