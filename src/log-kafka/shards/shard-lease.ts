/**
 * One shard in the hands of this process, from its wish until it is lost. Owns the proof of every write: it is durable
 * when it was read back and counts (`valid-records.ts`); writing rows again behind records that do not count; and how long an
 * owner before is waited for. Refuses to know who else wants the shard.
 */
import { randomBytes } from 'node:crypto'
import type { BridgeError } from '../../errors.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import type { Shard } from '../../log/shards.ts'
import { storedValue } from '../../log/stored-value.ts'
import { shardLost, type TextChange, textChanges } from '../../log-shared/stored-rows.ts'
import { recordBytes, splitIntoBatches } from '../client/batch-splitting.ts'
import { unavailable } from '../client/faults.ts'
import type { NewRecord } from '../client/records.ts'
import type { PartitionTaker } from './shard-reader.ts'
import type { Append, ShardWriter } from './shard-writer.ts'
import {
  createShardFold,
  leavingRecord,
  leftRecord,
  markerRecord,
  rowRecord,
  type ShardFold,
  wishRecord,
} from './valid-records.ts'

/** A write that was not read back then may still take effect, before every later one; its caller hears that it failed. */
const WRITE_LIMIT_MS = 10_000
/** An owner that lives hears of its loss when others hear of their gain, and says so; who has said nothing then is dead. */
export const NOTICE_MS = 500
/** Longest that an owner takes to leave: an attempt to deliver may take 15 s, and its outcome has to be written. */
const HANDOVER_MS = 20_000
/** An owner that leaves says so this often; who has been silent for three times as long has died over it. */
const LEAVING_MS = 1_000
const LEAVING_SILENCE_MS = 3 * LEAVING_MS
/** Longest wait for the record that says it has left. */
const LEFT_LIMIT_MS = 1_000
const NONCE_BYTES = 9

/** A shard that is being loaded, then held, then lost. */
export interface ShardHold<V> extends PartitionTaker {
  /** Resolves with the shard when everything before its own marker was read. Rejects when it is lost before. */
  readonly owned: Promise<Shard<V>>
  readonly lost: AbortSignal
  /** Somebody else is to have it. Whoever works on it ends its work, then comes `left`; it is lost where that takes too long. */
  leave(): void
  /** The work on it has ended: the next owner need not wait. Resolves when that is known to all, or after a second. */
  left(): Promise<void>
  /** Ends it. Callable twice. */
  lose(reason: string): void
}

/** What a hold needs. */
export interface HoldParts {
  writer: ShardWriter
  clock: Clock
  /** Told once, with the reason. */
  lost(reason: string): void
  /** Told when the wait for an owner that is leaving begins, and when it is over. */
  awaitingOwner(isAwaiting: boolean): void
}

interface Waiting {
  /** Of its last row. */
  number: number
  keys: readonly string[]
  resolve(): void
  reject(error: BridgeError): void
  fault: unknown
}

