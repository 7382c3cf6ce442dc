/**
 * One committed event as rows, and rows as the committed event. Owns what is derived from an item when it is stored.
 * Refuses to know what is already there: `archive.ts` keeps the order.
 */
import { parseTimestamp } from '../core/dates.ts'
import { contentHash, readDisclosure } from '../core/disclosure.ts'
import type { Committed, EventType } from '../core/event.ts'
import { encodeAttributes, isGap, PUBLISHED, revisionOf } from '../core/event.ts'
import type { Facts } from '../core/facts.ts'
import { disclosureFacts, GAP_FACTS } from '../core/facts.ts'
import { BridgeError } from '../errors.ts'
import type { Database } from './db.ts'
import { termsOf } from './terms.ts'

interface Derived {
  facts: Facts
  guid: string | null
  revision: number | null
  hash: string | null
}

function derive(event: Committed, nativeKind: string): Derived {
  if (isGap(event.type)) return { facts: GAP_FACTS, guid: null, revision: null, hash: null }
  const item: unknown = JSON.parse(event.data)
  const read = readDisclosure(item)
  if (!read.ok) {
    throw new BridgeError('log_damaged', `event ${event.sequence} holds no disclosure: ${read.reason}`, {
      hint: 'Report this as a fault of the program, with the event.',
    })
  }
  const kind = event.type === PUBLISHED ? 'published' : 'amended'
  return {
    facts: disclosureFacts(read.disclosure, kind, nativeKind),
    guid: read.disclosure.guid,
    revision: revisionOf(event.id, read.disclosure.guid),
    hash: contentHash(item),
  }
}

/**
 * Writes one event and everything it is found by. `highMs`: latest time of the events before it. Inside a transaction.
 * @throws BridgeError `log_damaged` when its data is no disclosure
 */
export function insertEvent(db: Database, event: Committed, highMs: number, nativeKind: string): void {
  const { facts, guid, revision, hash } = derive(event, nativeKind)
  const { sequence, timeMs } = event
  db.prepare('INSERT INTO events(sequence, attributes, data) VALUES (?, ?, ?)').run(
    sequence,
    encodeAttributes(event),
    event.data,
  )
  db.prepare(
    `INSERT INTO facts(sequence, time_ms, recorded_ms, type, guid, revision, hash, facts)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  ).run(
    sequence,
    timeMs,
    parseTimestamp(event.recordedtime) ?? timeMs,
    event.type,
    guid,
    revision,
    hash,
    guid === null ? null : JSON.stringify(facts),
  )
  db.prepare('INSERT INTO terms(rowid, words) VALUES (?, ?)').run(sequence, termsOf(facts))
  if (facts.headline !== '') {
    db.prepare('INSERT INTO headlines(rowid, headline) VALUES (?, ?)').run(sequence, facts.headline)
  }
  if (timeMs > highMs) {
    db.prepare('INSERT INTO highs(time_ms, sequence) VALUES (?, ?)').run(timeMs, sequence)
  }
}

interface CommittedRow {
  sequence: number
  time_ms: number
  attributes: string
  data: string
}

/** The attributes of contract §3 as `encodeAttributes` wrote them. */
interface Attributes {
  id: string
  source: string
  type: EventType
  time: string
  subject: string
  recordedtime: string
  late?: string
  replacesid?: string
}

/** Events of `epoch` with a sequence greater than `after`, at most `limit`, as they were committed. */
export function readCommitted(db: Database, after: number, limit: number, epoch: string): Committed[] {
  const rows = db
    .prepare<CommittedRow>(
      `SELECT e.sequence, f.time_ms, e.attributes, e.data
       FROM events e CROSS JOIN facts f USING (sequence)
       WHERE e.sequence > ? ORDER BY e.sequence LIMIT ?`,
    )
    .all(after, limit)
  return rows.map((row) => {
    const attributes = JSON.parse(`${row.attributes}}`) as Attributes
    return {
      id: attributes.id,
      source: attributes.source,
      type: attributes.type,
      time: attributes.time,
      timeMs: row.time_ms,
      subject: attributes.subject,
      recordedtime: attributes.recordedtime,
      late: attributes.late === 'true',
      replacesid: attributes.replacesid ?? null,
      data: row.data,
      sequence: row.sequence,
      epoch,
    }
  })
}
