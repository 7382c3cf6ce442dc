/**
 * With `repairs.ts` the one place that touches what kafkajs 2.2.4 does not publish. Owns reading one partition without a
 * consumer group: `read_committed`, from any offset. Refuses to retry: `partition-reader.ts` does.
 */
import type { ISocketFactory, KafkaConfig, Logger as KafkaJsLogger } from 'kafkajs'
import Cluster from 'kafkajs/src/cluster/index.js'
import Decoder from 'kafkajs/src/protocol/decoder.js'
import decodeRecordBatch from 'kafkajs/src/protocol/recordBatch/v0/decoder.js'
import fetchRequest from 'kafkajs/src/protocol/requests/fetch/v11/request.js'

/** What a cluster is made of: kafkajs's own settings and its logger. */
export interface ClusterOptions extends Omit<KafkaConfig, 'logLevel' | 'logCreator'> {
  logger: KafkaJsLogger
  socketFactory: ISocketFactory
  allowAutoTopicCreation?: boolean
  /** ms. */
  metadataMaxAge?: number
  isolationLevel?: number
}

/** Partitions that a transaction is going to write to. */
export interface AddedPartitions {
  transactionalId: string
  producerId: string
  producerEpoch: number
  topics: { topic: string; partitions: number[] }[]
}

