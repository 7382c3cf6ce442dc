/**
 * Reads stored events from the archive: each as one line of JSON, joined from texts that were encoded when it was stored,
 * with the fields that filters look at. Nobody parses JSON to filter an event. `reading/query.ts` chooses which events.
 */
import { encodeCursor } from '../../core/cursor.ts'
import type { EventType } from '../../core/event.ts'
import type { Facts } from '../../core/filter/facts.ts'
import { GAP_FACTS } from '../../core/filter/facts.ts'
import type { Database } from '../../storage/database.ts'

/** An event of the log, ready to be sent. Shared by all readers and immutable. */
export interface StoredEvent {
  readonly sequence: number
  readonly type: EventType
  /** Upstream time; of a gap, when its state changed. Milliseconds since 1970. */
  readonly timeMs: number
  /** When the bridge first held it, milliseconds since 1970. */
  readonly recordedMs: number
  /** When the log stored it, ms since 1970; where an older build wrote it, `recordedMs`. */
  readonly committedMs: number
  /** The resume point just after this event. */
  readonly cursor: string
  readonly facts: Facts
  /** The whole event as one line of UTF-8 JSON. */
  readonly json: Buffer
}

/** Text between the attributes and the data of an event's JSON, and after them. */
const GLUE = ',"data":'
const END = '}'

/** The columns of an event besides its text. */
type Head = readonly [
  sequence: number,
  timeMs: number,
  recordedMs: number,
  committedMs: number,
  type: EventType,
  ...unknown[],
]
/** `facts` is null for a gap event. */
type EventRow = readonly [
  number,
  number,
  number,
  number,
  EventType,
  json: Uint8Array,
  facts: Uint8Array | null,
]
type RangeHead = readonly [number, number, number, number, EventType, jsonBytes: number, factsBytes: number]

/** The concatenated JSON of consecutive events, and their concatenated facts; null where there is none. */
interface RangeRow {
  json: Uint8Array | null
  facts: Uint8Array | null
}

const HEAD = 'e.sequence, f.time_ms, f.recorded_ms, coalesce(e.committed_ms, f.recorded_ms), f.type'
const JSON_TEXT = `e.attributes || '${GLUE}' || e.data || '${END}'`
const TABLES = 'FROM events e CROSS JOIN facts f USING (sequence)'
const RANGE = 'WHERE e.sequence > ? AND e.sequence <= ? ORDER BY e.sequence'

const ONE = `
  SELECT ${HEAD}, CAST(${JSON_TEXT} AS BLOB) AS json, CAST(f.facts AS BLOB) AS facts
  ${TABLES} WHERE e.sequence = ?`
const RANGE_HEADS = `
  SELECT ${HEAD}, octet_length(e.attributes) + octet_length(e.data) + ${GLUE.length + END.length} AS json_bytes,
    coalesce(octet_length(f.facts), 0) AS facts_bytes
  ${TABLES} ${RANGE}`
/** group_concat keeps the order of the subquery; its own ORDER BY would sort the texts, at twice the cost. */
const RANGE_TEXTS = `
  SELECT CAST(group_concat(json, '') AS BLOB) AS json, CAST(group_concat(facts, '') AS BLOB) AS facts
  FROM (SELECT ${JSON_TEXT} AS json, f.facts ${TABLES} ${RANGE})`

/** The event of that sequence; undefined where it is not stored. */
export function storedEvent(db: Database, sequence: number, epoch: string): StoredEvent | undefined {
  const row = db.prepareTuples<EventRow>(ONE).get(sequence)
  if (row === undefined) return undefined
  return new LazyEvent(row, bufferOf(row[5]), bufferOf(row[6]), epoch)
}

/**
 * The events with `after` < sequence ≤ `through`, in order: every one, or as many as have `mostBytes` of JSON. Their text is
 * fetched as two buffers that all of them share: a buffer for each event makes the read a fifth slower and holds 10 MB more
 * in the buffer of recent events.
 */
export function storedRange(
  db: Database,
  range: { after: number; through: number },
  epoch: string,
  mostBytes = Number.POSITIVE_INFINITY,
): StoredEvent[] {
  const { after } = range
  const heads = withinBytes(db.prepareTuples<RangeHead>(RANGE_HEADS).all(after, range.through), mostBytes)
  const through = heads.at(-1)?.[0] ?? range.through
  const texts = heads.length === 0 ? undefined : db.prepare<RangeRow>(RANGE_TEXTS).get(after, through)
  if (texts === undefined) return []
  const [json, facts] = [bufferOf(texts.json), bufferOf(texts.facts)]
  let jsonAt = 0
  let factsAt = 0
  return heads.map((head) => {
    const jsonEnd = jsonAt + head[5]
    const factsEnd = factsAt + head[6]
    const event = new LazyEvent(head, json.subarray(jsonAt, jsonEnd), facts, epoch, factsAt, factsEnd)
    jsonAt = jsonEnd
    factsAt = factsEnd
    return event
  })
}

/** The first events, up to the one with which their JSON reaches `mostBytes`. */
function withinBytes(heads: RangeHead[], mostBytes: number): RangeHead[] {
  let bytes = 0
  const last = heads.findIndex((head) => {
    bytes += head[5]
    return bytes >= mostBytes
  })
  return last < 0 ? heads : heads.slice(0, last + 1)
}

function bufferOf(bytes: Uint8Array | null): Buffer {
  return bytes === null ? Buffer.alloc(0) : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/**
 * Decodes facts and cursor on first use: most reads need neither. It is a class because getters on the prototype halve the
 * cost of an event in a replay.
 */
class LazyEvent implements StoredEvent {
  readonly sequence: number
  readonly type: EventType
  readonly timeMs: number
  readonly recordedMs: number
  readonly committedMs: number
  readonly json: Buffer
  readonly #epoch: string
  /** The text of its facts is the part between these two offsets; empty for a gap event. */
  readonly #factsText: Buffer
  readonly #factsAt: number
  readonly #factsEnd: number
  #facts: Facts | null = null

  constructor(head: Head, json: Buffer, facts: Buffer, epoch: string, factsAt = 0, factsEnd = facts.length) {
    this.sequence = head[0]
    this.timeMs = head[1]
    this.recordedMs = head[2]
    this.committedMs = head[3]
    this.type = head[4]
    this.json = json
    this.#epoch = epoch
    this.#factsText = facts
    this.#factsAt = factsAt
    this.#factsEnd = factsEnd
  }

  get cursor(): string {
    return encodeCursor({ epoch: this.#epoch, sequence: this.sequence, timeMs: this.timeMs })
  }

  get facts(): Facts {
    const from = this.#factsAt
    const to = this.#factsEnd
    this.#facts ??= readFacts(from === to ? null : this.#factsText.toString('utf8', from, to))
    return this.#facts
  }
}

/** Facts from the text of their column; null = a gap event. */
export function readFacts(text: string | null): Facts {
  return text === null ? GAP_FACTS : (JSON.parse(text) as Facts)
}
