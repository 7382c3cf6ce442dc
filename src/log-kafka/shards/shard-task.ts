/**
 * Works on one shard assigned to this process: acquires its lease, runs the caller's work, releases the lease, and acquires
 * it again after a loss.
 */
import { isBridgeError } from '../../errors.ts'
import { aborted } from '../../lifecycle/aborted.ts'
import { type Clock, sleep } from '../../lifecycle/clock.ts'
import type { Shard } from '../../log/shards.ts'
import type { Logger } from '../../obs/logger.ts'
import type { PartitionWriter } from '../client/partition-writer.ts'
import { abortable } from '../client/with-timeout.ts'
import { ShardLease } from './shard-lease.ts'
import type { ShardReader } from './shard-reader.ts'

/** Pause before a lost shard that is still assigned is acquired again, ms: two processes that both try alternate. */
const ACQUIRE_AGAIN_MS = 1_000

/** What the tasks of one owner share. */
export interface TaskParts<V> {
  clock: Clock
  logger: Logger
  groupId: string
  reader: ShardReader
  writer: PartitionWriter
  work(shard: Shard<V>): Promise<void>
  /** Aborts when no shard is acquired any more. */
  stopping: AbortSignal
  /** Records whether the shard is assigned but not loaded. */
  setLoading(shard: number, isLoading: boolean): void
}

/** The task of one shard, from its assignment until its work has ended. */
export class ShardTask<V> {
  readonly #parts: TaskParts<V>
  readonly #shard: number
  readonly #releasing = new AbortController()
  readonly #losing = new AbortController()
  /** The lease while it is acquired or held. */
  #lease: ShardLease<V> | null = null
  /** Resolves when the work has ended. Rejects with what the work throws. */
  readonly ended: Promise<void>

  /** Starts when the task before it, of the same shard, has ended. */
  constructor(parts: TaskParts<V>, shard: number, before: Promise<void>) {
    this.#parts = parts
    this.#shard = shard
    this.ended = before.then(() => this.#run())
  }

  /** The shard goes to another process, which waits for the end of the work. */
  release(): void {
    this.#releasing.abort()
    this.#lease?.release()
  }

  /** The shard is lost. */
  lose(reason: string): void {
    this.#losing.abort()
    this.#lease?.lose(reason)
  }

  async #run(): Promise<void> {
    const { clock, stopping, setLoading } = this.#parts
    const ended = AbortSignal.any([this.#losing.signal, this.#releasing.signal, stopping])
    try {
      while (!ended.aborted) {
        setLoading(this.#shard, true)
        await this.#workOnce()
        await sleep(clock, ACQUIRE_AGAIN_MS, ended)
      }
    } finally {
      setLoading(this.#shard, false)
    }
  }

  /** Resolves when the shard is lost, or was worked on and is to be released. */
  async #workOnce(): Promise<void> {
    const { logger, groupId, reader, writer, clock, work, stopping, setLoading } = this.#parts
    const shard = this.#shard
    const lease = new ShardLease<V>(shard, {
      writer,
      clock,
      onLost: (reason) => logger.debug('shard.lost', { name: groupId, shard, reason }),
      // An owner may take its time to release, and nothing is wrong.
      onAwaitingOwner: (isAwaiting) => setLoading(shard, !isAwaiting),
    })
    this.#lease = lease
    reader.add(shard, lease)
    try {
      const acquired = await abortable(stopping, lease.acquired)
      setLoading(shard, false)
      await work(acquired)
      await abortable(stopping, Promise.race([aborted(lease.lost), aborted(acquired.releasing)]))
    } catch (error) {
      const isEnd = error === stopping.reason || (isBridgeError(error, 'shard_lost') && lease.lost.aborted)
      if (!isEnd) throw error
    } finally {
      this.#lease = null
      await lease.released()
      reader.remove(shard)
      lease.lose('it was given up')
    }
  }
}
