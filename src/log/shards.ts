/**
 * Defines the interface of shards: a fixed number of row sets, each written by one owning process at a time. Processes
 * divide the webhook deliveries among them by shards.
 */
import type { Change } from './tables.ts'

/** Most bytes of one row of a shard, key and value as JSON together, and of one record of a journal. */
export const LARGEST_ROW_BYTES = 512 * 1024

/** One shard, as its owner sees it: rows that only the owner writes. */
export interface Shard<V> {
  /** From 0 on. */
  readonly number: number
  /**
   * The rows that earlier owners wrote, read completely when this process acquired the shard. Own writes do not show here. The
   * owner may empty it.
   */
  readonly rows: Map<string, V>
  /** Aborts when the shard was released, or another process may have acquired it. */
  readonly lost: AbortSignal
  /**
   * Aborts when another process waits to acquire the shard: start nothing new, and resolve `work` when what is in flight has
   * ended and is written. After some seconds `lost` aborts.
   */
  readonly releasing: AbortSignal
  /**
   * Resolves when the changes are durable, and every later owner will find them. The writes of a shard take effect in the
   * order they were called. All of one call or none of it survives a crash; on Kafka as long as the call has at most
   * LARGEST_ROW_BYTES, else row by row in order.
   * @throws BridgeError `shard_lost` once the shard is lost: the next owner has read these changes either completely or not
   * at all; `log_unavailable` when it may or may not become durable (a full disk, Kafka unavailable): write again.
   * RangeError when a row is larger than LARGEST_ROW_BYTES, with nothing written
   */
  write(changes: readonly Change<V>[]): Promise<void>
}

/** A fixed number of shards, distributed over the processes that call `own`: each shard has one owner at a time. */
export interface Shards<V> {
  /**
   * Acquires shards until the signal aborts: runs `work` for each shard assigned to this process, once it is loaded, and again
   * when it comes back after a loss. `work` must resolve soon after `shard.lost`, orderly after `shard.releasing`, and when the
   * caller wants to stop: the shards are released when the signal has aborted and all of `work` has resolved. Of several
   * calls in one process only one holds shards at a time. Ends too when the log is closed.
   * @throws what `work` throws (except `shard_lost` of a lost shard), when all of `work` has ended and every shard was
   * released; BridgeError `log_damaged`
   */
  own(work: (shard: Shard<V>) => Promise<void>, signal: AbortSignal): Promise<void>
  /**
   * Since when an assigned shard could not be loaded, or no assignment was available, ms since 1970: the longest of them.
   * Null while all are loaded, or none is assigned. Waiting for the present owner to release does not count.
   */
  readonly loadingSinceMs: number | null
}
