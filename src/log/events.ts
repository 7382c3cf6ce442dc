/**
 * Defines the interface with which the leader writes events to the log: leadership terms, the one writer, and its atomic
 * commits. A commit also carries key-value rows whose meaning only the writer's caller knows.
 */
import { contentHash } from '../core/disclosure.ts'
import type { Committed, NewEvent } from '../core/event.ts'

/** An upstream item that could not be read. */
export interface RejectedItem {
  /** The item as upstream sent it, as text; of a long one the beginning, the length and the hash. */
  raw: string
  reason: string
  guid: string | null
  /** ISO 8601. */
  recordedtime: string
}

/** A rejected item as it is kept, with its place among the others: a later one has a greater place. */
export interface KeptRejected extends RejectedItem {
  readonly place: number
}

/** Which rejected items to read: at most `limit`, and none further once their texts have `mostBytes`. */
export interface RejectedPage {
  /** Only items of a smaller place; null: the newest. */
  before: number | null
  limit: number
  mostBytes: number
}

/** Most bytes of rejected items that are read for their hashes; builds before this one stored items of any size whole. */
export const REJECTED_WINDOW_BYTES = 64 * 1024 * 1024

/** The hash by which the text of a rejected item is recognised when upstream sends it again. */
export function rejectedHash(raw: string): string {
  return contentHash(raw)
}

/** Rows of the writer's caller by key: the new value as JSON text, or null where the row is removed. */
export type RowChanges = ReadonlyMap<string, string | null>

/** All or nothing: the events in this order, the rejected items, the changed rows. */
export interface Commit {
  events: readonly NewEvent[]
  rejected?: readonly RejectedItem[]
  /** Written in this order. Reserved for adapters: `head/epoch`, `head/sequence`, `head/earlier`, `count/…`, `topic/…` and `nonce`. */
  rows?: RowChanges
}

/** Most events that one commit may hold; a longer fill is a chain of commits. */
export const COMMIT_LIMIT = 1000

/** How near a candidate's replica is to the end of the log: a leader polls only once its own is complete. */
export interface ReplicaStanding {
  /** Events that it lacks; 0: it is complete. */
  readonly missing: number
  /** Resolves when it is complete, or the signal aborts. Never rejects. */
  untilComplete(signal: AbortSignal): Promise<void>
}

/** A leadership term. It ends once: `lost` aborts. */
export interface Term {
  readonly lost: AbortSignal
  /** Steps down, so that another process can lead at once. Never throws; callable twice, and after the loss. */
  end(): Promise<void>
}

/**
 * The one writer. Its operations run one after the other, in the order they were called.
 * Every operation resolves, or throws one of:
 * - `log_fenced`: a later writer has claimed. Nothing of this writer becomes visible any more; never claim again in
 *   this term: step down and campaign.
 * - `log_unknown`: it may or may not be durable. The writer is dead; while still leader, `claim` again *reads* what
 *   happened and never guesses.
 * - `log_damaged`: what is stored contradicts itself. The process stops.
 * After any of them every further operation throws the same.
 */
export interface Writer {
  readonly epoch: string
  /** Sequence of the last event after the last resolved operation; 0 before the first event. */
  readonly sequence: number
  /** The rows as the claim found them, values as JSON text. Later commits do not show here. */
  readonly rows: ReadonlyMap<string, string>
  /**
   * Makes the commit durable and visible, all or nothing, and gives each event the next sequence. Resolves with the events
   * as committed. An empty commit changes nothing; that it resolves proves that no later writer had claimed.
   * @throws RangeError with nothing written when there are more than COMMIT_LIMIT events; else as above
   */
  commit(commit: Commit): Promise<Committed[]>
  /** Releases the claim cleanly. Never throws; later operations throw `log_fenced`. */
  release(): Promise<void>
}

/** The epochs that a log had before the present one. A restore ends an epoch and keeps events of it. */
export interface EarlierEpochs {
  /** The last sequence that the newest restore kept. */
  readonly through: number
  /** By epoch: the last sequence that the present epoch shares with it. */
  readonly epochs: Readonly<Record<string, number>>
}

/** Where a log ends. */
export interface LogEnd {
  /** null: nobody has claimed it yet. */
  epoch: string | null
  /** Of the last committed event; 0 before the first. */
  sequence: number
  /** Retention has dropped every event up to `sequence`: `follow` yields nothing before the next one. Absent otherwise. */
  allDropped?: true
  /**
   * Absent where the log was never restored. Where it is present, `follow` yields the events that a restore kept with the
   * epochs in which they were written, and all of them belong to the present one.
   */
  earlier?: EarlierEpochs
}

/** A message about the bridge's own state for readers outside, e.g. a heartbeat. */
export interface StatusMessage {
  readonly type: string
  readonly [member: string]: unknown
}
