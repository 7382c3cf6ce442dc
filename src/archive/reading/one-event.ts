/**
 * Finds one event by its id or its sequence, and what the archive knows of it beside its text: the revisions of its item,
 * what replaces it, and how it came.
 */
import type { Provenance } from '../../core/event.ts'
import type { Archive } from '../store/archive.ts'
import { sequenceOfGap } from '../store/gap-ids.ts'
import { storedProvenance } from '../store/provenance.ts'
import { replacementOf } from '../store/replacements.ts'
import { type StoredEvent, storedEvent } from '../store/stored.ts'
import type { Reader } from './reader.ts'

/** An event, and what is known of it. */
export interface OneEvent {
  event: StoredEvent
  /** Ids of the events of its item that are kept, oldest first; empty for a gap event. */
  revisions: readonly string[]
  /** guid of the newest announcement that replaces its item; null where there is none. */
  replacedBy: string | null
  provenance: Provenance
}

/** Where an event is; `dropped`: the log had that sequence and no longer keeps it. */
export type Lookup = { kind: 'found'; sequence: number } | { kind: 'missing' } | { kind: 'dropped' }

/** A sequence as a client writes it, with or without the zeros of the event. */
const SEQUENCE = /^0*[1-9]\d{0,14}$/

/** Finds its sequence among the events that readers see. An id that looks like a sequence is an id. Reads no text. */
export function findSequence(archive: Archive, { latest }: Pick<Reader, 'latest'>, name: string): Lookup {
  const byId = archive.sequencesOf([name], latest).get(name) ?? sequenceOfGap(archive.db, name)
  const sequence = byId ?? numberOf(name)
  if (sequence === null || sequence > latest) return { kind: 'missing' }
  return sequence < archive.oldest ? { kind: 'dropped' } : { kind: 'found', sequence }
}

/** The event of that sequence, with the revisions and replacements that readers see; undefined where it is not stored. */
export function eventAt(
  archive: Archive,
  { latest }: Pick<Reader, 'latest'>,
  sequence: number,
): OneEvent | undefined {
  const { db } = archive
  const event = storedEvent(db, sequence, archive.epoch ?? '')
  if (event === undefined) return undefined
  const item = db.prepare<{ guid: string | null }>('SELECT guid FROM facts WHERE sequence = ?').get(sequence)
  const guid = item?.guid ?? null
  return {
    event,
    revisions: guid === null ? [] : archive.revisionsOf(guid, latest),
    replacedBy: guid === null ? null : replacementOf(db, guid, latest),
    provenance: storedProvenance(db, sequence) ?? {},
  }
}

function numberOf(name: string): number | null {
  return SEQUENCE.test(name) ? Number(name) : null
}
