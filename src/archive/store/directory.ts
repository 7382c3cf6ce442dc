/**
 * Stores under which names and LEIs companies have published and which category codes have occurred, as further rows of the
 * table `issuers`. As with `listings.ts`, builds without this file ignore these rows, and `catch-up.ts` adds the missing ones.
 */
import { companyKey, type Facts } from '../../core/filter/facts.ts'
import type { Database } from '../../storage/database.ts'

/** The two kinds of category codes. */
export const categoryKinds = ['fca', 'native'] as const
export type CategoryKind = (typeof categoryKinds)[number]

/** By what an issuer is found, in the order in which finds are listed. */
export const issuerFields = ['symbol', 'name', 'isin', 'lei'] as const
export type IssuerField = (typeof issuerFields)[number]

/** An identifier or name under which a company has published. */
export interface IssuerEntry {
  field: IssuerField
  /** The identifier; a name in lower case. */
  value: string
  /** Its `companyKey`. */
  company: string
  /** Of its last event under this identifier. */
  sequence: number
}

/** Follows every text that begins like the one before it. */
const END = '\u{10FFFF}'
/** Most entries that one search inspects: thousands of ISINs begin alike. */
const MOST_INSPECTED = 1000

/** Stores what an event says of its issuer and categories. `name`: of the issuer. Inside a transaction. */
export function learnDirectory(db: Database, facts: Facts, name: string | null, sequence: number): void {
  const learn = db.prepare(
    `INSERT INTO issuers(identifier, company, sequence) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET sequence = excluded.sequence`,
  )
  const company = companyKey(facts.issuer)
  if (company !== null) {
    if (name !== null) learn.run(`name ${name.toLowerCase()}`, company, sequence)
    if (facts.issuer.lei !== undefined) learn.run(company, company, sequence)
  }
  for (const kind of categoryKinds) {
    for (const code of facts[kind]) learn.run(codesOf(kind), code, sequence)
  }
}

/** Codes of that kind that events have, with the sequence of the newest one; `limit` at most. */
export function storedCodes(
  db: Database,
  kind: CategoryKind,
  limit: number,
): { code: string; sequence: number }[] {
  return db
    .prepare<{ code: string; sequence: number }>(
      'SELECT company AS code, sequence FROM issuers WHERE identifier = ? ORDER BY company LIMIT ?',
    )
    .all(codesOf(kind), limit)
}

/** Companies with an identifier or name that begins so, whatever its case: each once, `limit` at most. */
export function storedIssuers(db: Database, prefix: string, limit: number): IssuerEntry[] {
  const found = new Map<string, IssuerEntry>()
  for (const field of issuerFields) {
    for (const start of startsOf(field, prefix)) {
      for (const { value, company, sequence } of entriesFrom(db, field, start)) {
        if (found.size === limit) return [...found.values()]
        if (!found.has(company)) found.set(company, { field, value, company, sequence })
      }
    }
  }
  return [...found.values()]
}

/** The sequence of the newest event of a company; null where only an identifier names it. */
export function newestOf(db: Database, company: string): number | null {
  return (
    db
      .prepare<{ sequence: number }>('SELECT sequence FROM issuers WHERE identifier = ? AND company = ?')
      .get(company, company)?.sequence ?? null
  )
}

/** Identifiers are stored in upper case, or as upstream spelt them. */
function startsOf(field: IssuerField, prefix: string): readonly string[] {
  if (field === 'name') return [prefix.toLowerCase()]
  return [...new Set([prefix.toUpperCase(), prefix])]
}

function* entriesFrom(
  db: Database,
  field: IssuerField,
  start: string,
): Generator<{ value: string; company: string; sequence: number }> {
  const from = `${field} ${start}`
  const rows = db
    .prepare<{ identifier: string; company: string; sequence: number }>(
      `SELECT identifier, company, sequence FROM issuers
       WHERE identifier >= ? AND identifier < ? ORDER BY identifier, company LIMIT ?`,
    )
    .all(from, `${from}${END}`, MOST_INSPECTED)
  for (const { identifier, ...row } of rows) yield { value: identifier.slice(field.length + 1), ...row }
}

function codesOf(kind: CategoryKind): string {
  return `codes ${kind}`
}
