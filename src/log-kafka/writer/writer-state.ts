/**
 * Turns a commit to the log into Kafka records: rows of the writer's state, and the events for each topic that they belong
 * to. The state holds the log's epoch and last sequence, the number of events by topic, and which category codes have their
 * own topic.
 */
import type { Committed } from '../../core/event.ts'
import { isGap } from '../../core/event.ts'
import type { EarlierEpochs, RowChanges } from '../../log/events.ts'
import { storedValue } from '../../log/stored-value.ts'
import { type CommittedHead, placedRows, placeRows } from '../../log-shared/place-rows.ts'
import { eventRecord, type NewRecord, recordOfAll } from '../client/records.ts'
import {
  ALL,
  chooseTopic,
  GAPS,
  namedTopics,
  placeOf,
  sharedTopic,
  type TopicBook,
  type TopicChoice,
} from '../topics/topics.ts'

/** What the writer keeps for itself in the state topic, beside the rows of its caller. */
export interface KafkaWriterState {
  readonly place: CommittedHead
  /** Last topic sequence, by topic; `all` is not among them: its own is the sequence. */
  readonly counts: ReadonlyMap<string, number>
  readonly choices: ReadonlyMap<string, TopicChoice>
  /** The epochs before the present one; null where the log was never restored. */
  readonly earlier: EarlierEpochs | null
}

const COUNT = 'count/'
const CHOICE = 'topic/'
/** Key of the row that holds the earlier epochs. */
const EARLIER_KEY = 'head/earlier'

/** Key of the record by which a claim finds the end of what earlier writers left: its value is a fencing token. */
export const FENCING_TOKEN_KEY = 'nonce'

/**
 * The rows that change from one state to the next; all where there was no state before. A mirror may stop between two of
 * them. So counts are before the sequence, because a number must not be given out twice; the caller's rows follow in their
 * own order.
 */
export function stateRows(
  before: KafkaWriterState | null,
  after: KafkaWriterState,
  callers: RowChanges = new Map(),
): Map<string, string | null> {
  const rows = new Map<string, string | null>()
  addChanged(rows, CHOICE, before?.choices ?? new Map(), after.choices)
  addChanged(rows, COUNT, before?.counts ?? new Map(), after.counts)
  if (after.earlier !== null && after.earlier !== before?.earlier) {
    rows.set(EARLIER_KEY, JSON.stringify(after.earlier))
  }
  for (const [key, text] of placeRows(before?.place ?? null, after.place)) rows.set(key, text)
  for (const [key, text] of callers) rows.set(key, text)
  return rows
}

/** Counts only rise and a choice may change; none is ever removed. */
function addChanged(
  rows: Map<string, string | null>,
  prefix: string,
  before: ReadonlyMap<string, unknown>,
  after: ReadonlyMap<string, unknown>,
): void {
  for (const [key, value] of after) {
    const text = JSON.stringify(value)
    if (text !== JSON.stringify(before.get(key))) rows.set(`${prefix}${key}`, text)
  }
}

/**
 * The state of these rows, and the rows of the writer's caller; null where no writer has written yet.
 * @throws BridgeError `log_damaged` when epoch or sequence is missing or a row is not JSON
 */
export function readStateRows(
  stored: ReadonlyMap<string, string>,
): { state: KafkaWriterState; rows: ReadonlyMap<string, string> } | null {
  const counts = new Map<string, number>()
  const choices = new Map<string, TopicChoice>()
  const others = new Map<string, string>()
  let earlier: EarlierEpochs | null = null
  for (const [key, text] of stored) {
    if (key.startsWith(COUNT)) counts.set(key.slice(COUNT.length), storedValue(key, text))
    else if (key.startsWith(CHOICE)) choices.set(key.slice(CHOICE.length), storedValue(key, text))
    else if (key === EARLIER_KEY) earlier = storedValue<EarlierEpochs>(key, text)
    else if (key !== FENCING_TOKEN_KEY) others.set(key, text)
  }
  const placed = placedRows(others)
  return placed && { state: { place: placed.place, counts, choices, earlier }, rows: placed.rows }
}

/** An event with the topics that its categories name. */
export interface NamedEvent {
  event: Committed
  named: readonly string[]
}

/** The events with the topics they name. */
export function nameTopics(events: readonly Committed[], nativeKind: string): NamedEvent[] {
  return events.map((event) => ({ event, named: namedTopics(event, nativeKind) }))
}

/** The choices that these events ask for and that are not made yet; `atMs` is our clock. */
export function newChoices(
  book: TopicBook,
  events: readonly NamedEvent[],
  atMs: number,
): Map<string, TopicChoice> {
  const { known } = book
  const choices = new Map(book.choices)
  const made = new Map<string, TopicChoice>()
  for (const named of new Set(events.flatMap((event) => event.named))) {
    const choice = chooseTopic({ known, choices }, named, atMs)
    if (choice === null || choices.has(named)) continue
    choices.set(named, choice)
    made.set(named, choice)
  }
  return made
}

/** The topics, and those of them that cannot be had at present. */
export interface UsableTopics extends TopicBook {
  unavailable: ReadonlySet<string>
}

/**
 * The events' records by topic, each topic counted on from `counts`; and the counts after them. An unavailable topic is
 * counted without a record, so that its readers see the hole once it is there again.
 */
export function placeEvents(
  events: readonly NamedEvent[],
  counts: ReadonlyMap<string, number>,
  book: UsableTopics,
): { records: Map<string, NewRecord[]>; counts: Map<string, number> } {
  const after = new Map(counts)
  const records = new Map<string, NewRecord[]>()
  const place = (topic: string, record: NewRecord): void => {
    const placed = records.get(topic) ?? []
    placed.push(record)
    records.set(topic, placed)
  }
  const count = (topic: string): number => {
    const counted = (after.get(topic) ?? 0) + 1
    after.set(topic, counted)
    return counted
  }
  for (const { event, named } of events) {
    const topics = isGap(event.type) ? [GAPS] : named.map((topic) => placeOf(book, topic))
    const missed = topics.filter((topic) => book.unavailable.has(topic))
    for (const topic of new Set(missed)) count(topic)
    const used = topics.map((topic) => (missed.includes(topic) ? sharedTopic(topic) : topic))
    const holding = [...new Set(used)]
    place(ALL, recordOfAll(event, holding))
    for (const topic of holding) place(topic, eventRecord(event, count(topic)))
  }
  return { records, counts: after }
}
