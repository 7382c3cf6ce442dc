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
  kind: 'found'
  event: StoredEvent
  /** Ids of the events of its item that are kept, oldest first; empty for a gap event. */
  revisions: readonly string[]
  /** guid of the newest announcement that replaces its item; null where there is none. */
  replacedBy: string | null
  provenance: Provenance
}

/** What a search by id or sequence finds; `dropped`: the log had that sequence and no longer keeps it. */
export type Lookup = OneEvent | { kind: 'missing' } | { kind: 'dropped' }

/** A sequence as a client writes it, with or without the zeros of the event. */
const SEQUENCE = /^0*[1-9]\d{0,14}$/

/** Finds it among the events that readers see. An id that looks like a sequence is an id. */
export function findEvent(archive: Archive, reader: Pick<Reader, 'latest'>, name: string): Lookup {
  const { db } = archive
  const { latest } = reader
  const sequence = archive.sequencesOf([name], latest).get(name) ?? sequenceOfGap(db, name) ?? numberOf(name)
  if (sequence === null || sequence > latest) return { kind: 'missing' }
  if (sequence < archive.oldest) return { kind: 'dropped' }
  const event = storedEvent(db, sequence, archive.epoch ?? '')
  if (event === undefined) return { kind: 'missing' }
  const item = db.prepare<{ guid: string | null }>('SELECT guid FROM facts WHERE sequence = ?').get(sequence)
  const guid = item?.guid ?? null
  return {
    kind: 'found',
    event,
    revisions: guid === null ? [] : archive.revisionsOf(guid, latest),
    replacedBy: guid === null ? null : replacementOf(db, guid, latest),
    provenance: storedProvenance(db, sequence) ?? {},
  }
}

function numberOf(name: string): number | null {
  return SEQUENCE.test(name) ? Number(name) : null
}
