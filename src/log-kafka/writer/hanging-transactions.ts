/**
 * Resolves hanging transactions of earlier writers: they have ended, but some topics lack the commit or abort marker. A
 * broker that crashes between accepting a commit and writing its markers may restart without them (seen on one 4.3.1 node):
 * readers of the topic would wait for ever, and the end of the next transaction would decide for these records. To be used
 * only when earlier writers are fenced: until then their transaction may simply be open.
 */
import { SEQUENCE_KEY } from '../../log-shared/place-rows.ts'
import type { Logger } from '../../obs/logger.ts'
import type { PartitionClient, UnstableTopic } from '../client/kafkajs-internals.ts'
import type { KafkaRecord } from '../client/partition-protocol.ts'
import { sequenceOf, topicSequenceOf } from '../client/records.ts'
import { eachBetween, latestSequence } from '../reading/offset-lookup.ts'
import { ALL, STATE, topicName } from '../topics/topics.ts'
import type { KafkaWriterState } from './writer-state.ts'

/** What the resolution needs. */
export interface ResolvingParts {
  prefix: string
  transactionalId: string
  logger: Logger
  /** Runs a read that ends, and retries it while it fails. */
  read<T>(doing: string, work: (partitions: PartitionClient) => Promise<T>): Promise<T>
}

/**
 * Resolves the state topic; true where it had a hanging transaction: then every producer is fenced. Commits if the events
 * of its new sequence are visible, or hang like it, because the writer may have had its acknowledgement. Commits too without
 * a new sequence: a unit of the quota counted twice is better than one not counted.
 */
export async function resolveState(parts: ResolvingParts): Promise<boolean> {
  const state = topicName(parts.prefix, STATE)
  const all = topicName(parts.prefix, ALL)
  return parts.read('looking for hanging transactions of the state', async (partitions) => {
    const unstable = await partitions.unstable([state, all])
    const hanging = unstable.find(({ topic }) => topic === state)
    if (hanging === undefined) return false
    const rows = await readHanging(partitions, hanging)
    const events = unstable.find(({ topic }) => topic === all)
    const text = rows.findLast(({ key }) => `${key}` === SEQUENCE_KEY)?.value
    const sequence = text === undefined || text === null ? 0 : Number(text)
    const visible = (await latestSequence(partitions, all)) ?? sequence
    const hangingEvents = events === undefined ? [] : await readHanging(partitions, events)
    const hangingSequences = hangingEvents.map((record) => sequenceOf(record) ?? 0)
    const isThere = visible >= sequence || hangingSequences.some((number) => number >= sequence)
    await resolve(parts, partitions, state, isThere ? 'commit' : 'abort')
    return true
  })
}

/**
 * Resolves the other topics; true where one had a hanging transaction: then every producer is fenced. Commits if the state
 * counts the event. Rejected items are not counted: one kept twice is better than one lost.
 */
export async function resolveTopics(
  parts: ResolvingParts,
  topics: readonly string[],
  state: KafkaWriterState,
): Promise<boolean> {
  return parts.read('looking for hanging transactions', async (partitions) => {
    const unstable = await partitions.unstable(topics.map((topic) => topicName(parts.prefix, topic)))
    for (const hanging of unstable) {
      const topicSequences = (await readHanging(partitions, hanging)).map(topicSequenceOf)
      const topicSequence = topicSequences.find((number) => number !== null)
      const isCounted =
        topicSequence === undefined ||
        topicSequence <= countOf(state, hanging.topic.slice(parts.prefix.length + 1))
      await resolve(parts, partitions, hanging.topic, isCounted ? 'commit' : 'abort')
    }
    return unstable.length > 0
  })
}

function countOf({ place, counts }: KafkaWriterState, topic: string): number {
  return topic === ALL ? place.sequence : (counts.get(topic) ?? 0)
}

async function resolve(
  { transactionalId, logger }: ResolvingParts,
  partitions: PartitionClient,
  topic: string,
  outcome: 'commit' | 'abort',
): Promise<void> {
  logger.warn('log.hanging_transaction', { topic, outcome })
  await partitions.resolveTransaction(transactionalId, topic, outcome)
}

async function readHanging(
  partitions: PartitionClient,
  { topic, from, end }: UnstableTopic,
): Promise<KafkaRecord[]> {
  const records: KafkaRecord[] = []
  await eachBetween(partitions, topic, from, end, (record) => records.push(record) > 0, true)
  return records
}
