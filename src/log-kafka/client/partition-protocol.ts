/**
 * Encodes Fetch and Produce requests for single partitions and decodes the responses, with kafkajs 2.2.4's codecs but
 * without its consumers and producers. Each request is sent once.
 */
import Decoder from 'kafkajs/src/protocol/decoder.js'
import protocolErrors from 'kafkajs/src/protocol/error.js'
import decodeRecordBatch, { type RecordBatch } from 'kafkajs/src/protocol/recordBatch/v0/decoder.js'
import fetchRequest from 'kafkajs/src/protocol/requests/fetch/v11/request.js'
import produceRequest from 'kafkajs/src/protocol/requests/produce/v7/request.js'
import produceResponse from 'kafkajs/src/protocol/requests/produce/v7/response.js'
import { unavailable } from './faults.ts'

/** One record. */
export interface KafkaRecord {
  offset: number
  /** ms since 1970, by the broker's clock where the topic has append times. */
  timestampMs: number
  key: Buffer | null
  /** null: the key was deleted. */
  value: Buffer | null
  /** Several values of one name in their order. */
  headers: Readonly<Record<string, Buffer | null | (Buffer | null)[]>>
}

/** What sends a request to one broker. */
export interface BrokerConnection {
  connectionPool: {
    send<T>(call: {
      request: unknown
      response: { decode(payload: Buffer): Promise<T>; parse(decoded: T): Promise<T> }
      requestTimeout?: number
    }): Promise<T>
  }
}

/** One partition of a fetch response. */
export interface Fetched {
  /** Kafka's error code of the partition; 0 = none. */
  errorCode: number
  records: KafkaRecord[]
  /** Where the next fetch starts: after control markers, aborted and compacted records. */
  nextOffset: number
  /** Everything before it is committed or aborted. */
  lastStableOffset: number
}

/** Isolation levels. */
export const READ_UNCOMMITTED = 0
export const READ_COMMITTED = 1

/** Error code: the requested offset is not kept any more, or does not exist yet. */
export const OFFSET_OUT_OF_RANGE = 1
const CONSUMER = -1
const ALL_IN_SYNC = -1
/** How long a response may take after the broker's own wait, ms. */
const NETWORK_MS = 5_000
/** How long the leader waits for the other replicas, ms. */
const REPLICAS_MS = 3_000
const ABORT_MARKER = 0
/** Where a batch has its length, and where the bytes that it counts begin. */
const LENGTH_AT = 8
const AFTER_LENGTH = 12

/** How to fetch. */
export interface FetchOptions {
  maxWaitMs: number
  maxBytes: number
  /** Most bytes of each partition, where it is less. */
  partitionBytes?: number
  /** True: records of open and aborted transactions come too. */
  readUncommitted?: boolean
}

/** A record to be appended. */
export interface AppendedRecord {
  key: string | null
  /** null deletes the key of a compacted topic. */
  value: string | null
  headers?: Record<string, string>
}

/** @throws BridgeError `log_unavailable` when the partition has answered an error */
export function requireNoError(topic: string, { errorCode }: Fetched): void {
  if (errorCode !== 0) throw unavailable(`reading ${topic}`, protocolErrors.createErrorFromCode(errorCode))
}

/**
 * Committed records of the partitions, each from its offset on; waits up to `maxWaitMs` for the first. At least one batch
 * of one partition, whatever its size; otherwise at most `maxBytes` over all of them.
 */
export function fetchPartitions(
  broker: BrokerConnection,
  topic: string,
  offsets: ReadonlyMap<number, number>,
  { maxWaitMs, maxBytes, partitionBytes = maxBytes, readUncommitted = false }: FetchOptions,
): Promise<Map<number, Fetched>> {
  const partitions = [...offsets].map(([partition, fetchOffset]) => ({
    partition,
    fetchOffset,
    maxBytes: partitionBytes,
  }))
  return broker.connectionPool.send({
    request: fetchRequest({
      replicaId: CONSUMER,
      isolationLevel: readUncommitted ? READ_UNCOMMITTED : READ_COMMITTED,
      maxWaitTime: maxWaitMs,
      minBytes: 1,
      maxBytes,
      topics: [{ topic, partitions }],
    }),
    response: { decode: (payload) => decodeFetch(payload, offsets), parse: async (fetched) => fetched },
    requestTimeout: maxWaitMs + NETWORK_MS,
  })
}

