/**
 * Records of ours that no marker has decided though their transaction is over. A broker that dies between accepting a
 * commit and writing its markers can come back without them (seen on one 4.3.1 node: the markers of some topics were
 * left out); readers of the topic would then wait for ever, and the next transaction's end, whichever it is, would
 * decide for them. Owns finding out how that transaction had ended. Refuses to look before earlier writers are fenced:
 * until then a transaction may simply be open.
 */

import { SEQUENCE_KEY } from '../../log-shared/place-rows.ts'
import type { Logger } from '../../obs/logger.ts'
import type { PartitionClient, UnstableTopic } from '../client/kafkajs-internals.ts'
import { requireNoError } from '../client/partition-protocol.ts'
import type { KafkaRecord } from '../client/record-batch.ts'
import { sequenceOf, topicSequenceOf } from '../client/records.ts'
import { latestSequence } from '../reading/offset-lookup.ts'
import { ALL, STATE, topicName } from '../topics/topics.ts'
import type { KafkaWriterState } from './writer-state.ts'

/** How a transaction has ended, or must be taken to have. */
type Ending = 'commit' | 'abort'

/** What the search needs. */
export interface DecidingParts {
  prefix: string
  transactionalId: string
  logger: Logger
  /** Runs a read that ends, and tries it again while it fails. */
  read<T>(doing: string, work: (partitions: PartitionClient) => Promise<T>): Promise<T>
}

const READ_BYTES = 1024 * 1024

/**
 * Decides what the state topic has undecided; true where there was anything, and every producer is fenced now.
 * Committed, if the events that the state speaks of are seen, or wait like it: its writer may have been told so. A state
 * that speaks of no events is taken as committed: a unit counted twice is better than one forgotten.
 */
export async function decideState(parts: DecidingParts): Promise<boolean> {
  const state = topicName(parts.prefix, STATE)
  const all = topicName(parts.prefix, ALL)
  return parts.read('looking for undecided records of the state', async (partitions) => {
    const undecided = await partitions.unstable([state, all])
    const waiting = undecided.find(({ topic }) => topic === state)
    if (waiting === undefined) return false
    const rows = await readUndecided(partitions, waiting)
    const events = undecided.find(({ topic }) => topic === all)
    const said = rows.findLast(({ key }) => String(key) === SEQUENCE_KEY)?.value
    const sequence = said === undefined || said === null ? 0 : Number(said)
    const seen = (await latestSequence(partitions, all)) ?? sequence
    const held = events === undefined ? [] : await readUndecided(partitions, events)
    const isThere = seen >= sequence || held.some((record) => sequenceOf(record) >= sequence)
    await decide(parts, partitions, state, isThere ? 'commit' : 'abort')
    return true
  })
}

/**
 * Decides what the topics of the books have undecided; true where there was anything, and every producer is fenced now.
 * Committed, if the books count it. Rejected items have no count; one kept twice is better than one lost.
 */
export async function decideTopics(
  parts: DecidingParts,
  topics: readonly string[],
  state: KafkaWriterState,
): Promise<boolean> {
  return parts.read('looking for undecided records', async (partitions) => {
    const names = topics.map((topic) => topicName(parts.prefix, topic))
    const undecided = await partitions.unstable(names)
    for (const topic of undecided) {
      const [first] = await readUndecided(partitions, topic)
      const topicSequence = first === undefined ? null : topicSequenceOf(first)
      const counted = countOf(state, topic.topic.slice(parts.prefix.length + 1))
      await decide(
        parts,
        partitions,
        topic.topic,
        topicSequence === null || topicSequence <= counted ? 'commit' : 'abort',
      )
    }
    return undecided.length > 0
  })
}

function countOf({ place, counts }: KafkaWriterState, topic: string): number {
  return topic === ALL ? place.sequence : (counts.get(topic) ?? 0)
}

async function decide(
  { transactionalId, logger }: DecidingParts,
  partitions: PartitionClient,
  topic: string,
  outcome: Ending,
): Promise<void> {
  logger.warn('log.undecided', { topic, outcome })
  await partitions.resolveTransaction(transactionalId, topic, outcome)
}

async function readUndecided(
  partitions: PartitionClient,
  { topic, from, end }: UnstableTopic,
): Promise<KafkaRecord[]> {
  const records: KafkaRecord[] = []
  for (let offset = from; offset < end; ) {
    const how = { maxWaitMs: 0, maxBytes: READ_BYTES, readUncommitted: true }
    const fetched = await partitions.fetch(topic, offset, how)
    requireNoError(topic, fetched)
    records.push(...fetched.records)
    if (fetched.nextOffset === offset) break
    offset = fetched.nextOffset
  }
  return records
}