/** A connected broker of a cluster. */
export interface KafkaJsBroker {
  connectionPool: {
    send<T>(call: {
      request: unknown
      response: { decode(payload: Buffer): Promise<T>; parse(decoded: T): Promise<T> }
      requestTimeout?: number
    }): Promise<T>
  }
  listOffsets(query: {
    isolationLevel: number
    topics: { topic: string; partitions: { partition: number; timestamp: number }[] }[]
  }): Promise<{ responses: { topic: string; partitions: { offset: string }[] }[] }>
  initProducerId(who: {
    transactionalId: string
    transactionTimeout: number
  }): Promise<{ producerId: string; producerEpoch: number }>
  addPartitionsToTxn(partitions: AddedPartitions): Promise<unknown>
  heartbeat(member: { groupId: string; groupGenerationId: number; memberId: string }): Promise<unknown>
  leaveGroup(member: { groupId: string; memberId: string }): Promise<unknown>
  endTxn(transaction: {
    transactionalId: string
    producerId: string
    producerEpoch: number
    transactionResult: boolean
  }): Promise<unknown>
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

const READ_UNCOMMITTED = 0
const READ_COMMITTED = 1
const EARLIEST = -2
const LATEST = -1
const CONSUMER = -1
const METADATA_AGE_MS = 300_000
/** How long an answer may be on its way after the broker's own wait, ms. */
const NETWORK_MS = 5_000
/** Smallest size of a record batch, bytes: less than that at the end of an answer is a cut one. */
const BATCH_OVERHEAD = 49
const ABORT_MARKER = 0
/** The kind of coordinator that keeps transactions. */
const TRANSACTIONS = 1
/** The kind that keeps groups. */
const MEMBERS = 0
const DECIDE_TIMEOUT_MS = 10_000

/** How to fetch. */
export interface FetchOptions {
  maxWaitMs: number
  maxBytes: number
  /** True: what is not decided, or was aborted, comes too. */
  undecidedToo?: boolean
}

/** A topic with records that no transaction's end has decided. */
export interface UndecidedTopic {
  topic: string
  /** First offset that is not decided. */
  from: number
  /** Offset after the last record. */
  end: number
}

/** Reads single partitions (always partition 0) of topics. One long wait at a time: a broker answers in order. */
export interface PartitionClient {
  /**
   * Committed records from `offset` on; waits up to `maxWaitMs` for the first. At least one batch, whatever its size.
   * Faults of the partition are its `errorCode`; it throws for those of the connection.
   */
  fetch(topic: string, offset: number, how: FetchOptions): Promise<Fetched>
  /** First offset that is kept, end of what is decided, and end of what is written. */
  offsets(topic: string): Promise<{ earliest: number; lastStable: number; end: number }>
  /** Those of the topics that have undecided records. */
  undecided(topics: readonly string[]): Promise<UndecidedTopic[]>
  /**
   * Ends what is undecided in the topic with the marker of a transaction that writes nothing. Fences like a producer of
   * that transactional id.
   */
  decide(transactionalId: string, topic: string, end: 'commit' | 'abort'): Promise<void>
  /** Takes a member out of its group; one that the group does not know is out already. */
  leaveGroup(groupId: string, memberId: string): Promise<void>
}

/** Questions about the rights of this user, which change nothing. */
export interface RightsClient {
  /**
   * Resolves when a producer of that transactional id may write to the topics. Asked for a producer that does not exist,
   * so it changes nothing and fences nobody. Throws the broker's refusal.
   */
  askToWrite(transactionalId: string, topics: readonly string[]): Promise<void>
  /** Resolves when a process may be a member of the group. Asked for a member that does not exist, likewise. */
  askToJoin(groupId: string): Promise<void>
}

/** A client over a cluster of its own. Whoever made the sockets ends it by destroying them. */
export function createPartitionClient(options: ClusterOptions): PartitionClient & RightsClient {
  const cluster = new Cluster({
    ...options,
    allowAutoTopicCreation: false,
    metadataMaxAge: METADATA_AGE_MS,
    isolationLevel: READ_COMMITTED,
  })
  /** The topics by their leaders. */
  const leadersOf = async (topics: readonly string[]): Promise<[KafkaJsBroker, string[]][]> => {
    await cluster.connect()
    await cluster.addMultipleTargetTopics([...topics])
    const byNode = Map.groupBy(topics, (topic) => {
      const [nodeId] = Object.keys(cluster.findLeaderForPartitions(topic, [0]))
      if (nodeId === undefined) throw new Error(`${topic} has no leader`)
      return nodeId
    })
    const found = [...byNode].map(async ([nodeId, led]): Promise<[KafkaJsBroker, string[]]> => {
      return [await cluster.findBroker({ nodeId }), led]
    })
    return Promise.all(found)
  }
  const leaderOf = async (topic: string): Promise<KafkaJsBroker> => {
    const [leader] = await leadersOf([topic])
    if (leader === undefined) throw new Error(`${topic} has no leader`)
    return leader[0]
  }
  return {
    async fetch(topic, offset, { maxWaitMs, maxBytes, undecidedToo = false }) {
      const broker = await leaderOf(topic)
      const decode = (payload: Buffer): Promise<Fetched> => decodeFetch(payload, offset)
      return broker.connectionPool.send({
        request: fetchRequest({
          replicaId: CONSUMER,
          isolationLevel: undecidedToo ? READ_UNCOMMITTED : READ_COMMITTED,
          maxWaitTime: maxWaitMs,
          minBytes: 1,
          maxBytes,
          topics: [{ topic, partitions: [{ partition: 0, fetchOffset: offset, maxBytes }] }],
        }),
        response: { decode, parse: async (fetched) => fetched },
        requestTimeout: maxWaitMs + NETWORK_MS,
      })
    },
    async offsets(topic) {
      const broker = await leaderOf(topic)
      const ask = async (timestamp: number, isolationLevel: number): Promise<number> =>
        (await offsetsOf(broker, [topic], timestamp, isolationLevel)).get(topic) ?? Number.NaN
      const earliest = await ask(EARLIEST, READ_COMMITTED)
      const end = await ask(LATEST, READ_UNCOMMITTED)
      return { earliest, lastStable: await ask(LATEST, READ_COMMITTED), end }
    },
    async undecided(topics) {
      const found = (await leadersOf(topics)).map(async ([broker, led]) => {
        // In this order on one connection: what is written in between is not taken for undecided.
        const [ends, decided] = await Promise.all([
          offsetsOf(broker, led, LATEST, READ_UNCOMMITTED),
          offsetsOf(broker, led, LATEST, READ_COMMITTED),
        ])
        return [...decided].map(([topic, from]) => ({ topic, from, end: ends.get(topic) ?? from }))
      })
      return (await Promise.all(found)).flat().filter(({ from, end }) => from < end)
    },
    async decide(transactionalId, topic, end) {
      await cluster.connect()
      await cluster.refreshMetadata()
      const where = { groupId: transactionalId, coordinatorType: TRANSACTIONS }
      const broker = await cluster.findGroupCoordinator(where)
      const made = await broker.initProducerId({ transactionalId, transactionTimeout: DECIDE_TIMEOUT_MS })
      const transaction = { transactionalId, ...made }
      await broker.addPartitionsToTxn({ ...transaction, topics: [{ topic, partitions: [0] }] })
      await broker.endTxn({ ...transaction, transactionResult: end === 'commit' })
    },
    async askToWrite(transactionalId, topics) {
      await cluster.connect()
      const where = { groupId: transactionalId, coordinatorType: TRANSACTIONS }
      const broker = await cluster.findGroupCoordinator(where)
      const nobody = { transactionalId, producerId: '-1', producerEpoch: 0 }
      const asked = topics.map((topic) => ({ topic, partitions: [0] }))
      await expecting('INVALID_PRODUCER_ID_MAPPING', broker.addPartitionsToTxn({ ...nobody, topics: asked }))
    },
    async leaveGroup(groupId, memberId) {
      await cluster.connect()
      await cluster.refreshMetadata()
      const broker = await cluster.findGroupCoordinator({ groupId, coordinatorType: MEMBERS })
      await expecting('UNKNOWN_MEMBER_ID', broker.leaveGroup({ groupId, memberId }))
    },
    async askToJoin(groupId) {
      await cluster.connect()
      const broker = await cluster.findGroupCoordinator({ groupId, coordinatorType: MEMBERS })
      const nobody = { groupId, groupGenerationId: 0, memberId: 'nobody' }
      await expecting('UNKNOWN_MEMBER_ID', broker.heartbeat(nobody))
    },
  }
}

/** Resolves when the work fails with that error of Kafka, or not at all. */
async function expecting(type: string, work: Promise<unknown>): Promise<void> {
  try {
    await work
  } catch (error) {
    if (!(error instanceof Error && 'type' in error && error.type === type)) throw error
  }
}

/** The offset at a time, of each topic; all of them led by that broker. */
async function offsetsOf(
  broker: KafkaJsBroker,
  topics: readonly string[],
  timestamp: number,
  isolationLevel: number,
): Promise<Map<string, number>> {
  const { responses } = await broker.listOffsets({
    isolationLevel,
    topics: topics.map((topic) => ({ topic, partitions: [{ partition: 0, timestamp }] })),
  })
  return new Map(responses.map(({ topic, partitions: [first] }) => [topic, Number(first?.offset)]))
}

interface Aborted {
  producerId: string
  firstOffset: number
}

/** The answer of Fetch version 11 for one partition. */
async function decodeFetch(payload: Buffer, asked: number): Promise<Fetched> {
  const decoder = new Decoder(payload)
  decoder.readInt32() // throttling is the broker's own
  const errorCode = decoder.readInt16()
  decoder.readInt32() // no session
  const topics = decoder.readInt32()
  if (errorCode !== 0 || topics === 0) {
    return { errorCode, records: [], nextOffset: asked, lastStableOffset: asked }
  }
  decoder.readString()
  decoder.readInt32() // one partition
  decoder.readInt32() // number 0
  const partitionError = decoder.readInt16()
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
    errorCode: partitionError,
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
