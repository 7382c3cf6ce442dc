/**
 * Fetch and Produce as kafkajs 2.2.4 encodes them, without its consumers and producers: single partitions, several in a
 * request, each sent once. Owns reading what was committed out of an answer. Refuses to find brokers, and to retry.
 */
import Decoder from 'kafkajs/src/protocol/decoder.js'
import protocolErrors from 'kafkajs/src/protocol/error.js'
import decodeRecordBatch from 'kafkajs/src/protocol/recordBatch/v0/decoder.js'
import fetchRequest from 'kafkajs/src/protocol/requests/fetch/v11/request.js'
import produceRequest from 'kafkajs/src/protocol/requests/produce/v7/request.js'
import produceResponse from 'kafkajs/src/protocol/requests/produce/v7/response.js'

/** What sends a request to one broker. */
export interface Sender {
  connectionPool: {
    send<T>(call: {
      request: unknown
      response: { decode(payload: Buffer): Promise<T>; parse(decoded: T): Promise<T> }
      requestTimeout?: number
    }): Promise<T>
  }
}

/** A batch as kafkajs decodes it; `records` may be empty after compaction. */
export interface DecodedBatch {
  firstOffset: string
  lastOffsetDelta: number
  producerId: string
  inTransaction: boolean
  isControlBatch: boolean
  records: {
    offset: string
    key: Buffer | null
    value: Buffer | null
    headers: Record<string, Buffer | Buffer[]>
  }[]
}

/** One record that was committed. */
export interface KafkaRecord {
  offset: number
  key: Buffer | null
  /** null: the key was deleted. */
  value: Buffer | null
  headers: Readonly<Record<string, Buffer | Buffer[]>>
}

/** The answer to one fetch. */
export interface Fetched {
  /** Kafka's error code of the partition; 0 = none. */
  errorCode: number
  records: KafkaRecord[]
  /** Where the next fetch goes on: control markers, aborted and compacted records are passed. */
  nextOffset: number
  /** Everything before it is decided: committed or aborted. */
  lastStableOffset: number
}

/** Isolation levels. */
export const READ_UNCOMMITTED = 0
export const READ_COMMITTED = 1

const CONSUMER = -1
const ALL_IN_SYNC = -1
/** How long an answer may be on its way after the broker's own wait, ms. */
const NETWORK_MS = 5_000
/** How long the leader waits for the other replicas, ms. */
const REPLICAS_MS = 3_000
/** Smallest size of a record batch, bytes: less than that at the end of an answer is a cut one. */
const BATCH_OVERHEAD = 49
const ABORT_MARKER = 0

/** How to fetch. */
export interface FetchOptions {
  maxWaitMs: number
  maxBytes: number
  /** Most bytes of each partition, where it is less. */
  partitionBytes?: number
  /** True: what is not decided, or was aborted, comes too. */
  undecidedToo?: boolean
}

/** A record to be appended. */
export interface AppendedRecord {
  key: string | null
  /** null deletes the key of a compacted topic. */
  value: string | null
  headers?: Record<string, string>
}

/**
 * Committed records of the partitions, each from its offset on; waits up to `maxWaitMs` for the first. At least one batch of
 * one of them, whatever its size; none has more than `maxBytes` otherwise, and all together no more than that.
 */
export function fetchPartitions(
  broker: Sender,
  topic: string,
  offsets: ReadonlyMap<number, number>,
  { maxWaitMs, maxBytes, partitionBytes = maxBytes, undecidedToo = false }: FetchOptions,
): Promise<Map<number, Fetched>> {
  const partitions = [...offsets].map(([partition, fetchOffset]) => ({
    partition,
    fetchOffset,
    maxBytes: partitionBytes,
  }))
  return broker.connectionPool.send({
    request: fetchRequest({
      replicaId: CONSUMER,
      isolationLevel: undecidedToo ? READ_UNCOMMITTED : READ_COMMITTED,
      maxWaitTime: maxWaitMs,
      minBytes: 1,
      maxBytes,
      topics: [{ topic, partitions }],
    }),
    response: { decode: (payload) => decodeFetch(payload, offsets), parse: async (fetched) => fetched },
    requestTimeout: maxWaitMs + NETWORK_MS,
  })
}

