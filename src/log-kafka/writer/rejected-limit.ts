/**
 * Learns from refused commits how large a rejected item the topic accepts, and cuts larger ones. Without this such an item
 * would fail the same commit for ever. A topic that was created by hand, or under a policy, may accept less than 65 MiB.
 */
import type { RejectedItem } from '../../log/events.ts'
import { recordBytes } from '../client/batch-splitting.ts'
import { isTooLarge } from '../client/faults.ts'
import { type NewRecord, rejectedRecord } from '../client/records.ts'

/** What brokers accept by default, less what Kafka adds to a record, bytes. */
const USUAL_BYTES = 1_000_000
/** A topic that accepts less takes no events either, bytes. */
const LEAST_BYTES = 16_384

/** The limit of one log's topic of rejected items. */
export class RejectedLimit {
  #bytes = Number.POSITIVE_INFINITY

  /** The item's record, cut to the limit. */
  record(item: RejectedItem): NewRecord {
    return rejectedRecord(item, this.#bytes)
  }

  /** Lowers the limit if the commit of these records failed because one may have been too large. */
  learn(error: unknown, records: readonly NewRecord[]): void {
    const largest = Math.max(0, ...records.map(recordBytes))
    if (!isTooLarge(error) || largest <= LEAST_BYTES) return
    this.#bytes = largest > USUAL_BYTES ? USUAL_BYTES : Math.max(LEAST_BYTES, Math.floor(largest / 2))
  }
}
