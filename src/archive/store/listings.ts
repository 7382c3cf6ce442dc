/**
 * Stores which tags of a listing (ISIN, symbol of a company) have come in one item, as further rows of the table `issuers`.
 * Builds without this file ignore these rows and delete them with all others; what such a build has written is caught up.
 */
import type { Company } from '../../core/filter/facts.ts'
import { type ListingTag, tagsOf } from '../../core/filter/listing.ts'
import type { Database } from '../../storage/database.ts'
import { readFacts } from './stored.ts'

/** Row whose `sequence` is that of the last event whose tags are stored. */
const MARK = 'links through'
/** Events of one transaction of the catch-up. */
const BATCH_EVENTS = 5_000

/** Stores the tags of the event's issuer, if it has two. Inside a transaction. */
export function learnListing(db: Database, issuer: Company, sequence: number): void {
  const [first, second] = tagsOf(issuer)
  if (first === undefined || second === undefined) return
  const learn = db.prepare(
    `INSERT INTO issuers(identifier, company, sequence) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET sequence = excluded.sequence`,
  )
  learn.run(linksOf(first), second, sequence)
  learn.run(linksOf(second), first, sequence)
}

/** The tags that have come in one item with this one, as far as events are held. */
export function linkedTags(db: Database, tag: ListingTag): ListingTag[] {
  return db
    .prepare<{ company: string }>('SELECT company FROM issuers WHERE identifier = ?')
    .all(linksOf(tag))
    .map((row) => row.company)
}

/** Records that the tags of all events up to this sequence are stored. Inside a transaction. */
export function markLinks(db: Database, sequence: number): void {
  db.prepare("INSERT OR REPLACE INTO issuers(identifier, company, sequence) VALUES (?, '', ?)").run(
    MARK,
    sequence,
  )
}

/** Stores the tags of events that a build without this file has written; some seconds for a million events. */
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

/** Stores the tags of the next events after `after`; returns the last of their sequences. */
function learnBatch(db: Database, after: number): number {
  const rows = db
    .prepare<{ sequence: number; facts: string | null }>(
      'SELECT sequence, facts FROM facts WHERE sequence > ? ORDER BY sequence LIMIT ?',
    )
    .all(after, BATCH_EVENTS)
  for (const { sequence, facts } of rows) learnListing(db, readFacts(facts).issuer, sequence)
  const last = rows.at(-1)?.sequence ?? after
  markLinks(db, last)
  return last
}

function linksOf(tag: ListingTag): string {
  return `links of ${tag}`
}
