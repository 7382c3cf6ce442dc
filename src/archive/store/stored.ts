/**
 * One event as readers get it: its JSON encoded once, and what they ask about it without parsing that JSON.
 * Owns the columns this is read from. Refuses to choose which events: `query.ts` and the tail do.
 */
import { encodeCursor } from '../../core/cursor.ts'
import type { EventType } from '../../core/event.ts'
import type { Facts } from '../../core/filter/facts.ts'
import { GAP_FACTS } from '../../core/filter/facts.ts'
import type { Database } from '../../storage/database.ts'

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

/** What stands between the attributes and the data of an event's JSON, and behind them. */
const GLUE = ',"data":'
const END = '}'

/** What is known of an event beside its text: sequence, upstream time, when it was recorded, type. */
type Head = readonly [sequence: number, timeMs: number, recordedMs: number, type: EventType, ...unknown[]]
/** The facts are null for a gap event. */
type EventRow = readonly [number, number, number, EventType, json: Uint8Array, facts: Uint8Array | null]
type RunHead = readonly [number, number, number, EventType, jsonBytes: number, factsBytes: number]

/** The JSON of all events of a run, and their facts, each as one piece; null where there is none. */
interface RunRow {
  json: Uint8Array | null
  facts: Uint8Array | null
}

const HEAD = 'e.sequence, f.time_ms, f.recorded_ms, f.type'
const JSON_TEXT = `e.attributes || '${GLUE}' || e.data || '${END}'`
const TABLES = 'FROM events e CROSS JOIN facts f USING (sequence)'
const RANGE = 'WHERE e.sequence > ? AND e.sequence <= ? ORDER BY e.sequence'

const ONE = `
  SELECT ${HEAD}, CAST(${JSON_TEXT} AS BLOB) AS json, CAST(f.facts AS BLOB) AS facts
  ${TABLES} WHERE e.sequence = ?`
const RUN_HEADS = `
  SELECT ${HEAD}, octet_length(e.attributes) + octet_length(e.data) + ${GLUE.length + END.length} AS json_bytes,
    coalesce(octet_length(f.facts), 0) AS facts_bytes
  ${TABLES} ${RANGE}`
/** group_concat takes the rows in the order of the subquery; an ORDER BY of its own would sort the texts, at twice the cost. */
const RUN = `
  SELECT CAST(group_concat(json, '') AS BLOB) AS json, CAST(group_concat(facts, '') AS BLOB) AS facts
  FROM (SELECT ${JSON_TEXT} AS json, f.facts ${TABLES} ${RANGE})`

/** The event of that sequence; undefined where it is not held. */
export function storedEvent(db: Database, sequence: number, epoch: string): StoredEvent | undefined {
  const row = db.prepareTuples<EventRow>(ONE).get(sequence)
  if (row === undefined) return undefined
  return new HeldEvent(row, bufferOf(row[4]), bufferOf(row[5]), epoch)
}

/**
 * Every event with `after` < sequence ≤ `through`, in order. Their text comes as two pieces of memory, which live as long
 * as any of the events: a piece for each event costs as much again as everything else about it.
 */
export function storedRun(
  db: Database,
  range: { after: number; through: number },
  epoch: string,
): StoredEvent[] {
  const { after, through } = range
  const heads = db.prepareTuples<RunHead>(RUN_HEADS).all(after, through)
  const run = heads.length === 0 ? undefined : db.prepare<RunRow>(RUN).get(after, through)
  if (run === undefined) return []
  const [json, facts] = [bufferOf(run.json), bufferOf(run.facts)]
  let jsonAt = 0
  let factsAt = 0
  return heads.map((head) => {
    const jsonEnd = jsonAt + head[4]
    const factsEnd = factsAt + head[5]
    const event = new HeldEvent(head, json.subarray(jsonAt, jsonEnd), facts, epoch, factsAt, factsEnd)
    jsonAt = jsonEnd
    factsAt = factsEnd
    return event
  })
}

function bufferOf(bytes: Uint8Array | null): Buffer {
  return bytes === null ? Buffer.alloc(0) : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/**
 * Facts and cursor are made when asked for: most reads need neither. A class for its getters on the prototype: made for
 * every event of a replay, they halve its cost.
 */
class HeldEvent implements StoredEvent {
  readonly sequence: number
  readonly type: EventType
  readonly timeMs: number
  readonly recordedMs: number
  readonly json: Buffer
  readonly #epoch: string
  /** The text of its facts is the part between these two places; nothing for a gap event. */
  readonly #factsText: Buffer
  readonly #factsAt: number
  readonly #factsEnd: number
  #facts: Facts | null = null

  constructor(head: Head, json: Buffer, facts: Buffer, epoch: string, factsAt = 0, factsEnd = facts.length) {
    this.sequence = head[0]
    this.timeMs = head[1]
    this.recordedMs = head[2]
    this.type = head[3]
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

/** Facts from their column. */
export function readFacts(text: string | null): Facts {
  return text === null ? GAP_FACTS : (JSON.parse(text) as Facts)
}
