/**
 * The log port: the only truth of this program. One ordered log, one writer, many readers that pull.
 * Owns the words of the contract between the product and its log (Kafka, embedded SQLite, memory).
 * Refuses to know which adapter runs: `open-log.ts` chooses. Every sentence here is proven for every adapter by
 * `test/log/conformance.ts`; a behaviour that an adapter needs and the suite lacks is added to the suite first.
 */
import type { DayRecord } from '../core/calendar/day-record.ts'
import type { Committed, Gap, NewEvent } from '../core/event.ts'
import type { Profile } from '../governor/arrivals/profile.ts'

/** Why a unit of the upstream quota was spent; the label set of `bridge_poll_requests_total{purpose}`. */
export const purposes = ['poll', 'fill', 'sweep', 'backfill', 'probe', 'gateway'] as const
export type Purpose = (typeof purposes)[number]

/** An upstream item that could not be read, kept as it came. */
export interface RejectedItem {
  /** The item's bytes as upstream sent them, as text. */
  raw: string
  reason: string
  guid: string | null
  /** ISO 8601. */
  recordedtime: string
}

/** A gap that still waits to be filled, and how the filling goes. */
export interface OpenGap extends Gap {
  attempts: number
  /** Earliest moment of the next try, ms since 1970, our clock. */
  retryAtMs: number
  /** A long gap is filled a day at a time: everything before this moment is held; ms since 1970, upstream's clock. */
  doneToMs?: number
  /**
   * With which page of which question the next try goes on, where one was broken off; absent: with the first. `toMs`: the
   * question's end, null where it had none, as a fill's.
   */
  next?: { pageCursor: string; toMs: number | null }
}

/** How far the first start has read back. Both in ms since 1970, upstream's clock. */
export interface Backfill {
  /** Everything before this is held. */
  doneToMs: number
  untilMs: number
}

/** An overlap re-read that is still owed after a burst: it finds what came in behind the cursor. */
export interface PendingSweep {
  /** Start of the range, ms since 1970, upstream's clock. */
  fromMs: number
  /** Earliest moment of the re-read, ms since 1970, our clock. */
  dueAtMs: number
  attempts: number
}

/** The scheduled re-read of what came in. It is always known up to where the last one read. */
export interface Round {
  /** Where the last round ended: what came in since is read again by the next. Ms since 1970, upstream's clock. */
  fromMs: number
  /** Earliest moment of the next round, ms since 1970, our clock; null while nothing is owed. */
  dueAtMs: number | null
  /** When the poll began that was last known as news came in, by upstream's clock, ms since 1970. */
  newsMs: number
  attempts: number
}

/** What the last commit left: everything a new writer needs to go on. Kept as keyed records, never as one blob. */
export interface Head {
  epoch: string
  /** Of the last event; 0 before the first. */
  sequence: number
  /** Upstream cursor of the next poll; null until the first start has one. Opaque: never parsed or ordered. */
  cursor: string | null
  /** Highest upstream time published, ms since 1970; 0 before the first. What is older than it is `late`. */
  latestTimeMs: number
  /** When the last poll without `hasMore` began, by upstream's clock, ms since 1970; null before the first. */
  lastCleanPollMs: number | null
  /** When a request was last spent, on our clock, ms since 1970; null before the first. */
  lastSpendMs: number | null
  openGaps: OpenGap[]
  backfill: Backfill | null
  sweep: PendingSweep | null
  /** Null before the first item, and where the plan pays for no rounds. */
  round: Round | null
  /** When items arrive, as far as it was learnt; null before anything was. */
  profile: Profile | null
  /** What the last days of London brought, rising by date; a day without anything may be missing. */
  days: readonly DayRecord[]
  /** From which upstream time on the days are counted, and walked; ms since 1970. Null before the first poll. */
  countedFromMs: number | null
}

/**
 * Units spent, by the spell of `time-buckets.ts` (ms since 1970 of its start) and purpose. Spells older than 15 days are dropped
 * where there are more spells than 15 days have.
 */
export type Ledger = ReadonlyMap<number, Readonly<Partial<Record<Purpose, number>>>>

/** Everything that a writer knows of what is durable. */
export interface WriterState {
  readonly head: Readonly<Head>
  readonly ledger: Ledger
}

