/**
 * Describes issuers and categories that the archive has found by name, each from the newest item that has it. One call reads
 * one item, so callers take a time slice for each.
 */
import { type Party, readDisclosure } from '../../core/disclosure.ts'
import type { Archive } from '../store/archive.ts'
import { type CategoryKind, type IssuerEntry, newestOf } from '../store/directory.ts'
import { codeTerm } from '../store/index-terms.ts'

/** A category as its newest item has it; null: that does not say. */
export interface StoredCategory {
  name: string | null
  importance: string | null
}

/** The issuer of an entry as its newest item has it; null where that is no longer stored. */
export function issuerOf({ db }: Archive, { company, sequence }: IssuerEntry): Party | null {
  return readItem(db, newestOf(db, company) ?? sequence)?.issuer ?? null
}

/** How many events after `after`, up to `through`, have that code. */
export function countCode(
  { db }: Archive,
  kind: CategoryKind,
  code: string,
  { after, through }: { after: number; through: number },
): number {
  const count = 'SELECT count(*) AS count FROM terms WHERE terms MATCH ? AND rowid > ? AND rowid <= ?'
  return (
    db.prepare<{ count: number }>(count).get(codeTerm(kind, code), BigInt(after), BigInt(through))?.count ?? 0
  )
}

/** The category with that code. `sequence`: of the newest event with it. */
export function categoryOf(
  { db, nativeKind }: Archive,
  kind: CategoryKind,
  { code, sequence }: { code: string; sequence: number },
): StoredCategory {
  const upstreamKind = kind === 'fca' ? 'FCA' : nativeKind
  const found = readItem(db, sequence)?.categories.find(
    (category) => category.kind === upstreamKind && category.code === code,
  )
  return { name: found?.name ?? null, importance: found?.importance ?? null }
}

function readItem(db: Archive['db'], sequence: number) {
  const row = db.prepare<{ data: string }>('SELECT data FROM events WHERE sequence = ?').get(sequence)
  const read = row === undefined ? null : readDisclosure(JSON.parse(row.data))
  return read?.ok ? read.disclosure : null
}
