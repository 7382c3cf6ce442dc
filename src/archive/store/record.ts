/**
 * Converts a committed event to rows of the archive's SQLite tables and back. The rows also hold the columns and index terms
 * that are derived from the event's item, a regulatory announcement.
 */
import { parseTimestamp } from '../../core/dates.ts'
import type { Committed, EventType } from '../../core/event.ts'
import { encodeAttributes, isGap, itemOf, PUBLISHED, revisionOf } from '../../core/event.ts'
import type { Company, Facts, InstrumentField } from '../../core/filter/facts.ts'
import { companyKey, disclosureFacts, GAP_FACTS, spelling } from '../../core/filter/facts.ts'
import { BridgeError } from '../../errors.ts'
import type { Database } from '../../storage/database.ts'
import { learnDirectory } from './directory.ts'
import { learnGapId } from './gap-ids.ts'
import { termsOf } from './index-terms.ts'
import { learnListing } from './listings.ts'
import { PROVENANCE_COLUMNS, type ProvenanceColumns, provenanceColumns, provenanceOf } from './provenance.ts'
import { learnReplacement } from './replacements.ts'

interface DerivedItem {
  guid: string
  timeMs: number
  revision: number
  hash: string
  rnsDateId: string | null
  /** Name of its issuer. */
  issuerName: string | null
}

interface Derived {
  facts: Facts
  /** null for a gap, whose time, kind and sequence are all there is. */
  item: DerivedItem | null
}

function derive(event: Committed, nativeKind: string): Derived {
  if (isGap(event.type)) return { facts: GAP_FACTS, item: null }
  const read = itemOf(event)
  if (!read.ok) {
    throw new BridgeError(
      'log_damaged',
      `the item of event ${event.sequence} cannot be read: ${read.reason}`,
      {
        hint: 'Report this as a bug of the program, with the event.',
      },
    )
  }
  const { disclosure, hash, rnsDateId } = read.item
  const { guid, timeMs } = disclosure
  const kind = event.type === PUBLISHED ? 'published' : 'amended'
  return {
    facts: disclosureFacts(disclosure, kind, nativeKind),
    item: {
      guid,
      timeMs,
      revision: revisionOf(event.id, guid),
      hash,
      rnsDateId,
      issuerName: disclosure.issuer.name,
    },
  }
}

/**
 * Writes one event and everything it is found by. `highMs`: latest time of the events before it. Inside a transaction.
 * @throws BridgeError `log_damaged` when its data is no disclosure
 */
export function insertEvent(db: Database, event: Committed, highMs: number, nativeKind: string): void {
  const { found_by, committed_ms, topics, journey } = provenanceColumns(event)
  db.prepare(
    `INSERT INTO events(sequence, attributes, data, ${PROVENANCE_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)`,
  ).run(event.sequence, encodeAttributes(event), event.data, found_by, committed_ms, topics, journey)
  insertDerived(db, event, highMs, nativeKind)
}

