/**
 * Everything that the writer keeps in the state topic: the port's state, how far each topic is counted, and which topic
 * each code got. Owns the keys of those rows and what a commit makes of them; pure. Refuses to send.
 */
import type { Committed } from '../../core/event.ts'
import { isGap } from '../../core/event.ts'
import type { WriterState } from '../log.ts'
import { rowsOf, stateOf } from '../state-rows.ts'
import { eventRecord, type NewRecord } from './records.ts'
import { ALL, chooseTopic, GAPS, namedTopics, placeOf, type TopicBook, type TopicChoice } from './topics.ts'

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

/** Books as keyed rows. */
export function bookRows({ state, counts, choices }: Books): Map<string, string> {
  const rows = rowsOf(state)
  for (const [topic, count] of counts) rows.set(COUNT + topic, JSON.stringify(count))
  for (const [topic, choice] of choices) rows.set(CHOICE + topic, JSON.stringify(choice))
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
        .map(([key, text]) => [key.slice(prefix.length), JSON.parse(text) as T]),
    )
  return { state, counts: under<number>(COUNT), choices: under<TopicChoice>(CHOICE) }
}

/** The choices that these events ask for and that are not made yet; `atMs` is our clock. */
export function newChoices(
  books: Books,
  known: ReadonlySet<string>,
  events: readonly Committed[],
  nativeKind: string,
  atMs: number,
): Map<string, TopicChoice> {
  const choices = new Map(books.choices)
  const made = new Map<string, TopicChoice>()
  for (const named of new Set(events.flatMap((event) => namedTopics(event, nativeKind)))) {
    const choice = chooseTopic({ known, choices }, named, atMs)
    if (choice === null || choices.has(named)) continue
    choices.set(named, choice)
    made.set(named, choice)
  }
  return made
}

/** The events' records by topic, each topic counted on from `counts`; and the counts after them. */
export function placeEvents(
  events: readonly Committed[],
  counts: ReadonlyMap<string, number>,
  book: TopicBook,
  nativeKind: string,
): { records: Map<string, NewRecord[]>; counts: Map<string, number> } {
  const after = new Map(counts)
  const records = new Map<string, NewRecord[]>()
  const place = (topic: string, record: NewRecord): void => {
    const placed = records.get(topic) ?? []
    placed.push(record)
    records.set(topic, placed)
  }
  for (const event of events) {
    place(ALL, eventRecord(event, event.sequence))
    const named = namedTopics(event, nativeKind).map((topic) => placeOf(book, topic))
    for (const topic of new Set(isGap(event.type) ? [GAPS] : named)) {
      const count = (after.get(topic) ?? 0) + 1
      after.set(topic, count)
      place(topic, eventRecord(event, count))
    }
  }
  return { records, counts: after }
}
