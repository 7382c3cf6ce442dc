/**
 * What the records of one shard's partition come to. Owns which of them count; pure.
 *
 * An owner begins with a marker, which holds its nonce, and puts nonce and a rising number on every row that it writes. A
 * row counts when its nonce is that of the latest marker before it and its number is higher than every one that counted
 * since. So whatever an owner that was overtaken still writes, however late it arrives, counts for nobody, and neither
 * does a request that arrives a second time. Each marker is sent once: none comes again behind a later one.
 *
 * Compaction keeps the last record of a key, and knows nothing of this: a record that does not count, as the last of its
 * key, would take the one that does away with it. Therefore the owner writes its own again behind such a record (`late`
 * says where). That is in time, because a record is not compacted, nor is another one because of it, before it has lain
 * for an hour (`min.compaction.lag.ms`), and there is an owner within seconds, which finds in its first reading what came
 * before it. Only where every process has ended at once, in the moments between a late record and the answer to it, and
 * none starts for an hour, is the row lost that lay before.
 *
 * Who wants a shard asks for it (`wish`), and its owner, when it is to go, says that it is about to (`leaving`, again and
 * again), ends what is under way, and says that it has (`left`): only then comes the next marker. These three are words between processes. They
 * change nothing about which rows count, those of anybody but the owner of the moment mean nothing, and nobody has to keep
 * to them: an owner that is dead says nothing.
 *
 * All markers have one key, so compaction leaves the last. What lies before the first marker that is left counts whoever
 * wrote it: compaction has passed there, so everything late in it has the right row behind it.
 */
import { BridgeError } from '../../errors.ts'
import type { TextChange } from '../../log-shared/stored-rows.ts'
import type { KafkaRecord } from '../client/record-batch.ts'
import { headerOf, type NewRecord } from '../client/records.ts'

const MARKER = 'marker'
const WISH = 'wish'
const LEAVING = 'leaving'
const LEFT = 'left'
/** Before the key of each row, so that none is the marker's. */
const ROW = '='
const BY = 'by'

/** The record with which an owner begins. */
export function markerRecord(shard: number, nonce: string): NewRecord {
  return { partition: shard, key: MARKER, value: nonce }
}

/** The record by which somebody who wants the shard finds out that it has read everything. */
export function wishRecord(shard: number, nonce: string): NewRecord {
  return { partition: shard, key: WISH, value: nonce }
}

/** The record with which an owner says that it will leave. */
export function leavingRecord(shard: number, nonce: string): NewRecord {
  return { partition: shard, key: LEAVING, value: nonce }
}

/** The last record of an owner that leaves. */
export function leftRecord(shard: number, nonce: string): NewRecord {
  return { partition: shard, key: LEFT, value: nonce }
}

/** The record of a row. Numbers begin at 1. */
export function rowRecord(
  shard: number,
  { key, text }: TextChange,
  nonce: string,
  number: number,
): NewRecord {
  return { partition: shard, key: `${ROW}${key}`, value: text, headers: { [BY]: `${nonce} ${number}` } }
}

/** The rows of a shard as its records say them, from the partition's start on. */
export interface ShardFold {
  /** Takes the next record. */
  take(record: KafkaRecord): void
  /** That of the latest marker; null before the first. */
  readonly nonce: string | null
  /** The last wish; null before the first. */
  readonly wish: string | null
  /** Whether there is an owner, as far as the records say: `free` before the first and after one has left. */
  readonly state: 'free' | 'held' | 'leaving'
  /** How often the owner of the moment has said that it is leaving. */
  readonly leavings: number
  /** Number of the last row that counted since; 0 before the first. */
  readonly number: number
  /** Values as JSON text, by key. */
  readonly rows: ReadonlyMap<string, string>
  /** Keys whose last record does not count. */
  readonly late: ReadonlySet<string>
}

/** A shard of which nothing was read. */
export function createShardFold(): ShardFold {
  const rows = new Map<string, string>()
  const late = new Set<string>()
  let nonce: string | null = null
  let wish: string | null = null
  let state: ShardFold['state'] = 'free'
  let leavings = 0
  let number = 0
  return {
    take(record) {
      const name = String(record.key)
      const text = record.value === null ? null : record.value.toString('utf8')
      if (name === MARKER) {
        if (text === nonce) return
        nonce = text
        state = 'held'
        leavings = 0
        number = 0
      } else if (name === WISH) wish = text
      else if (name === LEAVING || name === LEFT) {
        if (text !== nonce) return
        state = name === LEFT ? 'free' : 'leaving'
        if (name === LEAVING) leavings += 1
      } else if (name.startsWith(ROW)) {
        const key = name.slice(ROW.length)
        const by = writerOf(record)
        if (nonce !== null && (by.nonce !== nonce || by.number <= number)) {
          late.add(key)
          return
        }
        if (nonce !== null) number = by.number
        late.delete(key)
        if (text === null) rows.delete(key)
        else rows.set(key, text)
      } else throw foreign(record)
    },
    get nonce() {
      return nonce
    },
    get wish() {
      return wish
    },
    get state() {
      return state
    },
    get leavings() {
      return leavings
    },
    get number() {
      return number
    },
    rows,
    late,
  }
}

function writerOf(record: KafkaRecord): { nonce: string; number: number } {
  const [nonce = '', number = ''] = (headerOf(record, BY) ?? '').split(' ')
  if (nonce === '' || !(Number(number) > 0)) throw foreign(record)
  return { nonce, number: Number(number) }
}

function foreign({ offset }: KafkaRecord): BridgeError {
  return new BridgeError('log_damaged', `record ${offset} of a shard is none of this program's`, {
    hint: 'Somebody else writes to the topics of this prefix: take that away, or choose another BRIDGE_TOPIC_PREFIX.',
  })
}
