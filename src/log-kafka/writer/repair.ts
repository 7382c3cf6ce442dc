/**
 * Corrects the writer's state where it names another last event than the topic of all events has. Two topics that a mirror
 * copies one by one may differ by some transactions.
 */
import { earlierAfterRestore } from '../../log-shared/earlier-epochs.ts'
import { newEpoch } from '../../log-shared/epoch.ts'
import type { PartitionClient } from '../client/kafkajs-internals.ts'
import { eventOf } from '../client/records.ts'
import { eachBetween, offsetAfter } from '../reading/offset-lookup.ts'
import { ALL, topicName } from '../topics/topics.ts'
import {
  type KafkaWriterState,
  type NamedEvent,
  nameTopics,
  newChoices,
  placeEvents,
} from './writer-state.ts'

/** What the correction needs. */
export interface RepairParts {
  prefix: string
  nativeKind: string
  known: ReadonlySet<string>
  partitions: PartitionClient
}

/**
 * The state corrected to the events, of which `last` is the sequence of the last; null: all were dropped by age, and nothing
 * can be compared. Events that the topic lacks are lost, so their sequences come again under a new epoch. Events that the
 * state lacks are counted.
 */
export async function repairedState(
  parts: RepairParts,
  state: KafkaWriterState,
  last: number | null,
): Promise<KafkaWriterState> {
  const { epoch, sequence } = state.place
  const end = last ?? sequence
  if (end > sequence) return { ...(await countingOn(parts, state, end)), place: { epoch, sequence: end } }
  if (end === sequence) return state
  const earlier = earlierAfterRestore(end, { epoch, earlier: state.earlier }, null)
  return { ...state, place: { epoch: newEpoch(), sequence: end }, earlier }
}

/** The state with the events behind its last one counted, in the topics that their codes choose. */
async function countingOn(
  { prefix, nativeKind, known, partitions }: RepairParts,
  state: KafkaWriterState,
  last: number,
): Promise<KafkaWriterState> {
  const all = topicName(prefix, ALL)
  const { lastStable } = await partitions.offsets(all)
  const from = await offsetAfter(partitions, all, state.place.sequence)
  const named: NamedEvent[] = []
  const choices = new Map(state.choices)
  await eachBetween(partitions, all, from, lastStable, (record) => {
    const event = eventOf(record)
    if (event === null || event.sequence <= state.place.sequence || event.sequence > last) return true
    const [one] = nameTopics([event], nativeKind)
    if (one === undefined) return true
    named.push(one)
    // The writer chose when it received the event; its choices for these events are not stored here.
    const made = newChoices({ known, choices }, [one], Date.parse(event.recordedtime))
    for (const [topic, choice] of made) choices.set(topic, choice)
    return true
  })
  const { counts } = placeEvents(named, state.counts, { known, choices, unavailable: new Set() })
  return { ...state, counts, choices }
}