/** Takes hold of a shard: reads what is there, lets an owner before end its work, sends a marker, and begins with what is read. */
export function takeShard<V>(shard: number, { writer, clock, lost, awaitingOwner }: HoldParts): ShardHold<V> {
  const nonce = randomBytes(NONCE_BYTES).toString('base64url')
  const fold = createShardFold()
  const over = new AbortController()
  const leaving = new AbortController()
  const hasLeft = Promise.withResolvers<void>()
  const owned = Promise.withResolvers<Shard<V>>()
  owned.promise.catch(() => undefined)
  /** In the order of their numbers. */
  const waiting = new Set<Waiting>()
  /** Keys of what waits, and how often. */
  const written = new Map<string, number>()
  let isOwned = false
  let lastNumber = 0
  /** The owner before that is waited for, and how it stands. */
  let awaited: Pick<ShardFold, 'nonce' | 'leavings'> | null = null
  /** Its own wish was read, and with it everything before. */
  let isWished = false
  let isMarked = false
  let cancelWait = (): void => undefined
  let cancelSaying = (): void => undefined

  const lose = (reason: string): void => {
    if (over.signal.aborted) return
    over.abort()
    cancelWait()
    cancelSaying()
    hasLeft.resolve()
    owned.reject(shardLost(shard))
    for (const { reject } of waiting) reject(shardLost(shard))
    waiting.clear()
    lost(reason)
  }
  const settle = (one: Waiting): void => {
    waiting.delete(one)
    for (const key of one.keys) {
      const times = (written.get(key) ?? 1) - 1
      if (times === 0) written.delete(key)
      else written.set(key, times)
    }
  }
  const append = (records: readonly NewRecord[], how: Pick<Append, 'once' | 'isOver' | 'failed'>): void => {
    const bytes = records.reduce((sum, record) => sum + recordBytes(record), 0)
    writer.append({ partition: shard, records, bytes, ...how })
  }
  /** Sends a record that is no row, once. */
  const say = (record: NewRecord, failed: (error: unknown) => void): void =>
    append([record], { once: true, isOver: () => over.signal.aborted, failed })
  /** Resolves when the changes were read back. */
  const write = (changes: readonly TextChange[]): Promise<void> => {
    const records = changes.map((change) => rowRecord(shard, change, nonce, ++lastNumber))
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const keys = changes.map(({ key }) => key)
    const one: Waiting = {
      number: lastNumber,
      keys,
      resolve,
      reject,
      fault: new Error('it was not read back'),
    }
    waiting.add(one)
    for (const key of keys) written.set(key, (written.get(key) ?? 0) + 1)
    const cancel = clock.after(WRITE_LIMIT_MS, () => {
      settle(one)
      reject(unavailable(`writing to shard ${shard}`, one.fault))
      repair()
    })
    for (const batch of splitIntoBatches(records)) {
      append(batch, {
        once: false,
        isOver: () => over.signal.aborted || !waiting.has(one),
        failed(error) {
          one.fault = error
        },
      })
    }
    return promise.finally(cancel)
  }
  /** Writes the row that counts again behind every record that does not, unless a write of the key is on its way. */
  const repair = (): void => {
    const keys = [...fold.late].filter((key) => !written.has(key))
    if (!isOwned || over.signal.aborted || keys.length === 0) return
    // What fails is tried again with the next record, or by the next owner.
    write(keys.map((key) => ({ key, text: fold.rows.get(key) ?? null }))).catch(() => undefined)
  }
  const mark = (): void => {
    isMarked = true
    awaitingOwner(false)
    say(markerRecord(shard, nonce), (error) => lose(unavailable('taking a shard', error).message))
  }
  /** Marks the shard as this one's when nobody has it, or its owner was waited for. */
  const claim = (): void => {
    if (!isWished || isMarked) return
    const { nonce: owner, state, leavings } = fold
    if (state !== 'free' && awaited?.nonce === owner && awaited.leavings === leavings) return
    cancelWait()
    if (state === 'free') return mark()
    awaited = { nonce: owner, leavings }
    awaitingOwner(state === 'leaving')
    cancelWait = clock.after(state === 'leaving' ? LEAVING_SILENCE_MS : NOTICE_MS, mark)
  }
  /** Says that it is leaving, until it has left or is lost. */
  const sayLeaving = (): void => {
    // What does not arrive is said again.
    say(leavingRecord(shard, nonce), () => {})
    cancelSaying = clock.after(LEAVING_MS, sayLeaving)
  }
  const begin = (): void => {
    isOwned = true
    const rows = new Map<string, V>()
    for (const [key, text] of fold.rows) rows.set(key, storedValue<V>(key, text))
    owned.resolve({
      number: shard,
      rows,
      lost: over.signal,
      leaving: leaving.signal,
      async write(changes) {
        const texts = textChanges(changes)
        if (over.signal.aborted) throw shardLost(shard)
        if (texts.length > 0) await write(texts)
      },
    })
  }

  say(wishRecord(shard, nonce), (error) => lose(unavailable('asking for a shard', error).message))
  return {
    owned: owned.promise,
    lost: over.signal,
    leave() {
      if (!isOwned) return lose('the group has given it to another process')
      leaving.abort()
      sayLeaving()
      cancelWait = clock.after(HANDOVER_MS, () => lose('its work has not ended in time'))
    },
    async left() {
      cancelSaying()
      if (!isOwned || over.signal.aborted) return
      say(leftRecord(shard, nonce), () => hasLeft.resolve())
      const cancel = clock.after(LEFT_LIMIT_MS, () => hasLeft.resolve())
      await hasLeft.promise
      cancel()
    },
    lose,
    take(records) {
      if (over.signal.aborted) return
      try {
        for (const record of records) {
          fold.take(record)
          if (fold.wish === nonce) isWished = true
          if (!isOwned && fold.nonce === nonce) begin()
          if (isOwned && fold.nonce !== nonce) return lose('another process has taken it')
        }
        claim()
        if (isOwned && fold.state === 'free') hasLeft.resolve()
      } catch (error) {
        // Damage is the owner's to hear of, not the reader's.
        owned.reject(error)
        return lose('it cannot be read')
      }
      for (const one of waiting) {
        if (one.number > fold.number) break
        settle(one)
        one.resolve()
      }
      repair()
    },
    gone: () => lose('its records are gone'),
  }
}
