/**
 * Everything that the writer keeps in the state topic: the port's state, how far each topic is counted, and which topic
 * each code got. Owns the keys of those rows and what a commit makes of them; pure. Refuses to send.
 */
import type { Committed } from '../../core/event.ts'
import { isGap } from '../../core/event.ts'
import type { WriterState } from '../../log/log.ts'
import { storedValue } from '../../log-shared/stored-value.ts'
import { addChanged, type ChangedRows, changedRows, stateOf } from '../../log-shared/writer-state-rows.ts'
import { eventRecord, type NewRecord } from '../client/records.ts'
import {
  ALL,
  chooseTopic,
  GAPS,
  namedTopics,
  placeOf,
  type TopicBook,
  type TopicChoice,
} from '../topics/topics.ts'

/** What is durable of this writer and its predecessors. */
export interface Books {
  readonly state: WriterState
  /** Last topic sequence, by topic; `all` is not among them: its own is the sequence. */
  readonly counts: ReadonlyMap<string, number>
  readonly choices: ReadonlyMap<string, TopicChoice>
}

const COUNT = 'count/'
const CHOICE = 'topic/'

/** Key of the record by which a claim finds the end of what earlier writers left. */
export const NONCE_KEY = 'nonce'

/** What differs between two books; all rows where there were none before. */
export function changedBookRows(before: Books | null, after: Books): ChangedRows {
  const rows = changedRows(before?.state ?? null, after.state)
  addChanged(rows, COUNT, before?.counts ?? new Map(), after.counts)
  addChanged(rows, CHOICE, before?.choices ?? new Map(), after.choices)
  return rows
}

/**
 * The books of these rows; null where no writer has written yet.
 * @throws BridgeError `log_damaged` when the state is not whole
 */
export function booksOf(rows: ReadonlyMap<string, string>): Books | null {
  const state = stateOf(rows)
  if (state === null) return null
  const under = <T>(prefix: string): Map<string, T> =>
    new Map(
      [...rows]
        .filter(([key]) => key.startsWith(prefix))
        .map(([key, text]) => [key.slice(prefix.length), storedValue<T>(key, text)]),
    )
  return { state, counts: under<number>(COUNT), choices: under<TopicChoice>(CHOICE) }
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

/** The events' records by topic, each topic counted on from `counts`; and the counts after them. */
export function placeEvents(
  events: readonly NamedEvent[],
  counts: ReadonlyMap<string, number>,
  book: TopicBook,
): { records: Map<string, NewRecord[]>; counts: Map<string, number> } {
  const after = new Map(counts)
  const records = new Map<string, NewRecord[]>()
  const place = (topic: string, record: NewRecord): void => {
    const placed = records.get(topic) ?? []
    placed.push(record)
    records.set(topic, placed)
  }
  for (const { event, named } of events) {
    place(ALL, eventRecord(event, event.sequence))
    const topics = isGap(event.type) ? [GAPS] : named.map((topic) => placeOf(book, topic))
    for (const topic of new Set(topics)) {
      const count = (after.get(topic) ?? 0) + 1
      after.set(topic, count)
      place(topic, eventRecord(event, count))
    }
  }
  return { records, counts: after }
}
