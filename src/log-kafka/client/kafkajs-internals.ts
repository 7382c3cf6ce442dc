/**
 * Sends Kafka requests for which kafkajs 2.2.4 has no public API: fetch, append, offsets, transactions and ACL probes of
 * single partitions. Nothing outside this file, `partition-protocol.ts` and `kafkajs-patches.ts` touches kafkajs's
 * internals.
 */
import type { ISocketFactory, KafkaConfig, Logger as KafkaJsLogger } from 'kafkajs'
import Cluster from 'kafkajs/src/cluster/index.js'
import { isUnknownTopic, missingTopic } from './faults.ts'
import {
  type AppendedRecord,
  appendToPartitions,
  type BrokerConnection,
  type Fetched,
  type FetchOptions,
  fetchPartitions,
  READ_COMMITTED,
  READ_UNCOMMITTED,
} from './partition-protocol.ts'

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
export interface KafkaJsBroker extends BrokerConnection {
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

const EARLIEST = -2
const LATEST = -1
const METADATA_AGE_MS = 300_000
/** Types of coordinators. */
const GROUP = 0
const TRANSACTION = 1
const RESOLVE_TIMEOUT_MS = 10_000

/** A topic with records above the last stable offset: their transaction is open or hanging. */
export interface UnstableTopic {
  topic: string
  /** The last stable offset: the first that is neither committed nor aborted. */
  from: number
  /** Offset after the last record. */
  end: number
}

/**
 * Reads and writes partitions over a cluster of its own; partition 0 where a method takes none. Every request is sent
 * once. A broker answers the requests of one connection in order, so one long wait at a time. The owner of the sockets
 * ends it by destroying them.
 */
export class PartitionClient {
  readonly #cluster: Cluster