/** Writes what one event, which is there already, is found by. As `insertEvent`. */
export function insertDerived(db: Database, event: Committed, highMs: number, nativeKind: string): void {
  const { facts, item } = derive(event, nativeKind)
  const { sequence, timeMs } = event
  db.prepare(
    `INSERT INTO facts(sequence, time_ms, recorded_ms, type, guid, revision, hash, date_id, facts)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  ).run(
    sequence,
    timeMs,
    parseTimestamp(event.recordedtime) ?? timeMs,
    event.type,
    item?.guid ?? null,
    item?.revision ?? null,
    item?.hash ?? null,
    item?.rnsDateId ?? null,
    item === null ? null : JSON.stringify(facts),
  )
  db.prepare('INSERT INTO terms(rowid, words) VALUES (?, ?)').run(sequence, termsOf(facts))
  if (facts.headline !== '') {
    db.prepare('INSERT INTO headlines(rowid, headline) VALUES (?, ?)').run(sequence, facts.headline)
  }
  if (timeMs > highMs) {
    db.prepare('INSERT INTO highs(time_ms, sequence) VALUES (?, ?)').run(timeMs, sequence)
  }
  if (item === null) return learnGapId(db, event.id, sequence)
  if (item.revision > 1) supersede(db, item, sequence)
  db.prepare('INSERT INTO items(sequence, time_ms) VALUES (?, ?)').run(sequence, item.timeMs)
  learnIssuer(db, facts.issuer, sequence)
  learnListing(db, facts.issuer, sequence)
  learnDirectory(db, facts, item.issuerName, sequence)
  if (event.replacesid !== null) learnReplacement(db, { guid: event.replacesid, by: item.guid, sequence })
}

function supersede(db: Database, item: { guid: string; revision: number }, sequence: number): void {
  db.prepare(
    `UPDATE items SET superseded_by = ? WHERE sequence = (
       SELECT sequence FROM facts WHERE guid = ? AND revision < ? ORDER BY revision DESC LIMIT 1)`,
  ).run(sequence, item.guid, item.revision)
}

function learnIssuer(db: Database, issuer: Company, sequence: number): void {
  const company = companyKey(issuer)
  if (company === null) return
  const learn = db.prepare(
    `INSERT INTO issuers(identifier, company, sequence) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET sequence = excluded.sequence`,
  )
  for (const field of ['isin', 'symbol'] as const) {
    const identifier = spelling(issuer, field)
    if (identifier !== undefined) learn.run(`${field} ${identifier}`, company, sequence)
  }
}

/** The `companyKey` of every issuer that has published under an identifier, as far as events are held. */
export function publishersUnder(db: Database, field: InstrumentField, identifier: string): string[] {
  return db
    .prepare<{ company: string }>('SELECT company FROM issuers WHERE identifier = ?')
    .all(`${field} ${identifier}`)
    .map((row) => row.company)
}

interface CommittedRow extends ProvenanceColumns {
  sequence: number
  attributes: string
  data: string
}

/** The CloudEvents attributes as `encodeAttributes` wrote them. */
interface Attributes {
  id: string
  source: string
  type: EventType
  time: string
  subject: string
  recordedtime: string
  late?: string
  aheadof?: string
  replacesid?: string
}

/**
 * Events of `epoch` with a sequence greater than `after`, as they were committed: at most `limit`, and none further once
 * their items have `mostCharacters`.
 */
export function readCommitted(
  db: Database,
  after: number,
  { limit, mostCharacters }: { limit: number; mostCharacters: number },
  epoch: string,
): Committed[] {
  const rows = db
    .prepare<CommittedRow & { time_ms: number }>(
      `SELECT e.sequence, f.time_ms, e.attributes, e.data, ${PROVENANCE_COLUMNS}
       FROM events e CROSS JOIN facts f USING (sequence)
       WHERE e.sequence > ? ORDER BY e.sequence LIMIT ?`,
    )
    .iterate(after, limit)
  const events: Committed[] = []
  let characters = 0
  for (const row of rows) {
    events.push({ ...committedOf(row, epoch), timeMs: row.time_ms })
    characters += row.data.length
    if (characters >= mostCharacters) break
  }
  return events
}

/**
 * As `readCommitted`, from the events alone, for a store whose facts are not there.
 * @throws BridgeError `log_damaged` for an event without a readable time
 */
export function readUnderived(db: Database, after: number, limit: number, epoch: string): Committed[] {
  return db
    .prepare<CommittedRow>(
      `SELECT sequence, attributes, data, ${PROVENANCE_COLUMNS}
       FROM events WHERE sequence > ? ORDER BY sequence LIMIT ?`,
    )
    .all(after, limit)
    .map((row) => {
      const event = committedOf(row, epoch)
      const timeMs = parseTimestamp(event.aheadof ?? event.time)
      if (timeMs !== null) return { ...event, timeMs }
      throw new BridgeError('log_damaged', `event ${row.sequence} has no readable time`, {
        hint: 'Stop the process, and put the last good backup back with bridge restore: it sets the present files aside.',
      })
    })
}

function committedOf(row: CommittedRow, epoch: string): Omit<Committed, 'timeMs'> {
  const attributes = JSON.parse(`${row.attributes}}`) as Attributes
  return {
    id: attributes.id,
    source: attributes.source,
    type: attributes.type,
    time: attributes.time,
    subject: attributes.subject,
    recordedtime: attributes.recordedtime,
    late: attributes.late === 'true',
    ...(attributes.aheadof !== undefined && { aheadof: attributes.aheadof }),
    replacesid: attributes.replacesid ?? null,
    data: row.data,
    ...provenanceOf(row),
    sequence: row.sequence,
    epoch,
  }
}
