/**
 * Claims the log for a new writer: fences earlier writers by transactional id, writes a fencing token, and reads their state
 * up to it. In that order, no earlier writer can commit any more, and everything that it has committed is before the token.
 */
import { randomUUID } from 'node:crypto'
import { BridgeError } from '../../errors.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import type { FaultHooks } from '../../log/fault-hooks.ts'
import { newEpoch } from '../../log-shared/epoch.ts'
import { fencedError } from '../../log-shared/fenced.ts'
import type { Logger } from '../../obs/logger.ts'
import { boundedRead } from '../client/bounded-read.ts'
import type { OpenSession } from '../client/client.ts'
import { isFencing, unavailable } from '../client/faults.ts'
import type { PartitionClient } from '../client/kafkajs-internals.ts'
import { abortable, withTimeout } from '../client/with-timeout.ts'
import { latestSequence } from '../reading/offset-lookup.ts'
import { ALL, COPIES, STATE, topicName } from '../topics/topics.ts'
import { learntTopics } from './code-topics.ts'
import { resolveState, resolveTopics } from './hanging-transactions.ts'
import { createMissingTopics, type MissingTopicParts } from './missing-topics.ts'
import { repairedState } from './repair.ts'
import type { StateTail } from './state-tail.ts'
import { Transactions } from './transactions.ts'
import { KafkaWriter, type KafkaWriterParts } from './writer.ts'
import { FENCING_TOKEN_KEY, type KafkaWriterState, readStateRows, stateRows } from './writer-state.ts'

/** How long a claim waits until its own token is read back, ms; usually some ms. */
const TOKEN_DEADLINE_MS = 10_000

/** What a claim needs. */
export interface ClaimParts extends Omit<KafkaWriterParts, 'transactions' | 'token' | 'unavailable'> {
  openSession: OpenSession
  clock: Clock
  logger: Logger
  faultHooks: FaultHooks
  tail: StateTail
  topics: MissingTopicParts['topics']
  /** Corrects a state that disagrees with the events, instead of refusing it; the first commit stores that. */
  repair?: boolean
}

/** Tries of one claim; each but the last resolves hanging transactions, which a crashed broker may leave. */
const MOST_TRIES = 4

/**
 * Claims the log.
 * @throws the signal's reason; BridgeError `log_fenced` when another process claims at the same time, `log_unavailable`,
 * `log_damaged` when state and events contradict each other
 */
export async function claimLog(parts: ClaimParts, signal: AbortSignal): Promise<KafkaWriter> {
  const { clock, logger } = parts
  const stopped = AbortSignal.any([signal, parts.closed])
  const startMs = clock.now()
  try {
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const writer = await tryClaim(parts, stopped)
      if (writer === null) continue
      const { epoch, sequence } = writer
      logger.info('log.claimed', { epoch, sequence, durationMs: clock.now() - startMs })
      return writer
    }
    throw new Error('some topics still have hanging transactions')
  } catch (error) {
    if (signal.aborted) throw signal.reason
    if (parts.closed.aborted || isFencing(error)) throw fencedError()
    throw unavailable('claiming', error)
  }
}

/** One try: null when it has resolved a hanging transaction, which fences its own producer. */
async function tryClaim(parts: ClaimParts, stopped: AbortSignal): Promise<KafkaWriter | null> {
  const { prefix, clock, openSession, faultHooks, logger } = parts
  const transactionalId = `${prefix}.writer`
  const transactions = new Transactions({ openSession, transactionalId, clock, faultHooks })
  const read = <T>(doing: string, work: (partitions: PartitionClient) => Promise<T>): Promise<T> =>
    boundedRead(parts, doing, stopped, work)
  const resolving = { prefix, transactionalId, logger, read }
  const token = randomUUID()
  let writer: KafkaWriter | null = null
  try {
    await transactions.fence(stopped)
    await faultHooks.afterFence?.()
    if (await resolveState(resolving)) return null
    const rowsAtToken = parts.tail.rowsAt(token)
    const writeToken = (): Promise<void> =>
      writeState(transactions, prefix, new Map([[FENCING_TOKEN_KEY, token]]))
    await writeToken()
    await faultHooks.afterFencingToken?.()
    const claimed = readStateRows(await withTimeout(clock, TOKEN_DEADLINE_MS, stopped, rowsAtToken))
    const state = claimed?.state ?? null
    let unavailable: ReadonlySet<string> = new Set()
    if (state !== null) {
      const codes = [...new Set([...parts.known, ...learntTopics(state.choices)])]
      unavailable = await abortable(stopped, createMissingTopics(parts, codes))
      const topics = [ALL, ...COPIES, ...codes.filter((topic) => !unavailable.has(topic))]
      if (await resolveTopics(resolving, topics, state)) return null
    }
    const all = topicName(prefix, ALL)
    const last = await read('reading the last event', (partitions) => latestSequence(partitions, all))
    if (!agree(state, last) && (parts.repair !== true || state === null)) {
      // Another process may have claimed and committed between the two reads: then this write is fenced.
      await writeToken()
      throw contradiction(state, last)
    }
    const begun = state ?? (await begin(transactions, prefix))
    const repaired =
      parts.repair === true
        ? await read('counting events', (partitions) => repairedState({ ...parts, partitions }, begun, last))
        : begun
    stopped.throwIfAborted()
    const rows = claimed?.rows ?? new Map<string, string>()
    writer = new KafkaWriter({ ...parts, transactions, token, unavailable }, begun, rows, repaired)
    return writer
  } finally {
    parts.tail.forget(token)
    if (writer === null) transactions.end()
  }
}

/** Whether the state agrees with the last event in the topic (null: all were dropped by age). An unused log has neither. */
function agree(state: KafkaWriterState | null, last: number | null): boolean {
  if (state === null) return last === 0
  return last === null || state.place.sequence === last
}

function contradiction(state: KafkaWriterState | null, last: number | null): BridgeError {
  const known = state === null ? 'no event' : `event ${state.place.sequence}`
  const hint =
    state === null
      ? 'Stop. Restore the state topic and the topic of all events from one backup, or choose another BRIDGE_TOPIC_PREFIX.'
      : 'Stop every bridge of this prefix and run bridge repair: it says what is lost, and asks before it changes anything. Or restore both topics from one backup.'
  const kept = last === null ? 'was written before' : `ends with ${last}`
  return new BridgeError(
    'log_damaged',
    `the stored writer state names ${known} as the last event, but the topic of all events ${kept}`,
    { hint },
  )
}

async function begin(transactions: Transactions, prefix: string): Promise<KafkaWriterState> {
  const place = { epoch: newEpoch(), sequence: 0 }
  const state: KafkaWriterState = { place, counts: new Map(), choices: new Map(), earlier: null }
  await writeState(transactions, prefix, stateRows(null, state))
  return state
}

function writeState(
  transactions: Transactions,
  prefix: string,
  rows: ReadonlyMap<string, string | null>,
): Promise<void> {
  const records = [...rows].map(([key, value]) => ({ partition: 0 as const, key, value }))
  return transactions.run(new Map([[topicName(prefix, STATE), records]]))
}
