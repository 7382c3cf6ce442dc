/**
 * One event as readers get it: its JSON encoded once, and what they ask about it without parsing that JSON.
 * Owns the columns this is read from. Refuses to choose which events: `query.ts` and the tail do.
 */
import { encodeCursor } from '../core/cursor.ts'
import type { EventType } from '../core/event.ts'
import type { Facts } from '../core/facts.ts'
import { GAP_FACTS } from '../core/facts.ts'

/** An event of the log, ready to be sent. Shared between readers: nobody changes it. */
export interface StoredEvent {
  readonly sequence: number
  readonly type: EventType
  /** Upstream time; of a gap, when its state changed. Milliseconds since 1970. */
  readonly timeMs: number
  /** When the bridge first held it, milliseconds since 1970. */
  readonly recordedMs: number
  /** The resume point just after this event. */
  readonly cursor: string
  readonly facts: Facts
  /** The whole event as one line of UTF-8 JSON. */
  readonly json: Buffer
}

/** A row of `WHOLE_EVENT`. */
export interface EventRow {
  sequence: number
  time_ms: number
  recorded_ms: number
  type: EventType
  /** null for a gap event. */
  facts: string | null
  json: Uint8Array
}

/** Columns and tables of an `EventRow`; the caller adds WHERE and ORDER BY over `e.sequence`. */
export const WHOLE_EVENT = `
  SELECT e.sequence, f.time_ms, f.recorded_ms, f.type, f.facts,
    CAST(e.attributes || ',"data":' || e.data || '}' AS BLOB) AS json
  FROM events e CROSS JOIN facts f USING (sequence)`

/** The event of a row. Facts and cursor are made when asked for: most reads need neither. */
export function storedEvent(row: EventRow, epoch: string): StoredEvent {
  return new RowEvent(row, epoch)
}

/** A class for its getters on the prototype: made for every event of a replay, they halve its cost. */
class RowEvent implements StoredEvent {
  readonly sequence: number
  readonly type: EventType
  readonly timeMs: number
  readonly recordedMs: number
  readonly json: Buffer
  readonly #epoch: string
  readonly #factsText: string | null
  #facts: Facts | null = null

  constructor(row: EventRow, epoch: string) {
    this.sequence = row.sequence
    this.type = row.type
    this.timeMs = row.time_ms
    this.recordedMs = row.recorded_ms
    this.json = Buffer.from(row.json.buffer, row.json.byteOffset, row.json.byteLength)
    this.#epoch = epoch
    this.#factsText = row.facts
  }

  get cursor(): string {
    return encodeCursor({ epoch: this.#epoch, sequence: this.sequence, timeMs: this.timeMs })
  }

  get facts(): Facts {
    this.#facts ??= readFacts(this.#factsText)
    return this.#facts
  }
}

/** Facts from their column. */
export function readFacts(text: string | null): Facts {
  return text === null ? GAP_FACTS : (JSON.parse(text) as Facts)
}
