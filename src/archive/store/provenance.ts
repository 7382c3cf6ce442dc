/**
 * Stores what is known of an event beside its text as columns of its row. A build without these columns leaves them null.
 */
import type { Provenance } from '../../core/event.ts'
import { topicsText, withFoundBy, withTopics } from '../../log/provenance-text.ts'
import type { Database } from '../../storage/database.ts'

/** The columns; null where it is not known. */
export interface ProvenanceColumns {
  found_by: string | null
  committed_ms: number | null
  topics: string | null
  journey: string | null
}

/** Their names, by commas. */
export const PROVENANCE_COLUMNS = 'found_by, committed_ms, topics, journey'

/** The columns of an event. */
export function provenanceColumns({ foundBy, committedMs, topics, journey }: Provenance): ProvenanceColumns {
  return {
    found_by: foundBy ?? null,
    committed_ms: committedMs ?? null,
    topics: topics === undefined ? null : topicsText(topics),
    journey: journey ?? null,
  }
}

/** What these columns say. */
export function provenanceOf({ found_by, committed_ms, topics, journey }: ProvenanceColumns): Provenance {
  return {
    ...withFoundBy(found_by),
    ...(committed_ms !== null && { committedMs: committed_ms }),
    ...withTopics(topics),
    ...(journey !== null && { journey }),
  }
}

/** What is known of the event at that sequence; undefined where it is not stored. */
export function storedProvenance(db: Database, sequence: number): Provenance | undefined {
  const row = db
    .prepare<ProvenanceColumns>(`SELECT ${PROVENANCE_COLUMNS} FROM events WHERE sequence = ?`)
    .get(sequence)
  return row && provenanceOf(row)
}
