/**
 * Implements shards on Kafka: acquires those assigned to this process, one topic partition each, and runs the caller's work
 * on them. A shard is a set of rows that one process at a time may write.
 */
import { aborted } from '../../lifecycle/aborted.ts'
import { createKeyedMutex } from '../../lifecycle/keyed-mutex.ts'
import type { Shard, Shards } from '../../log/shards.ts'
import type { OwnTopicParts } from '../client/connection.ts'
import { PartitionWriter } from '../client/partition-writer.ts'
import type { AssignShards } from './shard-group.ts'
import { ShardReader } from './shard-reader.ts'
import { ShardTask, type TaskParts } from './shard-task.ts'

/** What shards need. */
export interface ShardParts extends OwnTopicParts {
  /** How processes divide the shards. */
  assign: AssignShards
}

/** Topic, group and number of the shards of one name. */
export interface ShardPlace {
  topic: string
  groupId: string
  count: number
}

/** Since when each shard is assigned but not loaded, ms since 1970; `group` while the group does not answer. */
type Loading = Map<number | 'group', number>

/** The shards of one topic. */
export class KafkaShards<V> implements Shards<V> {
  readonly #parts: ShardParts
  readonly #place: ShardPlace
  readonly #exclusively = createKeyedMutex()
  readonly #loading: Loading = new Map()

  constructor(parts: ShardParts, place: ShardPlace) {
    this.#parts = parts
    this.#place = place
  }

  get loadingSinceMs(): number | null {
    return this.#loading.size === 0 ? null : Math.min(...this.#loading.values())
  }

  async own(work: (shard: Shard<V>) => Promise<void>, signal: AbortSignal): Promise<void> {
    this.#parts.open()
    const stopped = AbortSignal.any([signal, this.#parts.closed])
    try {
      await this.#exclusively('own', async () => {
        await this.#parts.ready(stopped)
        await new ShardOwner(this.#parts, this.#place, { work, loading: this.#loading, stopped }).run()
      })
    } catch (error) {
      if (!stopped.aborted || error !== stopped.reason) throw error
    }
  }
}

/** One call of `own`: a task for each assigned shard. */
class ShardOwner<V> {
  readonly #parts: ShardParts
  readonly #place: ShardPlace
  readonly #loading: Loading
  /** Ends the connections. */
  readonly #over = new AbortController()
  /** Aborts with what the work of a shard has thrown. */
  readonly #failed = new AbortController()
  readonly #stopping: AbortSignal
  readonly #reader: ShardReader
  readonly #taskParts: TaskParts<V>
  readonly #assigned = new Map<number, ShardTask<V>>()
  /** Tasks of shards that are not assigned any more, and whose work has not ended. */
  readonly #ending = new Map<number, ShardTask<V>>()

  constructor(
    parts: ShardParts,
    place: ShardPlace,
    own: { work(shard: Shard<V>): Promise<void>; loading: Loading; stopped: AbortSignal },
  ) {
    this.#parts = parts
    this.#place = place
    this.#loading = own.loading
    this.#stopping = AbortSignal.any([own.stopped, this.#failed.signal])
    this.#reader = new ShardReader(parts, place.topic)
    this.#taskParts = {
      ...{ ...parts, ...place, ...own },
      reader: this.#reader,
      writer: new PartitionWriter(parts, place.topic, this.#over.signal),
      stopping: this.#stopping,
      setLoading: (shard, isLoading) => {
        if (!isLoading) this.#loading.delete(shard)
        else if (!this.#loading.has(shard)) this.#loading.set(shard, parts.clock.now())
      },
    }
  }

  /** Owns shards until it is stopped. Throws what the work of a shard has thrown, when all work has ended. */
  async run(): Promise<void> {
    const { closed } = this.#parts
    const onClosed = (): void => this.#loseAll('the event log is closed because this process is stopping')
    closed.addEventListener('abort', onClosed, { once: true })
    const reading = this.#reader.run(this.#over.signal)
    const leaveGroup = new AbortController()
    const assigning = this.#parts.assign(
      {
        ...this.#parts,
        ...this.#place,
        held: () => [...this.#assigned.keys()],
        assigned: (shards) => this.#onAssigned(shards),
        expelled: (reason, heardMs) => this.#onExpelled(reason, heardMs),
      },
      leaveGroup.signal,
    )
    await aborted(this.#stopping)
    this.#loading.delete('group')
    await Promise.all(this.#tasks().map((task) => task.ended.catch(() => undefined)))
    this.#loseAll('it was given up')
    leaveGroup.abort()
    await assigning
    this.#over.abort()
    await reading
    closed.removeEventListener('abort', onClosed)
    this.#failed.signal.throwIfAborted()
  }

  #onAssigned(shards: readonly number[]): void {
    if (this.#stopping.aborted) return
    this.#loading.delete('group')
    const kept = new Set(shards)
    const removed = [...this.#assigned].filter(([shard]) => !kept.has(shard))
    for (const [shard, task] of removed) {
      this.#unassign(shard, task)
      task.release()
    }
    const added = shards.filter((shard) => shard < this.#place.count && !this.#assigned.has(shard))
    for (const shard of added) this.#start(shard)
    const name = this.#place.groupId
    const changed = removed.length + added.length
    if (changed > 0) this.#parts.logger.info('shards.assigned', { name, count: this.#assigned.size, changed })
  }

  #onExpelled(reason: string, heardMs: number): void {
    if (this.#stopping.aborted) return
    this.#loading.set('group', heardMs)
    const removed = [...this.#assigned]
    const name = this.#place.groupId
    this.#loseAll(reason)
    for (const [shard, task] of removed) this.#unassign(shard, task)
    // The next owners repeat the work in flight: this line explains repeated deliveries.
    if (removed.length > 0)
      this.#parts.logger.warn('shards.lost', { name, count: 0, changed: removed.length, reason })
  }

  #start(shard: number): void {
    const before = this.#ending.get(shard)?.ended.catch(() => undefined)
    const task = new ShardTask(this.#taskParts, shard, before ?? Promise.resolve())
    task.ended.catch((error: unknown) => {
      this.#failed.abort(error)
      this.#loseAll('the work for another shard has failed')
    })
    this.#assigned.set(shard, task)
  }

  #unassign(shard: number, task: ShardTask<V>): void {
    this.#assigned.delete(shard)
    this.#ending.set(shard, task)
    const forget = (): void => {
      if (this.#ending.get(shard) === task) this.#ending.delete(shard)
    }
    task.ended.then(forget, forget)
  }

  #loseAll(reason: string): void {
    for (const task of this.#tasks()) task.lose(reason)
  }

  #tasks(): ShardTask<V>[] {
    return [...this.#assigned.values(), ...this.#ending.values()]
  }
}