/** Appends to the partitions, each one's records as one batch. The offset of the first record or the refusal, by partition. */
export function appendToPartitions(
  broker: BrokerConnection,
  topic: string,
  records: ReadonlyMap<number, readonly AppendedRecord[]>,
): Promise<Map<number, number | Error>> {
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
        const answered = topics.flatMap(({ partitions }) => partitions)
        return new Map(
          answered.map(({ partition, errorCode, baseOffset }) => [
            partition,
            errorCode === 0 ? Number(baseOffset) : protocolErrors.createErrorFromCode(errorCode),
          ]),
        )
      },
      parse: async (appended) => appended,
    },
    requestTimeout: REPLICAS_MS + NETWORK_MS,
  })
}

interface AbortedTransaction {
  producerId: string
  firstOffset: number
}

/** Decodes the response of Fetch version 11 for partitions of one topic. */
async function decodeFetch(
  payload: Buffer,
  asked: ReadonlyMap<number, number>,
): Promise<Map<number, Fetched>> {
  const decoder = new Decoder(payload)
  decoder.readInt32() // throttle time
  const errorCode = decoder.readInt16()
  decoder.readInt32() // session id
  const topics = decoder.readInt32()
  if (errorCode !== 0 || topics === 0) {
    const empty = (offset: number): Fetched => {
      return { errorCode, records: [], nextOffset: offset, lastStableOffset: offset }
    }
    return new Map([...asked].map(([partition, offset]) => [partition, empty(offset)]))
  }
  decoder.readString() // topic
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
  const lastStableOffset = readNumber(decoder)
  decoder.readInt64() // log start offset
  const aborted = decoder.readArray((entry) => ({
    producerId: entry.readInt64().toString(),
    firstOffset: readNumber(entry),
  }))
  decoder.readInt32() // preferred read replica
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

/** The batches in these bytes, without a last one that is cut off because the response was full. */
export async function decodeBatches(bytes: Buffer): Promise<RecordBatch[]> {
  const batches: RecordBatch[] = []
  for (let at = 0; at + AFTER_LENGTH <= bytes.length; ) {
    const end = at + AFTER_LENGTH + bytes.readInt32BE(at + LENGTH_AT)
    if (end > bytes.length) break
    batches.push(await decodeRecordBatch(new Decoder(bytes.subarray(at, end))))
    at = end
  }
  return batches
}

/** Also in a batch whose last records were compacted away. */
function lastOffsetOf({ firstOffset, lastOffsetDelta }: RecordBatch): number {
  return Number(firstOffset) + lastOffsetDelta
}

/** The records of these batches from `asked` on, without those of aborted transactions and control markers. */
function committedRecords(
  batches: readonly RecordBatch[],
  aborted: readonly AbortedTransaction[],
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
      continue
    }
    if (batch.inTransaction && aborting.has(batch.producerId)) continue
    for (const { offset, timestamp, key, value, headers } of batch.records) {
      if (Number(offset) < asked) continue
      records.push({ offset: Number(offset), timestampMs: Number(timestamp), key, value, headers })
    }
  }
  return records
}

/** A control record's key is its version and its type, 16 bits each. */
function isAbortMarker(batch: RecordBatch): boolean {
  return batch.records[0]?.key?.readInt16BE(2) === ABORT_MARKER
}

/** Reads a 64-bit number; offsets stay below 2^53. */
function readNumber(decoder: Decoder): number {
  return Number(decoder.readInt64().toString())
}
