/**
 * Stores which tags of a listing (ISIN, symbol of a company) have come in one item, as further rows of the table `issuers`.
 * Builds without this file ignore these rows and delete them with all others; `catch-up.ts` adds those of events that such a
 * build has written.
 */
import type { Company } from '../../core/filter/facts.ts'
import { type ListingTag, tagsOf } from '../../core/filter/listing.ts'
import type { Database } from '../../storage/database.ts'

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

function linksOf(tag: ListingTag): string {
  return `links of ${tag}`
}
