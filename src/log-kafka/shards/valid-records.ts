/**
 * Computes the rows of one shard from the records of its Kafka partition, and decides which records count. A shard is a set
 * of rows that one process at a time, its owner, may write.
 *
 * An owner starts with an epoch record that holds its fencing token, and puts the token and a rising number on every row. A
 * row counts when its token is that of the latest epoch record before it and its number is higher than every one that
 * counted since. So the rows of a fenced owner never count, however late they arrive, nor does a request that arrives
 * twice. Each epoch record is sent once: none reappears behind a later one.
 *
 * Compaction keeps only the newest record per key. If that record came from a fenced owner, compaction would drop the valid
 * one, so the owner rewrites it (`staleKeys`). That is in time: no record is compacted during its first hour
 * (`min.compaction.lag.ms`), and a new owner finds stale records as it loads the shard. A row is lost only if every process
 * ends in the moments between a stale record and its rewrite, and none starts for an hour.
 *
 * A process that wants a shard writes an acquire request. The owner that is to go writes "releasing" once a second, ends its
 * work, and writes "released": then the next epoch record follows. These records never change which rows count; those of
 * any process but the present owner are ignored, and a crashed owner writes none.
 *
 * All epoch records have one key, so compaction keeps the last. Rows before the first one that is kept are valid whatever
 * process wrote them: compaction has passed there, so every stale row has its rewrite behind it.
 */
import type { BridgeError } from '../../errors.ts'
import type { TextChange } from '../../log-shared/stored-rows.ts'
import { foreignRecord } from '../client/faults.ts'
import type { KafkaRecord } from '../client/partition-protocol.ts'
import { headerOf, type NewRecord } from '../client/records.ts'

/** Keys of the records that are no rows. They are stored, so they keep their first names. */
const KEYS = { epoch: 'marker', acquire: 'wish', releasing: 'leaving', released: 'left' } as const
/** Prefix of a row's key, which separates it from the keys above. */
const ROW = '='
/** Header of a row: the owner's token and the row's number. */
const BY = 'by'

/** A record by which processes agree on the owner of a shard. */
export type ControlKind = keyof typeof KEYS

/** The control record of that kind, by the process with that fencing token. */
export function controlRecord(shard: number, kind: ControlKind, token: string): NewRecord {
  return { partition: shard, key: KEYS[kind], value: token }
}

/** The record of a row. Numbers begin at 1. */
export function rowRecord(
  shard: number,
  { key, text }: TextChange,
  token: string,
  number: number,
): NewRecord {
  return { partition: shard, key: `${ROW}${key}`, value: text, headers: { [BY]: `${token} ${number}` } }
}

/** A shard as its records describe it, read from the partition's start. Only `take` changes it. */
export class ShardFold {
  /** The token of the latest epoch record; null before the first. */
  token: string | null = null
  /** The token of the latest acquire request; null before the first. */
  acquiring: string | null = null
  /** Whether the shard has an owner: `free` before the first and after one has released it. */
  state: 'free' | 'held' | 'releasing' = 'free'
  /** How many "releasing" records the present owner has written. */
  releasingCount = 0
  /** Number of the last row that counted in this epoch; 0 before the first. */
  number = 0
  /** Values as JSON text, by key. */
  readonly rows = new Map<string, string>()
  /** Keys whose newest record does not count. */
  readonly staleKeys = new Set<string>()

  /**
   * Applies the next record.
   * @throws BridgeError `log_damaged` when the bridge did not write it
   */
  take(record: KafkaRecord): void {
    const key = `${record.key}`
    const text = record.value === null ? null : record.value.toString('utf8')
    if (key.startsWith(ROW)) this.#takeRow(key.slice(ROW.length), text, record)
    else if (key === KEYS.acquire) this.acquiring = text
    else if (key === KEYS.epoch) {
      if (text === this.token) return
      this.token = text
      this.state = 'held'
      this.releasingCount = 0
      this.number = 0
    } else if (key === KEYS.releasing) {
      if (text !== this.token) return
      this.state = 'releasing'
      this.releasingCount += 1
    } else if (key === KEYS.released) {
      if (text === this.token) this.state = 'free'
    } else throw foreign(record)
  }

  #takeRow(key: string, text: string | null, record: KafkaRecord): void {
    const [token = '', digits = ''] = (headerOf(record, BY) ?? '').split(' ')
    const number = Number(digits)
    if (token === '' || !(number > 0)) throw foreign(record)
    if (this.token !== null) {
      if (token !== this.token || number <= this.number) {
        this.staleKeys.add(key)
        return
      }
      this.number = number
    }
    this.staleKeys.delete(key)
    if (text === null) this.rows.delete(key)
    else this.rows.set(key, text)
  }
}

function foreign({ offset }: KafkaRecord): BridgeError {
  return foreignRecord(`record ${offset} of a shard was not written by a bridge`)
}
