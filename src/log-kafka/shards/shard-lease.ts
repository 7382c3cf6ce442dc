/**
 * Acquires one shard from its previous owner, holds it, and releases it to the next, through control records in the shard's
 * Kafka partition. A shard is a set of rows that one process at a time may write.
 */
import { randomBytes } from 'node:crypto'
import type { Clock } from '../../lifecycle/clock.ts'
import type { Shard } from '../../log/shards.ts'
import { storedValue } from '../../log/stored-value.ts'
import { shardLost, textChanges } from '../../log-shared/stored-rows.ts'
import { unavailable } from '../client/faults.ts'
import type { KafkaRecord } from '../client/partition-protocol.ts'
import type { PartitionWriter } from '../client/partition-writer.ts'
import type { PartitionHandler } from './shard-reader.ts'
import { ShardWrites } from './shard-writes.ts'
import { type ControlKind, controlRecord, ShardFold } from './valid-records.ts'

/** A live owner that loses a shard writes "releasing" by then; one that does not has crashed, ms. */
export const NOTICE_MS = 500
/** Longest release: a delivery attempt may take 15 s, and its outcome has to be written, ms. */
const RELEASE_LIMIT_MS = 20_000
/** Between two "releasing" records, ms; an owner that is silent for three times as long has crashed during the release. */
const RELEASING_MS = 1_000
const RELEASING_SILENCE_MS = 3 * RELEASING_MS
/** Longest wait for the "released" record to be read back, ms. */
const RELEASED_LIMIT_MS = 1_000
const TOKEN_BYTES = 9

/** What a lease needs. */
export interface LeaseParts {
  writer: PartitionWriter
  clock: Clock
  /** Called once. */
  onLost(reason: string): void
  /** Called when the wait for a releasing owner begins, and when it ends. */
  onAwaitingOwner(isAwaiting: boolean): void
}

/**
 * The lease of one shard: loading, then held, then lost. It writes an acquire request, waits for the present owner to
 * release (0.5 s if it has crashed, 3 s if it crashed during the release), writes its epoch record, and owns the shard once
 * that record was read back.
 */
export class ShardLease<V> implements PartitionHandler {
  readonly #shard: number
  readonly #parts: LeaseParts
  readonly #token = randomBytes(TOKEN_BYTES).toString('base64url')
  readonly #fold = new ShardFold()
  readonly #lost = new AbortController()
  readonly #releasing = new AbortController()
  readonly #released = Promise.withResolvers<void>()
  readonly #acquired = Promise.withResolvers<Shard<V>>()
  /** null until the shard is owned. */
  #writes: ShardWrites | null = null
  /** The owner that is waited for, and how many "releasing" records it had written. */
  #awaited: { token: string | null; releasingCount: number } | null = null
  /** The own acquire request was read back, and with it every record before. */
  #isLoaded = false
  #isEpochSent = false
  #cancelWait = (): void => undefined
  #cancelReleasing = (): void => undefined

  constructor(shard: number, parts: LeaseParts) {
    this.#shard = shard
    this.#parts = parts
    this.#acquired.promise.catch(() => undefined)
    this.#send('acquire', (error) => this.lose(unavailable('asking for a shard', error).message))
  }

  /** Resolves with the shard when it is owned and loaded. Rejects when it is lost before. */
  get acquired(): Promise<Shard<V>> {
    return this.#acquired.promise
  }

  /** Aborts when the shard is lost. */
  get lost(): AbortSignal {
    return this.#lost.signal
  }

  /** Asks the work on the shard to end, since another process is to own it; the shard is lost where that takes too long. */
  release(): void {
    if (this.#writes === null) return this.lose('the group has given it to another process')
    this.#releasing.abort()
    this.#announceRelease()
    this.#cancelWait = this.#parts.clock.after(RELEASE_LIMIT_MS, () =>
      this.lose('its work has not ended in time'),
    )
  }

