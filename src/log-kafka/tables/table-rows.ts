/**
 * The rows of all tables as their topic says them. Owns reading the topic again: the new rows grow aside and take the
 * place of the old ones as a whole, so that nothing that exists looks deleted meanwhile, and who listens is told what
 * differs, deletions that nobody could tell before among it. Refuses to read the topic: `table.ts` does.
 */
import { type ChangeFeed, createChangeFeed } from '../../log/change-feed.ts'
import { storedValue } from '../../log/stored-value.ts'
import type { ReadBatch } from '../reading/partition-reader.ts'

/** Values as JSON text, by row; so nobody changes one by holding it. */
type Texts = Map<string, string>

/** Rows of tables by the tables' names, which hold no slash. */
export interface TableRows {
  /** The rows of that table as they stand; empty until the topic was first read to its end. */
  textsOf(name: string): ReadonlyMap<string, string>
  feedOf(name: string): ChangeFeed<unknown>
  /** Takes what the topic gave next; throws BridgeError `log_damaged` when a value is not JSON. */
  take(batch: ReadBatch): void
  /** The first offset that is not in the rows; 0 while they are read again. */
  readonly nextOffset: number
}

/** Rows of a topic that was not read yet. */
export function createTableRows(): TableRows {
  const tables = new Map<string, Texts>()
  const feeds = new Map<string, ChangeFeed<unknown>>()
  /** Rows that are being read from the start; null while the topic is followed. */
  let aside: Map<string, Texts> | null = new Map()
  let isFirst = true
  let nextOffset = 0

  const feedOf = (name: string): ChangeFeed<unknown> => made(feeds, name, () => createChangeFeed())
  const tell = (name: string, key: string, text: string | null): void =>
    feedOf(name).publish({ key, value: text === null ? null : JSON.parse(text) })
  const swap = (read: Map<string, Texts>): void => {
    for (const name of new Set([...tables.keys(), ...read.keys()])) {
      const before = tables.get(name) ?? new Map()
      const after = read.get(name) ?? new Map()
      tables.set(name, after)
      if (isFirst) continue
      for (const key of before.keys()) if (!after.has(key)) tell(name, key, null)
      for (const [key, text] of after) if (before.get(key) !== text) tell(name, key, text)
    }
    isFirst = false
  }
  return {
    textsOf: (name) => tables.get(name) ?? new Map(),
    feedOf,
    take(batch) {
      if (batch.rewound !== null) {
        aside = new Map()
        nextOffset = 0
      }
      for (const record of batch.records) {
        const [name = '', ...rest] = String(record.key).split('/')
        const key = rest.join('/')
        const text = record.value === null ? null : record.value.toString('utf8')
        if (text !== null) storedValue(`${name}/${key}`, text)
        put(
          made(aside ?? tables, name, () => new Map()),
          key,
          text,
        )
        if (aside === null) tell(name, key, text)
      }
      if (aside !== null && batch.atEnd) {
        const read = aside
        aside = null
        swap(read)
      }
      if (aside === null) nextOffset = batch.nextOffset
    },
    get nextOffset() {
      return nextOffset
    },
  }
}

function put(texts: Texts, key: string, text: string | null): void {
  if (text === null) texts.delete(key)
  else texts.set(key, text)
}

function made<V>(map: Map<string, V>, name: string, make: () => V): V {
  const value = map.get(name) ?? make()
  map.set(name, value)
  return value
}