/** Appends to the partitions, each one's records as one batch; answers the partitions that have refused theirs, and why. */
export function appendToPartitions(
  broker: Sender,
  topic: string,
  records: ReadonlyMap<number, readonly AppendedRecord[]>,
): Promise<Map<number, Error>> {
  const partitions = [...records].map(([partition, messages]) => ({ partition, messages }))
  return broker.connectionPool.send({
    request: produceRequest({
      acks: ALL_IN_SYNC,
      timeout: REPLICAS_MS,
      topicData: [{ topic, partitions }],
    }),
    response: {
      decode: async (payload) => {
        const { topics } = await produceResponse.decode(payload)
        const answers = topics.flatMap((answer) => answer.partitions)
        const failed = answers.filter(({ errorCode }) => errorCode !== 0)
        return new Map(
          failed.map(({ partition, errorCode }) => [
            partition,
            protocolErrors.createErrorFromCode(errorCode),
          ]),
        )
      },
      parse: async (refused) => refused,
    },
    requestTimeout: REPLICAS_MS + NETWORK_MS,
  })
}

interface Aborted {
  producerId: string
  firstOffset: number
}

/** The answer of Fetch version 11 for partitions of one topic. */
async function decodeFetch(
  payload: Buffer,
  asked: ReadonlyMap<number, number>,
): Promise<Map<number, Fetched>> {
  const decoder = new Decoder(payload)
  decoder.readInt32() // throttling is the broker's own
  const errorCode = decoder.readInt16()
  decoder.readInt32() // no session
  const topics = decoder.readInt32()
  if (errorCode !== 0 || topics === 0) {
    const none = (offset: number): Fetched => ({
      errorCode,
      records: [],
      nextOffset: offset,
      lastStableOffset: offset,
    })
    return new Map([...asked].map(([partition, offset]) => [partition, none(offset)]))
  }
  decoder.readString()
  const count = decoder.readInt32()
  const fetched = new Map<number, Fetched>()
  for (let n = 0; n < count; n++) {
    const partition = decoder.readInt32()
    fetched.set(partition, await decodePartition(decoder, asked.get(partition) ?? 0))
  }
  return fetched
}

async function decodePartition(decoder: Decoder, asked: number): Promise<Fetched> {
  const errorCode = decoder.readInt16()
  decoder.readInt64() // high watermark
  const lastStableOffset = numberOf(decoder)
  decoder.readInt64() // log start
  const aborted = decoder.readArray((entry) => ({
    producerId: String(entry.readInt64()),
    firstOffset: numberOf(entry),
  }))
  decoder.readInt32() // preferred replica
  const size = decoder.readInt32()
  const batches = size > 0 ? await decodeBatches(decoder.readBytes(size)) : []
  const last = batches.at(-1)
  return {
    errorCode,
    records: committedRecords(batches, aborted, asked),
    nextOffset: last === undefined ? asked : lastOffsetOf(last) + 1,
    lastStableOffset,
  }
}

async function decodeBatches(bytes: Buffer): Promise<DecodedBatch[]> {
  const decoder = new Decoder(bytes)
  const batches: DecodedBatch[] = []
  while (decoder.canReadBytes(BATCH_OVERHEAD)) {
    try {
      batches.push(await decodeRecordBatch(decoder))
    } catch (error) {
      // A broker cuts the last batch where the answer is full; the next fetch begins with it.
      if (error instanceof Error && error.name === 'KafkaJSPartialMessageError') break
      throw error
    }
  }
  return batches
}

/** What a `read_committed` reader may see of these batches, from `asked` on. */
function committedRecords(
  batches: readonly DecodedBatch[],
  aborted: Aborted[],
  asked: number,
): KafkaRecord[] {
  const ahead = aborted.toSorted((one, other) => one.firstOffset - other.firstOffset)
  const aborting = new Set<string>()
  const records: KafkaRecord[] = []
  for (const batch of batches) {
    while (ahead[0] !== undefined && ahead[0].firstOffset <= lastOffsetOf(batch)) {
      aborting.add(ahead[0].producerId)
      ahead.shift()
    }
    if (batch.isControlBatch) {
      if (isAbortMarker(batch)) aborting.delete(batch.producerId)
    } else if (!(batch.inTransaction && aborting.has(batch.producerId))) {
      for (const { offset, key, value, headers } of batch.records) {
        if (Number(offset) >= asked) records.push({ offset: Number(offset), key, value, headers })
      }
    }
  }
  return records
}

/** A control record's key is its version and its type, 16 bits each. */
function isAbortMarker(batch: DecodedBatch): boolean {
  return batch.records[0]?.key?.readInt16BE(2) === ABORT_MARKER
}

function lastOffsetOf(batch: DecodedBatch): number {
  return Number(batch.firstOffset) + batch.lastOffsetDelta
}

/** Offsets stay below 2^53. */
function numberOf(decoder: Decoder): number {
  return Number(String(decoder.readInt64()))
}
