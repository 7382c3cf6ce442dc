/**
 * Encodes Fetch and Produce requests for single partitions and decodes the responses, with kafkajs 2.2.4's codecs but
 * without its consumers and producers. Each request is sent once.
 */
import Decoder from 'kafkajs/src/protocol/decoder.js'
import protocolErrors from 'kafkajs/src/protocol/error.js'
import decodeRecordBatch from 'kafkajs/src/protocol/recordBatch/v0/decoder.js'
import fetchRequest from 'kafkajs/src/protocol/requests/fetch/v11/request.js'
import produceRequest from 'kafkajs/src/protocol/requests/produce/v7/request.js'
import produceResponse from 'kafkajs/src/protocol/requests/produce/v7/response.js'
import { BridgeError } from '../../errors.ts'
import { type KafkaRecord, type RecordBatch, readBatch } from './record-batch.ts'

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
const FETCH_ERRORS: Readonly<Record<number, string>> = {
  [OFFSET_OUT_OF_RANGE]: 'the offset does not exist',
  3: 'the topic does not exist',
  5: 'the partition has no leader',
  6: 'another broker leads the partition',
  29: 'this user may not read the topic',
}

const CONSUMER = -1
const ALL_IN_SYNC = -1
/** How long a response may take after the broker's own wait, ms. */
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
  if (errorCode === 0) return
  const reason = FETCH_ERRORS[errorCode] ?? `Kafka answers error ${errorCode}`
  throw new BridgeError('log_unavailable', `${topic} cannot be read: ${reason}`, {
    hint: 'This process tries again. If it goes on, look at the topic and at the rights of this user.',
  })
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

/** Appends to the partitions, each one's records as one batch. The refusals, by partition. */
export function appendToPartitions(
  broker: BrokerConnection,
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
        const failed = topics.flatMap((one) => one.partitions).filter(({ errorCode }) => errorCode !== 0)
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

interface AbortedTransaction {
  producerId: number
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
    producerId: readNumber(entry),
    firstOffset: readNumber(entry),
  }))
  decoder.readInt32() // preferred read replica
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
    batches.push(batch.isCompressed ? await decompressed(batch, bytes.subarray(at, end)) : batch)
    at = end
  }
  return batches
}

/** The batch with its records. The bridge compresses nothing, but a topic's settings may. */
async function decompressed(batch: RecordBatch, bytes: Buffer): Promise<RecordBatch> {
  const { records } = await decodeRecordBatch(new Decoder(bytes))
  return { ...batch, records: records.map((record) => ({ ...record, offset: Number(record.offset) })) }
}

/** The records of these batches from `asked` on, without those of aborted transactions and control markers. */
function committedRecords(
  batches: readonly RecordBatch[],
  aborted: readonly AbortedTransaction[],
  asked: number,
): KafkaRecord[] {
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

/** Reads a 64-bit number; offsets and producer ids stay below 2^53. */
function readNumber(decoder: Decoder): number {
  return Number(String(decoder.readInt64()))
}
