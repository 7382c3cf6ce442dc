/** Tails several partitions of one topic from their starts, one fetch per leading broker, without a consumer group. */
import { aborted } from '../../lifecycle/aborted.ts'
import type { KafkaSession } from '../client/client.ts'
import { ReaderConnection, type ReaderParts } from '../client/connection.ts'
import type { KafkaRecord } from '../client/partition-protocol.ts'
import { type Fetched, OFFSET_OUT_OF_RANGE, requireNoError } from '../client/partition-protocol.ts'
import { FETCH_BYTES, FETCH_WAIT_MS } from '../reading/partition-reader.ts'

/** Most bytes of one partition in a response, so that a long one leaves room for the others. */
const PARTITION_BYTES = 1024 * 1024

/** Receives the records of one partition. */
export interface PartitionHandler {
  /** The next records, in order. */
  onRecords(records: readonly KafkaRecord[]): void
  /** The next offset is not kept any more, or the topic was created anew: nothing more is read for this handler. */
  onTruncated(): void
}

interface Position {
  handler: PartitionHandler
  /** null: the earliest, which is not known yet. */
  offset: number | null
}

/** A reader of partitions that come and go. */
export class ShardReader {
  readonly #parts: ReaderParts
  readonly #topic: string
  readonly #positions = new Map<number, Position>()
  /** Aborts when a partition was added. */
  #changed = new AbortController()

  constructor(parts: ReaderParts, topic: string) {
    this.#parts = parts
    this.#topic = topic
  }

  /** Reads the partition from its start for this handler alone, until `remove`. */
  add(partition: number, handler: PartitionHandler): void {
    this.#positions.set(partition, { handler, offset: null })
    this.#changed.abort()
  }

  /** Ends the reading of the partition. */
  remove(partition: number): void {
    this.#positions.delete(partition)
  }

  /** Reads until the signal aborts, then resolves. Failures are retried. */
  async run(signal: AbortSignal): Promise<void> {
    const connection = new ReaderConnection(this.#parts, signal)
    while (!signal.aborted) {
      this.#changed = new AbortController()
      const ended = AbortSignal.any([signal, this.#changed.signal])
      if (this.#positions.size === 0) {
        await aborted(ended)
        continue
      }
      const failed = new AbortController()
      const stop = AbortSignal.any([ended, failed.signal])
      await connection.attempt(this.#topic, async (session) => {
        try {
          await Promise.race([this.#tailAll(session, connection, stop), aborted(stop)])
        } finally {
          failed.abort()
        }
      })
      // A fetch that still waits at the broker would delay the next one on its connection.
      connection.renew()
    }
    connection.end()
  }

  async #tailAll(session: KafkaSession, connection: ReaderConnection, stop: AbortSignal): Promise<void> {
    const leaders = await session.partitions.leaders(this.#topic, [...this.#positions.keys()])
    const tails = [...leaders].map(([nodeId, led]) => this.#tail(session, connection, { nodeId, led, stop }))
    await Promise.all(tails)
  }

  /** Tails the partitions that a broker leads until `stop` aborts. */
  async #tail(
    { partitions: client }: KafkaSession,
    connection: ReaderConnection,
    { nodeId, led, stop }: { nodeId: string; led: readonly number[]; stop: AbortSignal },
  ): Promise<void> {
    for (let round = 0; !stop.aborted; round++) {
      // A broker fills its response in the order of the request, so each partition is first in turn.
      const first = round % led.length
      const asked = [...led.slice(first), ...led.slice(0, first)].flatMap((partition) => {
        const position = this.#positions.get(partition)
        return position === undefined ? [] : [[partition, position] as const]
      })
      if (asked.length === 0) return aborted(stop)
      const offsets = new Map<number, number>()
      for (const [partition, position] of asked) {
        position.offset ??= await client.earliest(this.#topic, partition)
        offsets.set(partition, position.offset)
      }
      const how = { maxWaitMs: FETCH_WAIT_MS, maxBytes: FETCH_BYTES, partitionBytes: PARTITION_BYTES }
      const fetched = await client.fetchFrom(nodeId, this.#topic, offsets, how)
      connection.succeeded(this.#topic)
      for (const [partition, position] of asked) {
        const response = fetched.get(partition)
        if (response !== undefined) this.#deliver(partition, position, response)
      }
    }
  }

  #deliver(partition: number, position: Position, fetched: Fetched): void {
    if (this.#positions.get(partition) !== position) return
    if (fetched.errorCode === OFFSET_OUT_OF_RANGE) {
      this.#positions.delete(partition)
      position.handler.onTruncated()
      return
    }
    requireNoError(this.#topic, fetched)
    position.offset = fetched.nextOffset
    if (fetched.records.length > 0) position.handler.onRecords(fetched.records)
  }
}