/** Units given back: their request never left this machine, or upstream does not count it. */
export interface Refund {
  /** The `atMs` that the spend was made with. */
  atMs: number
  units: number
  purpose: Purpose
}

/** All or nothing: the events in this order, the rejected records, the head's changed fields, the refunds. */
export interface Commit {
  events: NewEvent[]
  rejected?: RejectedItem[]
  head?: Partial<Omit<Head, 'epoch' | 'sequence' | 'lastSpendMs'>>
  refunds?: Refund[]
}

/** Most events that one commit may hold; a longer fill is a chain of commits. */
export const COMMIT_LIMIT = 1000

/** A stretch of leadership. It ends once: `lost` aborts. */
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
  /** What the last resolved operation left. */
  readonly state: WriterState
  /**
   * Durably counts units at `atMs` (our clock) before their request leaves, and sets `head.lastSpendMs`. No units: nothing
   * is counted, and that it resolves proves that no later writer had claimed.
   */
  spend(units: number, purpose: Purpose, atMs: number): Promise<void>
  /**
   * Makes the commit durable and visible, all or nothing, and gives each event the next sequence.
   * Resolves with the events in their places. More than COMMIT_LIMIT events: RangeError, nothing written.
   */
  commit(commit: Commit): Promise<Committed[]>
  /** Gives the claim up cleanly. Never throws; later operations throw `log_fenced`. */
  release(): Promise<void>
}

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

/** Most bytes of one row of a shard, key and value as JSON together, and of one record of a journal. */
export const LARGEST_ROW_BYTES = 512 * 1024

/** One shard as its owner holds it: rows that only the owner writes. */
export interface Shard<V> {
  /** From 0 on. */
  readonly number: number
  /** What the owners before have left, read to the end when the shard arrived. The owner's own writes do not show here. */
  readonly rows: ReadonlyMap<string, V>
  /** Aborts when another process owns the shard, or may; and when it was given up. */
  readonly lost: AbortSignal
  /**
   * Aborts when another process is to own it and waits: nothing new is to be begun, and `work` resolves when what is under way
   * has ended and is written. What takes longer than some seconds is cut off by `lost`.
   */
  readonly leaving: AbortSignal
  /**
   * Resolves when the changes are durable, and every later owner will find them. The writes of a shard take effect in the
   * order they were called. All of one call or none of it survives a crash; on Kafka as long as the call has at most
   * LARGEST_ROW_BYTES, else row by row in order.
   * @throws BridgeError `shard_lost` once the shard is lost: what this call would have changed is then as its next owner
   * has found it; `log_unavailable` when it may or may not become durable (a full disk, Kafka away): write again.
   * RangeError when a row is larger than LARGEST_ROW_BYTES, with nothing written
   */
  write(changes: readonly Change<V>[]): Promise<void>
}

/** A fixed number of shards, shared by the processes that ask for them: each is owned by one of them at a time. */
export interface Shards<V> {
  /**
   * Owns shards until the signal aborts: runs `work` for each that falls to this process, once it is loaded, and again when
   * it comes back after a loss. `work` has to resolve soon after `shard.lost`, in good order after `shard.leaving`, and when the
   * caller wants to stop: the shards are given up when the signal has aborted and all of `work` has resolved. Of several calls in one process one owns at
   * a time. Ends too when the log is closed.
   * @throws what `work` throws (but for `shard_lost` of a shard that is), when all of `work` has ended and every shard was given up; BridgeError `log_damaged`
   */
  own(work: (shard: Shard<V>) => Promise<void>, signal: AbortSignal): Promise<void>
  /**
   * Since when the longest of the shards that fall to this process could not be loaded, or nobody could say which do, ms since
   * 1970; null where all are, or none falls to it. Waiting for an owner that is leaving does not count.
   */
  readonly loadingSinceMs: number | null
}

/** Records that follow one another, and where reading goes on after them. */
export interface JournalBatch<V> {
  records: V[]
  /** Opaque; of this journal only. */
  position: string
}

