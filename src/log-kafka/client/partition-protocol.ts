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
import { type KafkaRecord, type RecordBatch, readBatch } from './record-batch.ts'

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
  producerId: number
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
    producerId: numberOf(entry),
    firstOffset: numberOf(entry),
  }))
  decoder.readInt32() // preferred replica
  const size = decoder.readInt32()
  const batches = size > 0 ? await decodeBatches(decoder.readBytes(size)) : []
  const last = batches.at(-1)
  return {
    errorCode,
    records: committedRecords(batches, aborted, asked),
    nextOffset: last === undefined ? asked : last.lastOffset + 1,
    lastStableOffset,
  }
}

async function decodeBatches(bytes: Buffer): Promise<RecordBatch[]> {
  const batches: RecordBatch[] = []
  let at = 0
  for (let next = readBatch(bytes, at); next !== null; next = readBatch(bytes, at)) {
    const { batch, end } = next
    batches.push(batch.isCompressed ? await unpacked(batch, bytes.subarray(at, end)) : batch)
    at = end
  }
  return batches
}

/** An operator may have topics compressed. */
async function unpacked(batch: RecordBatch, bytes: Buffer): Promise<RecordBatch> {
  const { records } = await decodeRecordBatch(new Decoder(bytes))
  return { ...batch, records: records.map((record) => ({ ...record, offset: Number(record.offset) })) }
}

/** What a `read_committed` reader may see of these batches, from `asked` on. */
function committedRecords(batches: readonly RecordBatch[], aborted: Aborted[], asked: number): KafkaRecord[] {
  const ahead = aborted.toSorted((one, other) => one.firstOffset - other.firstOffset)
  const aborting = new Set<number>()
  const records: KafkaRecord[] = []
  for (const batch of batches) {
    while (ahead[0] !== undefined && ahead[0].firstOffset <= batch.lastOffset) {
      aborting.add(ahead[0].producerId)
      ahead.shift()
    }
    if (batch.isControl) {
      if (isAbortMarker(batch)) aborting.delete(batch.producerId)
    } else if (!(batch.inTransaction && aborting.has(batch.producerId))) {
      for (const record of batch.records) if (record.offset >= asked) records.push(record)
    }
  }
  return records
}

/** A control record's key is its version and its type, 16 bits each. */
function isAbortMarker(batch: RecordBatch): boolean {
  return batch.records[0]?.key?.readInt16BE(2) === ABORT_MARKER
}

/** Offsets stay below 2^53. */
function numberOf(decoder: Decoder): number {
  return Number(String(decoder.readInt64()))
}
