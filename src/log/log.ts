/**
 * Defines the interface of the log, which Kafka and embedded SQLite implement: one ordered event log with one writer and
 * many readers that pull. Key-value tables, shards and journals are beside the events. `test/log/conformance.ts` proves
 * every sentence of it for both implementations.
 */
import type { Committed } from '../core/event.ts'
import type { ConsumerGroups, ConsumerPage } from './consumers.ts'
import type {
  KeptRejected,
  LogEnd,
  RejectedPage,
  ReplicaStanding,
  StatusMessage,
  Term,
  Writer,
} from './events.ts'
import type { Journal } from './journal.ts'
import type { Requests } from './requests.ts'
import type { Shards } from './shards.ts'
import type { Table } from './tables.ts'

/** The log, whichever adapter runs. */
export interface Log {
  readonly kind: 'kafka' | 'embedded'
  /**
   * Resolves when this process should lead. Of several candidates one with a complete replica does, else the nearest;
   * without `replica` it counts as complete. Rejects with the signal's reason when it aborts first.
   */
  campaign(signal: AbortSignal, replica?: ReplicaStanding): Promise<Term>
  /** Fences every earlier writer, then resolves with what the last commit left. An unused log gets its epoch here. */
  claim(term: Term, signal: AbortSignal): Promise<Writer>
  /**
   * Every committed event with a sequence greater than `after`, in sequence, in batches; then new ones until the signal
   * aborts, and ends. Uncommitted events are never visible. May be called before the first claim.
   */
  follow(after: number, signal: AbortSignal): AsyncIterable<Committed[]>
  /** Where the log ends, at some moment after this call. Rejects with the signal's reason when it aborts first. */
  end(signal: AbortSignal): Promise<LogEnd>
  /** The sequence of the first event that is kept; null where none is. As `end` otherwise. */
  oldest(signal: AbortSignal): Promise<number | null>
  /** Rejected items before a place, the newest first; empty at the end. */
  rejectedPage(page: RejectedPage): Promise<KeptRejected[]>
  /** How many rejected items the log has. Absent where counting them would take reading them. */
  rejectedKept?(): number
  /** How many rejected items the log no longer has, because it keeps only so many or so old ones. Absent where it cannot know. */
  rejectedDropped?(): number
  /**
   * The hashes (`rejectedHash`) of the newest rejected items, newest last, at most `limit`, and of no more than the newest
   * 64 MiB of them. Only a few items are in memory at a time.
   */
  rejectedHashes(limit: number): Promise<string[]>
  /**
   * Publishes a status message for readers outside, beside the events. Absent where the log has no readers outside. Throws
   * `log_unavailable` instead of retrying: a late status is useless.
   */
  publishStatus?(message: StatusMessage): Promise<void>
  /**
   * The newest status messages that are kept, oldest first, then each new one until the signal aborts, and ends: the JSON
   * text of each, unchecked. Absent where `publishStatus` is: there the process that leads is the only one.
   */
  followStatus?(signal: AbortSignal): AsyncIterable<string[]>
  /**
   * The groups of readers outside that keep their position in the log. Absent where the log has no readers outside.
   * Rejects with the signal's reason when it aborts first. Throws `log_unavailable`.
   */
  consumers?(page: ConsumerPage, signal: AbortSignal): Promise<ConsumerGroups>
  /** The table of that name. */
  table<V>(name: string): Table<V>
  /** The shards of that name. `count` is how many there are; it never changes for a name. */
  shards<V>(name: string, count: number): Shards<V>
  /** The journal of that name, whose records are kept for `retentionMs`. */
  journal<V>(name: string, retentionMs: number): Journal<V>
  /** Requests to the process that leads. */
  readonly requests: Requests
  /** Releases everything. Later calls throw. Callable twice. */
  close(): Promise<void>
}
