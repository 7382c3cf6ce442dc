/**
 * Writes rows of a shard that this process owns. A write is durable when its rows were read back and are valid by the rules
 * of `valid-records.ts`: another process may have become the owner meanwhile.
 */
import type { BridgeError } from '../../errors.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import { shardLost, type TextChange } from '../../log-shared/stored-rows.ts'
import { splitIntoBatches } from '../client/batch-splitting.ts'
import { unavailable } from '../client/faults.ts'
import type { PartitionWriter } from '../client/partition-writer.ts'
import { rowRecord, type ShardFold } from './valid-records.ts'

/** A write that was not read back by then is reported as failed, though it may still take effect before later ones, ms. */
const WRITE_LIMIT_MS = 10_000

interface PendingWrite {
  /** Of its last row. */
  number: number
  keys: readonly string[]
  resolve(): void
  reject(error: BridgeError): void
  fault: unknown
}

/** The writes of one owner of a shard. */
export class ShardWrites {
  readonly #shard: number
  readonly #token: string
  readonly #fold: ShardFold
  readonly #writer: PartitionWriter
  readonly #clock: Clock
  /** In the order of their numbers. */
  readonly #pending = new Set<PendingWrite>()
  #lastNumber = 0

  constructor(
    shard: number,
    token: string,
    { fold, writer, clock }: { fold: ShardFold; writer: PartitionWriter; clock: Clock },
  ) {
    this.#shard = shard
    this.#token = token
    this.#fold = fold
    this.#writer = writer
    this.#clock = clock
  }

  /**
   * Resolves when the changes were read back.
   * @throws BridgeError `log_unavailable` after 10 s; `shard_lost`
   */
  async write(changes: readonly TextChange[]): Promise<void> {
    const records = changes.map((change) => rowRecord(this.#shard, change, this.#token, ++this.#lastNumber))
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const keys = changes.map(({ key }) => key)
    const fault = new Error('it was not read back')
    const write: PendingWrite = { number: this.#lastNumber, keys, resolve, reject, fault }
    this.#pending.add(write)
    const cancel = this.#clock.after(WRITE_LIMIT_MS, () => {
      this.#pending.delete(write)
      reject(unavailable(`writing to shard ${this.#shard}`, write.fault))
      this.#rewriteStale()
    })
    for (const batch of splitIntoBatches(records)) {
      this.#writer.append({
        partition: this.#shard,
        records: batch,
        once: false,
        isCancelled: () => !this.#pending.has(write),
        onFailure: (error) => {
          write.fault = error
        },
      })
    }
    try {
      await promise
    } finally {
      cancel()
    }
  }

  /** Resolves the writes that the fold has read back, and rewrites rows that a fenced owner has overwritten. */
  onRead(): void {
    for (const write of this.#pending) {
      if (write.number > this.#fold.number) break
      this.#pending.delete(write)
      write.resolve()
    }
    this.#rewriteStale()
  }

  /** Rejects what is pending: the shard is lost. */
  fail(): void {
    for (const { reject } of this.#pending) reject(shardLost(this.#shard))
    this.#pending.clear()
  }

  /** Rewrites the valid row of every stale key, except where a write of the key is pending. */
  #rewriteStale(): void {
    const { staleKeys, rows } = this.#fold
    if (staleKeys.size === 0) return
    const pending = new Set([...this.#pending].flatMap((write) => write.keys))
    const keys = [...staleKeys].filter((key) => !pending.has(key))
    if (keys.length === 0) return
    // A failed rewrite is repeated with the next record, or by the next owner.
    this.write(keys.map((key) => ({ key, text: rows.get(key) ?? null }))).catch(() => undefined)
  }
}