  constructor(options: ClusterOptions) {
    this.#cluster = new Cluster({
      ...options,
      allowAutoTopicCreation: false,
      metadataMaxAge: METADATA_AGE_MS,
      isolationLevel: READ_COMMITTED,
    })
  }

  /**
   * Committed records from `offset` on; waits up to `maxWaitMs` for the first. At least one batch, whatever its size.
   * Faults of the partition are its `errorCode`; it throws for those of the connection.
   */
  async fetch(topic: string, offset: number, how: FetchOptions): Promise<Fetched> {
    const fetched = await fetchPartitions(await this.#leaderOf(topic), topic, new Map([[0, offset]]), how)
    return fetched.get(0) ?? { errorCode: 0, records: [], nextOffset: offset, lastStableOffset: offset }
  }

  /** As `fetch`, of partitions that the broker leads, each from its offset on; those that the broker answers for. */
  async fetchFrom(
    nodeId: string,
    topic: string,
    offsets: ReadonlyMap<number, number>,
    how: FetchOptions,
  ): Promise<Map<number, Fetched>> {
    return fetchPartitions(await this.#cluster.findBroker({ nodeId }), topic, offsets, how)
  }

  /** As `appendToPartitions`, of partitions that the broker leads. */
  async append(
    nodeId: string,
    topic: string,
    records: ReadonlyMap<number, readonly AppendedRecord[]>,
  ): Promise<Map<number, number | Error>> {
    return appendToPartitions(await this.#cluster.findBroker({ nodeId }), topic, records)
  }

  /** The partitions by the id of the broker that leads them. Throws when one has no leader. */
  async leaders(topic: string, partitions: readonly number[]): Promise<Map<string, number[]>> {
    await this.#loadMetadata([topic])
    return this.#leadersOf(topic, partitions)
  }

  /** The first offset of the partition that is kept. */
  async earliest(topic: string, partition: number): Promise<number> {
    const broker = await this.#leaderOf(topic, partition)
    return (await offsetsOf(broker, [topic], EARLIEST, READ_COMMITTED, partition)).get(topic) ?? Number.NaN
  }

  /** First offset that is kept, last stable offset, and log end. */
  async offsets(topic: string): Promise<{ earliest: number; lastStable: number; end: number }> {
    const broker = await this.#leaderOf(topic)
    const offsetAt = async (timestamp: number, isolationLevel: number): Promise<number> =>
      (await offsetsOf(broker, [topic], timestamp, isolationLevel)).get(topic) ?? Number.NaN
    const earliest = await offsetAt(EARLIEST, READ_COMMITTED)
    const end = await offsetAt(LATEST, READ_UNCOMMITTED)
    return { earliest, lastStable: await offsetAt(LATEST, READ_COMMITTED), end }
  }

  /** Those of the topics that have records above the last stable offset. */
  async unstable(topics: readonly string[]): Promise<UnstableTopic[]> {
    await this.#loadMetadata(topics)
    const byLeader = Map.groupBy(topics, (topic) => [...this.#leadersOf(topic, [0]).keys()][0] ?? '')
    const found = [...byLeader].map(async ([nodeId, led]) => {
      const broker = await this.#cluster.findBroker({ nodeId })
      // In this order on one connection: what is written in between does not look unstable.
      const [ends, stable] = await Promise.all([
        offsetsOf(broker, led, LATEST, READ_UNCOMMITTED),
        offsetsOf(broker, led, LATEST, READ_COMMITTED),
      ])
      return [...stable].map(([topic, from]) => ({ topic, from, end: ends.get(topic) ?? from }))
    })
    return (await Promise.all(found)).flat().filter(({ from, end }) => from < end)
  }

  /**
   * Resolves hanging records of the topic: ends a transaction that writes nothing, whose marker decides for them. Fences
   * like a producer of that transactional id.
   */
  async resolveTransaction(transactionalId: string, topic: string, end: 'commit' | 'abort'): Promise<void> {
    const broker = await this.#coordinator(transactionalId, TRANSACTION)
    const made = await broker.initProducerId({ transactionalId, transactionTimeout: RESOLVE_TIMEOUT_MS })
    const transaction = { transactionalId, ...made }
    await broker.addPartitionsToTxn({ ...transaction, topics: [{ topic, partitions: [0] }] })
    await broker.endTxn({ ...transaction, transactionResult: end === 'commit' })
  }

  /** Removes a member from its group; resolves too when the group does not know it. */
  async leaveGroup(groupId: string, memberId: string): Promise<void> {
    const broker = await this.#coordinator(groupId, GROUP)
    await expecting('UNKNOWN_MEMBER_ID', broker.leaveGroup({ groupId, memberId }))
  }

  /**
   * Resolves when a producer of that transactional id may write to the topics. Probes with a producer that does not
   * exist, so it changes nothing and fences nobody. Throws the broker's refusal.
   */
  async probeWrite(transactionalId: string, topics: readonly string[]): Promise<void> {
    const broker = await this.#coordinator(transactionalId, TRANSACTION)
    const probe = { transactionalId, producerId: '-1', producerEpoch: 0 }
    const partitions = topics.map((topic) => ({ topic, partitions: [0] }))
    await expecting(
      'INVALID_PRODUCER_ID_MAPPING',
      broker.addPartitionsToTxn({ ...probe, topics: partitions }),
    )
  }

  /** Resolves when a process may be a member of the group. Probes with a member that does not exist. */
  async probeJoin(groupId: string): Promise<void> {
    const broker = await this.#coordinator(groupId, GROUP)
    const probe = { groupId, groupGenerationId: 0, memberId: 'nobody' }
    await expecting('UNKNOWN_MEMBER_ID', broker.heartbeat(probe))
  }

  async #loadMetadata(topics: readonly string[]): Promise<void> {
    await this.#cluster.connect()
    try {
      await this.#cluster.addMultipleTargetTopics([...topics])
    } catch (error) {
      if (!isUnknownTopic(error)) throw error
      const [first = '', ...others] = topics
      // Kafka's error names no topic: each one is asked for alone.
      if (others.length === 0) throw missingTopic(first)
      for (const topic of topics) await this.#loadMetadata([topic])
    }
  }

  #leadersOf(topic: string, partitions: readonly number[]): Map<string, number[]> {
    const led = Object.entries(this.#cluster.findLeaderForPartitions(topic, [...partitions]))
    const count = led.flatMap(([, found]) => found).length
    if (count < partitions.length || led.some(([nodeId]) => nodeId === '-1')) {
      throw new Error(`${topic} has a partition without a leader`)
    }
    return new Map(led)
  }

  async #leaderOf(topic: string, partition = 0): Promise<KafkaJsBroker> {
    const [nodeId = ''] = (await this.leaders(topic, [partition])).keys()
    return this.#cluster.findBroker({ nodeId })
  }

  async #coordinator(id: string, coordinatorType: number): Promise<KafkaJsBroker> {
    await this.#cluster.connect()
    await this.#cluster.refreshMetadata()
    return this.#cluster.findGroupCoordinator({ groupId: id, coordinatorType })
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
  partition = 0,
): Promise<Map<string, number>> {
  const { responses } = await broker.listOffsets({
    isolationLevel,
    topics: topics.map((topic) => ({ topic, partitions: [{ partition, timestamp }] })),
  })
  return new Map(responses.map(({ topic, partitions: [first] }) => [topic, Number(first?.offset)]))
}
