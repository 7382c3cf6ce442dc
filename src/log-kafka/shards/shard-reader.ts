/**
 * Tails several partitions of one topic at a time, each from its start, without a consumer group. Owns which broker is
 * asked for which of them. Refuses to read meaning into records (`valid-records.ts`), and to remember over a restart.
 */
import { aborted } from '../../lifecycle/aborted.ts'
import type { KafkaSession } from '../client/client.ts'
import { ReaderConnection, type ReaderParts } from '../client/connection.ts'
import type { Fetched } from '../client/partition-protocol.ts'
import { OFFSET_OUT_OF_RANGE, requireNoError } from '../client/partition-protocol.ts'
import type { KafkaRecord } from '../client/record-batch.ts'

/** Longest wait of the broker for something new, ms: it bounds how long a connection that died unnoticed is believed. */
const WAIT_MS = 1_000
const MOST_BYTES = 8 * 1024 * 1024
/** Of one partition in an answer, so that one with much to read leaves room for the others. */
const PARTITION_BYTES = 1024 * 1024

/** Who reads a partition. */
export interface PartitionTaker {
  /** Gets its records in order. */
  take(records: readonly KafkaRecord[]): void
  /** What comes next is not kept any more, or the topic was made anew: nothing more is read for this taker. */
  gone(): void
}

/** A reader of partitions that come and go. */
export interface ShardReader {
  /** Reads the partition from its start on, for this taker and no other, until `remove`. */
  add(partition: number, taker: PartitionTaker): void
  remove(partition: number): void
  /** Reads until the signal aborts, then resolves. Faults of Kafka are waited out. */
  run(signal: AbortSignal): Promise<void>
}

interface Place {
  taker: PartitionTaker
  /** null: the earliest, which is not known yet. */
  offset: number | null
}

/** A reader of that topic which reads nothing yet. */
export function createShardReader(parts: ReaderParts, topic: string): ShardReader {
  const places = new Map<number, Place>()
  /** Aborts when other partitions are to be asked for than those that are. */
  let changed = new AbortController()

  const hand = (partition: number, place: Place, fetched: Fetched): void => {
    if (places.get(partition) !== place) return
    if (fetched.errorCode === OFFSET_OUT_OF_RANGE) {
      places.delete(partition)
      place.taker.gone()
      return
    }
    requireNoError(topic, fetched)
    place.offset = fetched.nextOffset
    if (fetched.records.length > 0) place.taker.take(fetched.records)
  }
  /** Tails the partitions that a broker leads until `ended` aborts. */
  const tail = async (
    { partitions: client }: KafkaSession,
    { nodeId, led, answered }: { nodeId: string; led: readonly number[]; answered(): void },
    ended: AbortSignal,
  ): Promise<void> => {
    for (let turn = 0; !ended.aborted; turn++) {
      // A broker fills its answer in the order of the question: each comes first once.
      const asked = [...led.slice(turn % led.length), ...led.slice(0, turn % led.length)].flatMap(
        (partition) => {
          const place = places.get(partition)
          return place === undefined ? [] : [[partition, place] as const]
        },
      )
      if (asked.length === 0) return aborted(ended)
      const offsets = new Map<number, number>()
      for (const [partition, place] of asked) {
        place.offset ??= await client.earliest(topic, partition)
        offsets.set(partition, place.offset)
      }
      const how = { maxWaitMs: WAIT_MS, maxBytes: MOST_BYTES, partitionBytes: PARTITION_BYTES }
      const fetched = await client.fetchFrom(nodeId, topic, offsets, how)
      answered()
      for (const [partition, place] of asked) {
        const answer = fetched.get(partition)
        if (answer !== undefined) hand(partition, place, answer)
      }
    }
  }

  return {
    add(partition, taker) {
      places.set(partition, { taker, offset: null })
      changed.abort()
    },
    remove(partition) {
      places.delete(partition)
    },
    async run(signal) {
      const connection = new ReaderConnection(parts, signal)
      while (!signal.aborted) {
        changed = new AbortController()
        const ended = AbortSignal.any([signal, changed.signal])
        if (places.size === 0) {
          await aborted(ended)
          continue
        }
        const over = new AbortController()
        const stop = AbortSignal.any([ended, over.signal])
        await connection.attempt(topic, async (session) => {
          const tailing = async (): Promise<void> => {
            const leaders = await session.partitions.leaders(topic, [...places.keys()])
            const answered = (): void => connection.succeeded(topic)
            await Promise.all(
              [...leaders].map(([nodeId, led]) => tail(session, { nodeId, led, answered }, stop)),
            )
          }
          try {
            await Promise.race([tailing(), aborted(stop)])
          } finally {
            over.abort()
          }
        })
        // A wait that is on its way would hold up the next question on its connection.
        connection.renew()
      }
      connection.end()
    },
  }
}
