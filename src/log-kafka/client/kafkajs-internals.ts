/**
 * With `partition-protocol.ts` and `kafkajs-patches.ts` the one place that touches what kafkajs 2.2.4 does not publish. Owns finding
 * the broker that leads a partition, and questions about transactions, groups and rights. Refuses to retry.
 */
import type { ISocketFactory, KafkaConfig, Logger as KafkaJsLogger } from 'kafkajs'
import Cluster from 'kafkajs/src/cluster/index.js'
import {
  type AppendedRecord,
  appendToPartitions,
  type Fetched,
  type FetchOptions,
  fetchPartitions,
  READ_COMMITTED,
  READ_UNCOMMITTED,
  type Sender,
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
export interface KafkaJsBroker extends Sender {
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
/** The kind of coordinator that keeps transactions. */
const TRANSACTIONS = 1
/** The kind that keeps groups. */
const MEMBERS = 0
const DECIDE_TIMEOUT_MS = 10_000

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

/** Reads and writes several partitions of a topic, by the brokers that lead them. */
export interface LeaderClient {
  /** The partitions by the number of the broker that leads them. Throws when one has no leader. */
  leaders(topic: string, partitions: readonly number[]): Promise<Map<string, number[]>>
  /** As `fetch`, of partitions that the broker leads, each from its offset on; answers those that it says something of. */
  fetchFrom(
    nodeId: string,
    topic: string,
    offsets: ReadonlyMap<number, number>,
    how: FetchOptions,
  ): Promise<Map<number, Fetched>>
  /** Appends to partitions that the broker leads, each one's records as one batch. Sent once. Answers what was refused. */
  append(
    nodeId: string,
    topic: string,
    records: ReadonlyMap<number, readonly AppendedRecord[]>,
  ): Promise<Map<number, Error>>
  /** The first offset of the partition that is kept. */
  earliest(topic: string, partition: number): Promise<number>
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
export function createPartitionClient(
  options: ClusterOptions,
): PartitionClient & LeaderClient & RightsClient {
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
    async fetch(topic, offset, how) {
      const fetched = await fetchPartitions(await leaderOf(topic), topic, new Map([[0, offset]]), how)
      return fetched.get(0) ?? { errorCode: 0, records: [], nextOffset: offset, lastStableOffset: offset }
    },
    async leaders(topic, partitions) {
      await cluster.connect()
      await cluster.addMultipleTargetTopics([topic])
      const led = Object.entries(cluster.findLeaderForPartitions(topic, [...partitions]))
      if (
        led.flatMap(([, found]) => found).length < partitions.length ||
        led.some(([node]) => node === '-1')
      ) {
        throw new Error(`not every partition of ${topic} has a leader`)
      }
      return new Map(led)
    },
    async fetchFrom(nodeId, topic, offsets, how) {
      return fetchPartitions(await cluster.findBroker({ nodeId }), topic, offsets, how)
    },
    async append(nodeId, topic, records) {
      return appendToPartitions(await cluster.findBroker({ nodeId }), topic, records)
    },
    async earliest(topic, partition) {
      await cluster.connect()
      await cluster.addMultipleTargetTopics([topic])
      const [nodeId = ''] = Object.keys(cluster.findLeaderForPartitions(topic, [partition]))
      const broker = await cluster.findBroker({ nodeId })
      const asked = [{ topic, partitions: [{ partition, timestamp: EARLIEST }] }]
      const { responses } = await broker.listOffsets({ isolationLevel: READ_COMMITTED, topics: asked })
      return Number(responses[0]?.partitions[0]?.offset)
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