/** Records of all processes in one order, kept for a time. Values are JSON. */
export interface Journal<V> {
  /**
   * Durable when it resolves, in this order. On Kafka a record may come twice, where an answer got lost.
   * @throws BridgeError `log_unavailable`, within seconds, when it may or may not become durable; RangeError when a
   * record is larger than LARGEST_ROW_BYTES, with nothing written
   */
  append(records: readonly V[]): Promise<void>
  /**
   * Every record after the position that is still kept (null: from the oldest on), then every new one, until the signal
   * aborts or the log is closed. Of a position beyond its end, because it was begun anew, it reads from the oldest on.
   * Records may outlive their time by as much as a tenth of it. A batch is some milliseconds of work to read.
   * @throws BridgeError `log_damaged` when a record cannot be read, or the position is none of a journal
   */
  read(after: string | null, signal: AbortSignal): AsyncIterable<JournalBatch<V>>
}

/** Most characters of a question, and of its answer. */
export const LONGEST_QUESTION = 16 * 1024
export const LONGEST_ANSWER = 8 * 1024 * 1024

/** Finds the answer to a question. `signal` aborts when nobody waits for it any more, or this process serves no longer. */
export type Answering = (question: string, signal: AbortSignal) => Promise<string>

/** Questions of any process to those that serve, and the answers. None of them is kept. */
export interface Questions {
  /**
   * Resolves with the answer; while nobody serves it waits. Every process that serves may get the question, and get it
   * again, so answering twice must do no harm. Rejects with the signal's reason when it aborts first.
   * @throws RangeError when it is longer than LONGEST_QUESTION; BridgeError `log_unavailable`
   */
  ask(question: string, signal: AbortSignal): Promise<string>
  /**
   * Answers questions until the signal aborts, then resolves. Several are answered at a time.
   * @throws what `answer` throws before its signal aborts; RangeError when an answer is longer than LONGEST_ANSWER
   */
  serve(answer: Answering, signal: AbortSignal): Promise<void>
}

/** A word beside the events; `type` says what it is. */
export interface Announcement {
  readonly type: string
  readonly [member: string]: unknown
}

/** Where a log ends. */
export interface LogEnd {
  /** null: nobody has claimed it yet. */
  epoch: string | null
  /** Of the last committed event; 0 before the first. */
  sequence: number
  /** Everything up to there was dropped by age: `follow` gives nothing before the next event. Absent where it was not. */
  allDropped?: true
}

export interface Log {
  readonly kind: 'kafka' | 'embedded' | 'memory'
  /** Resolves when this process should lead. Rejects with the signal's reason when it aborts first. */
  campaign(signal: AbortSignal): Promise<Term>
  /** Fences every earlier writer, then resolves with what the last commit left. An unused log gets its epoch here. */
  claim(term: Term, signal: AbortSignal): Promise<Writer>
  /**
   * Every committed event with a sequence greater than `after`, in sequence, in batches; then tails until the signal
   * aborts, and ends. Nothing uncommitted is ever seen. May be called before the first claim.
   */
  follow(after: number, signal: AbortSignal): AsyncIterable<Committed[]>
  /** Where the log ends, at some moment after this call. Rejects with the signal's reason when it aborts first. */
  end(signal: AbortSignal): Promise<LogEnd>
  /** The sequence of the first event that is kept; null where none is. As `end` otherwise. */
  oldest(signal: AbortSignal): Promise<number | null>
  /** The rejected records, newest last, at most `limit` of the newest. */
  rejected(limit: number): Promise<RejectedItem[]>
  /**
   * By what the newest rejected records are known again (`rejectedHash` of `raw`), newest last, at most `limit`, and of
   * no more than the newest 64 MiB of them. Whatever their size, few of the items are in memory at a time.
   */
  rejectedHashes(limit: number): Promise<string[]>
  /**
   * Tells whoever reads the log from outside how it goes, beside the events: `value` as JSON. Absent where nobody reads
   * it from outside. A word that did not get through is of no use later: it throws `log_unavailable`.
   */
  announce?(value: Announcement): Promise<void>
  /** The table of that name. */
  table<V>(name: string): Table<V>
  /** The shards of that name. `count` is how many there are; it never changes for a name. */
  shards<V>(name: string, count: number): Shards<V>
  /** The journal of that name, whose records are kept for `retentionMs`. */
  journal<V>(name: string, retentionMs: number): Journal<V>
  /** What other processes ask of the one that leads, and get for an answer. */
  readonly questions: Questions
  /** Releases everything. Later calls throw. Callable twice. */
  close(): Promise<void>
}
