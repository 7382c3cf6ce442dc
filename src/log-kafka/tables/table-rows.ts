/**
 * Holds the rows of all key-value tables in memory. When their topic is read again from its start, new rows are collected
 * aside and replace the old ones at the end. Subscribers then receive only the differences, including deletions whose
 * tombstones are gone.
 */
import { BridgeError } from '../../errors.ts'
import { type ChangeFeed, createChangeFeed } from '../../log/change-feed.ts'
import type { RecordName } from '../client/foreign-records.ts'
import type { KafkaRecord } from '../client/partition-protocol.ts'
import type { ReadBatch } from '../reading/partition-reader.ts'

/** Values as JSON text, by key, so that no caller can change a stored value. */
type Texts = Map<string, string>

/** Where rows are read from, and who hears of records that are none. */
export interface TableSource {
  topic: string
  /** Called with each record that no bridge of this version wrote. It is left out. */
  onForeign(record: RecordName): void
}

/** Rows of tables, by the tables' names, which hold no slash. A table is in use once its feed was asked for. */
export class TableRows {
  readonly #source: TableSource
  readonly #tables = new Map<string, Texts>()
  readonly #feeds = new Map<string, ChangeFeed<unknown>>()
  /** Rows that are being read from the start; null while the topic is tailed. */
  #aside: Map<string, Texts> | null = new Map()
  /** By its key in the topic: the table of a row whose newest value is not JSON, and that value's offset. */
  readonly #unreadable = new Map<string, { table: string; offset: number }>()
  #isFirst = true
  #nextOffset = 0

  constructor(source: TableSource) {
    this.#source = source
  }

  /**
   * The present rows of that table; empty until the topic was first read to its end.
   * @throws BridgeError `log_damaged` when a value of the table is not JSON
   */
  textsOf(name: string): ReadonlyMap<string, string> {
    for (const [key, { table, offset }] of this.#unreadable) {
      if (table === name) throw damagedRow(this.#source.topic, { offset, key })
    }
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
   * @throws BridgeError `log_damaged` when the last value of a row is not JSON, and its table is in use
   */
  take(batch: ReadBatch): void {
    if (batch.rewound !== null) {
      this.#aside = new Map()
      this.#unreadable.clear()
      this.#nextOffset = 0
    }
    for (const record of batch.records) this.#takeRecord(record)
    // While the topic is read from its start, a later record may replace such a value or delete its row.
    if (this.#aside === null || batch.atEnd) this.#judgeUnreadable()
    if (this.#aside !== null && batch.atEnd) this.#replace(this.#aside)
    if (this.#aside === null) this.#nextOffset = batch.nextOffset
  }

  #takeRecord(record: KafkaRecord): void {
    const { offset } = record
    const id = `${record.key}`
    const slash = id.indexOf('/')
    const [table, key] = [id.slice(0, Math.max(slash, 0)), id.slice(slash + 1)]
    const text = record.value === null ? null : record.value.toString('utf8')
    if (table === '' || key === '') {
      if (text !== null) this.#source.onForeign({ offset, key: id })
      return
    }
    if (text !== null && !isJson(text)) {
      this.#unreadable.set(id, { table, offset })
      return
    }
    this.#unreadable.delete(id)
    const texts = getOrCreate(this.#aside ?? this.#tables, table, () => new Map())
    if (text === null) texts.delete(key)
    else texts.set(key, text)
    if (this.#aside === null) this.#publish(table, key, text)
  }

  #judgeUnreadable(): void {
    for (const [key, { table, offset }] of this.#unreadable) {
      if (this.#feeds.has(table)) throw damagedRow(this.#source.topic, { offset, key })
      this.#source.onForeign({ offset, key })
    }
  }

  #replace(read: Map<string, Texts>): void {
    this.#aside = null
    for (const name of new Set([...this.#tables.keys(), ...read.keys()])) {
      const before = this.#tables.get(name) ?? new Map<string, string>()
      const after = read.get(name) ?? new Map<string, string>()
      this.#tables.set(name, after)
      if (this.#isFirst) continue
      for (const key of before.keys()) if (!after.has(key)) this.#publish(name, key, null)
      for (const [key, text] of after) if (before.get(key) !== text) this.#publish(name, key, text)
    }
    this.#isFirst = false
  }

  #publish(name: string, key: string, text: string | null): void {
    this.#feeds.get(name)?.publish({ key, value: text === null ? null : JSON.parse(text) })
  }
}

function damagedRow(topic: string, { offset, key }: RecordName): BridgeError {
  return new BridgeError(
    'log_damaged',
    `the value stored under ${key}, at offset ${offset} of ${topic}, is not JSON`,
    {
      hint:
        `Another program wrote there, or a broker is faulty. Check who may write to ${topic}. Then put the topic's last good ` +
        `backup back; or send a record with the key ${key} and no value to it, which deletes this row alone, and start again.`,
    },
  )
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function getOrCreate<V>(map: Map<string, V>, name: string, create: () => V): V {
  const value = map.get(name) ?? create()
  map.set(name, value)
  return value
}