  /** Lets the next owner begin, since the work has ended. Resolves when that was read back, or after a second. */
  async released(): Promise<void> {
    this.#cancelReleasing()
    if (this.#writes === null || this.#lost.signal.aborted) return
    const done = (): void => this.#released.resolve()
    this.#send('released', done)
    const cancel = this.#parts.clock.after(RELEASED_LIMIT_MS, done)
    await this.#released.promise
    cancel()
  }

  /** Ends the lease. Callable twice. */
  lose(reason: string): void {
    if (this.#lost.signal.aborted) return
    this.#lost.abort()
    this.#cancelWait()
    this.#cancelReleasing()
    this.#released.resolve()
    this.#acquired.reject(shardLost(this.#shard))
    this.#writes?.fail()
    this.#parts.onLost(reason)
  }

  onRecords(records: readonly KafkaRecord[]): void {
    if (this.#lost.signal.aborted) return
    try {
      for (const record of records) {
        this.#fold.take(record)
        if (this.#fold.acquiring === this.#token) this.#isLoaded = true
        if (this.#writes === null && this.#fold.token === this.#token) this.#begin()
        if (this.#writes !== null && this.#fold.token !== this.#token) {
          return this.lose('another process has taken it')
        }
      }
    } catch (error) {
      // Damage ends the work on this shard, not the reader.
      this.#acquired.reject(error)
      return this.lose('it cannot be read')
    }
    this.#tryAcquire()
    if (this.#writes !== null && this.#fold.state === 'free') this.#released.resolve()
    this.#writes?.onRead()
  }

  onTruncated(): void {
    this.lose('its records are gone')
  }

  /** Sends the epoch record when the shard is free, or its owner was waited for. */
  #tryAcquire(): void {
    if (!this.#isLoaded || this.#isEpochSent) return
    const { token, state, releasingCount } = this.#fold
    const isAwaited = this.#awaited?.token === token && this.#awaited.releasingCount === releasingCount
    if (state !== 'free' && isAwaited) return
    this.#cancelWait()
    if (state === 'free') return this.#sendEpoch()
    this.#awaited = { token, releasingCount }
    this.#parts.onAwaitingOwner(state === 'releasing')
    const waitMs = state === 'releasing' ? RELEASING_SILENCE_MS : NOTICE_MS
    this.#cancelWait = this.#parts.clock.after(waitMs, () => this.#sendEpoch())
  }

  #sendEpoch(): void {
    this.#isEpochSent = true
    this.#parts.onAwaitingOwner(false)
    this.#send('epoch', (error) => this.lose(unavailable('taking a shard', error).message))
  }

  #begin(): void {
    const writes = new ShardWrites(this.#shard, this.#token, { fold: this.#fold, ...this.#parts })
    this.#writes = writes
    const rows = new Map<string, V>()
    for (const [key, text] of this.#fold.rows) rows.set(key, storedValue<V>(key, text))
    this.#acquired.resolve({
      number: this.#shard,
      rows,
      lost: this.#lost.signal,
      releasing: this.#releasing.signal,
      write: async (changes) => {
        const texts = textChanges(changes)
        if (this.#lost.signal.aborted) throw shardLost(this.#shard)
        if (texts.length > 0) await writes.write(texts)
      },
    })
  }

  /** Sends "releasing" until the shard is released or lost; one that does not arrive is followed by the next. */
  #announceRelease(): void {
    this.#send('releasing', () => undefined)
    this.#cancelReleasing = this.#parts.clock.after(RELEASING_MS, () => this.#announceRelease())
  }

  #send(kind: ControlKind, onFailure: (error: unknown) => void): void {
    this.#parts.writer.append({
      partition: this.#shard,
      records: [controlRecord(this.#shard, kind, this.#token)],
      once: true,
      isCancelled: () => this.#lost.signal.aborted,
      onFailure,
    })
  }
}
