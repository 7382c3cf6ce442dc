/**
 * Reads the epoch and the last sequence of the log from the topic that holds its writer's state. The topic of events is no
 * source for them, because all events may have been dropped by age.
 */
import type { Clock } from '../../lifecycle/clock.ts'
import type { LogEnd } from '../../log/events.ts'
import { patientRead } from '../client/bounded-read.ts'
import type { ReaderParts } from '../client/connection.ts'
import type { PartitionClient } from '../client/kafkajs-internals.ts'
import { eachBetween, latestSequence } from '../reading/offset-lookup.ts'
import { waitForStableOffset } from '../reading/stable-offset.ts'
import { readStateRows } from './writer-state.ts'

/** Names of the topics in the cluster. */
export interface EndTopics {
  state: string
  all: string
}

/**
 * The end of the log by its state topic, which is small and read completely. Retries until Kafka answers.
 * @throws the signal's reason; BridgeError `log_damaged` when the state is incomplete
 */
export async function readEnd(
  parts: ReaderParts,
  { state, all }: EndTopics,
  signal: AbortSignal,
): Promise<LogEnd> {
  const read = { ...parts, topic: state }
  const { rows, last } = await patientRead(read, 'reading the end of the log', signal, async (partitions) => {
    const rows = await committedRows(partitions, state, parts.clock)
    return { rows, last: await latestSequence(partitions, all) }
  })
  const stored = readStateRows(rows)?.state
  const { epoch = null, sequence = 0 } = stored?.place ?? {}
  const earlier = stored?.earlier ?? null
  const end = { epoch, sequence, ...(earlier !== null && { earlier }) }
  return last === null && end.sequence > 0 ? { ...end, allDropped: true } : end
}

/** Where the two topics end that a commit writes to together. */
export interface TopicEnds {
  /** By the state topic, at the moment of `last`; null where nobody has written to it. */
  state: { epoch: string; sequence: number } | null
  /** The last sequence in the topic of all events; 0: none was ever written, null: all were dropped by age. */
  last: number | null
}

/**
 * Both ends. A leader may commit meanwhile: they agree where the last event lies between the state's end before it was read and
 * the one after. Throws kafkajs's errors; BridgeError `log_damaged` when the state is incomplete.
 */
export async function readTopicEnds(
  partitions: PartitionClient,
  { state, all }: EndTopics,
  clock: Clock,
): Promise<TopicEnds> {
  const readPlace = async (): Promise<TopicEnds['state']> =>
    readStateRows(await committedRows(partitions, state, clock))?.state.place ?? null
  let before = await readPlace()
  for (;;) {
    // The markers of one commit come into the two topics one after the other.
    await waitForStableOffset(partitions, all, clock)
    const last = await latestSequence(partitions, all)
    const after = await readPlace()
    // A repair or a restore has begun an epoch meanwhile.
    if (before?.epoch !== after?.epoch) {
      before = after
      continue
    }
    const isBetween = last !== null && (before?.sequence ?? 0) <= last && last <= (after?.sequence ?? 0)
    return { state: after !== null && isBetween ? { ...after, sequence: last } : after, last }
  }
}

/** The last event by the state and by the topic of all events, where they differ. */
export interface Disagreement {
  state: number
  last: number
}

/** How the two ends differ; null where they agree. */
export function disagreementOf({ state, last }: TopicEnds): Disagreement | null {
  const named = state?.sequence ?? 0
  return last === null || last === named ? null : { state: named, last }
}

/** The rows of the state topic, whose name in the cluster is `state`. Waits up to 2 s for open transactions. */
export async function committedRows(
  partitions: PartitionClient,
  state: string,
  clock: Clock,
): Promise<Map<string, string>> {
  await waitForStableOffset(partitions, state, clock)
  const { earliest, lastStable } = await partitions.offsets(state)
  const rows = new Map<string, string>()
  await eachBetween(partitions, state, earliest, lastStable, ({ key, value }) => {
    if (value === null) rows.delete(`${key}`)
    else rows.set(`${key}`, value.toString('utf8'))
    return true
  })
  return rows
}
