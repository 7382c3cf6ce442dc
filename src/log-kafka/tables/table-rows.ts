/**
 * Holds the rows of all key-value tables in memory. When their topic is read again from its start, new rows are collected
 * aside and replace the old ones at the end. Subscribers then receive only the differences, including deletions whose
 * tombstones are gone.
 */
import { type ChangeFeed, createChangeFeed } from '../../log/change-feed.ts'
import { storedValue } from '../../log/stored-value.ts'
import type { ReadBatch } from '../reading/partition-reader.ts'

/** Values as JSON text, by key, so that no caller can change a stored value. */
type Texts = Map<string, string>

/** Rows of tables, by the tables' names, which hold no slash. */
export class TableRows {
  readonly #tables = new Map<string, Texts>()
  readonly #feeds = new Map<string, ChangeFeed<unknown>>()
  /** Rows that are being read from the start; null while the topic is tailed. */
  #aside: Map<string, Texts> | null = new Map()
  #isFirst = true
  #nextOffset = 0

  /** The present rows of that table; empty until the topic was first read to its end. */
  textsOf(name: string): ReadonlyMap<string, string> {
    return this.#tables.get(name) ?? new Map()
  }

  /** The changes of that table. */
  feedOf(name: string): ChangeFeed<unknown> {
    return getOrCreate(this.#feeds, name, () => createChangeFeed())
  }

  /** The first offset that is not in the rows; 0 while they are read again. */
  get nextOffset(): number {
    return this.#nextOffset
  }

  /**
   * Applies the next batch of the topic.
   * @throws BridgeError `log_damaged` when a value is not JSON
   */
  take(batch: ReadBatch): void {
    if (batch.rewound !== null) {
      this.#aside = new Map()
      this.#nextOffset = 0
    }
    for (const record of batch.records) {
      const [name = '', ...rest] = `${record.key}`.split('/')
      const key = rest.join('/')
      const text = record.value === null ? null : record.value.toString('utf8')
      if (text !== null) storedValue(`${name}/${key}`, text)
      const texts = getOrCreate(this.#aside ?? this.#tables, name, () => new Map())
      if (text === null) texts.delete(key)
      else texts.set(key, text)
      if (this.#aside === null) this.#publish(name, key, text)
    }
    if (this.#aside !== null && batch.atEnd) this.#replace(this.#aside)
    if (this.#aside === null) this.#nextOffset = batch.nextOffset
  }

  #replace(read: Map<string, Texts>): void {
    this.#aside = null
    for (const name of new Set([...this.#tables.keys(), ...read.keys()])) {
      const before = this.textsOf(name)
      const after = read.get(name) ?? new Map()
      this.#tables.set(name, after)
      if (this.#isFirst) continue
      for (const key of before.keys()) if (!after.has(key)) this.#publish(name, key, null)
      for (const [key, text] of after) if (before.get(key) !== text) this.#publish(name, key, text)
    }
    this.#isFirst = false
  }

  #publish(name: string, key: string, text: string | null): void {
    this.feedOf(name).publish({ key, value: text === null ? null : JSON.parse(text) })
  }
}

function getOrCreate<V>(map: Map<string, V>, name: string, create: () => V): V {
  const value = map.get(name) ?? create()
  map.set(name, value)
  return value
}
