/** Defines the interface of journals: append-only records of all processes in one order, kept for a limited time. */

/** Consecutive records, and the position from which reading continues after them. */
export interface JournalBatch<V> {
  records: V[]
  /** Opaque; of this journal only. */
  position: string
}

/** Records of all processes in one order, kept for a time. Values are JSON. */
export interface Journal<V> {
  /**
   * Durable when it resolves, in this order. On Kafka a record may come twice, where an acknowledgement got lost.
   * @throws BridgeError `log_unavailable`, within seconds, when it may or may not become durable; RangeError when a
   * record is larger than LARGEST_ROW_BYTES, with nothing written
   */
  append(records: readonly V[]): Promise<void>
  /**
   * Every record after the position that is still kept (null: from the oldest on), then every new one, until the signal
   * aborts or the log is closed. A position beyond the end, because the journal was started afresh, reads from the oldest on.
   * Records may outlive their retention by a tenth of it. A batch takes some milliseconds to read. On Kafka a record that is
   * not JSON, which no bridge wrote, is left out, so a batch may be empty.
   * @throws BridgeError `log_damaged` when the position is not one of a journal, or a record of the embedded log is not JSON
   */
  read(after: string | null, signal: AbortSignal): AsyncIterable<JournalBatch<V>>
}
