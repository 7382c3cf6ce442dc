/** Defines the log's compacted key-value tables, which every process may write and follow. */

/** One key of a table with its new value; null = deleted. */
export interface Change<V> {
  key: string
  value: V | null
}

/** A compacted key-value table whose values are JSON. Any process may write; every process sees the changes. */
export interface Table<V> {
  /** Every key with its latest value, read to the end. */
  load(): Promise<Map<string, V>>
  /** Durable when it resolves. */
  put(key: string, value: V): Promise<void>
  /** Durable when it resolves; a missing key is no error. */
  delete(key: string): Promise<void>
  /** Every change made after this call, in order, until the signal aborts. */
  changes(signal: AbortSignal): AsyncIterable<Change<V>[]>
}
