/**
 * The one writer on Kafka: each operation is one transaction. Owns the order of operations, what each of them writes
 * where, and the writer's end: what it threw once it throws for ever. Refuses to retry: after any error only a new claim
 * can tell what is stored.
 */
import { BridgeError, isBridgeError } from '../../errors.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import {
  COMMIT_LIMIT,
  type Commit,
  type RejectedItem,
  type RowChanges,
  type Writer,
} from '../../log/events.ts'
import { fencedError } from '../../log-shared/local-writer.ts'
import type { Logger } from '../../obs/logger.ts'
import { isFencing, isRefusedTopic, unknownOutcome } from '../client/faults.ts'
import { type NewRecord, rejectedRecord } from '../client/records.ts'
import { REJECTED, STATE, type TopicChoice, topicName } from '../topics/topics.ts'
import type { Transactions } from './transactions.ts'
import {
  FENCING_TOKEN_KEY,
  type KafkaWriterState,
  nameTopics,
  newChoices,
  placeEvents,
  stateRows,
} from './writer-state.ts'

/**
 * A broker forgets a producer after a day without records and a transactional id after seven: something is written at
 * least this often.
 */
const LONGEST_SILENCE_MS = 55 * 60_000

/** What a writer is made of. */
export interface WriterParts {
  prefix: string
  /** The kind upstream writes for its own categories, e.g. `Native`. */
  nativeKind: string
  clock: Clock
  logger: Logger
  transactions: Transactions
  /** Topics of codes that exist since the start. */
  known: ReadonlySet<string>
  /** Makes topics that are missing, by the part of their names after the prefix. Throws `kafka` where one is unusable. */
  createTopics(topics: readonly string[]): Promise<void>
  /** This claim's own mark; written again where an operation changes nothing else. */
  nonce: string
  /** Aborts when the log is closed. */
  closed: AbortSignal
}

/** The writer of a claim that has read this state, and `rows` of its caller. */
export function createKafkaWriter(
  parts: WriterParts,
  claimed: KafkaWriterState,
  rows: ReadonlyMap<string, string>,
): Writer {
  const { transactions, clock, closed } = parts
  let state = claimed
  let ended: BridgeError | null = null
  let turn: Promise<unknown> = Promise.resolve()
  let cancelTouch = (): void => undefined

  const end = (error: BridgeError): BridgeError => {
    ended ??= error
    cancelTouch()
    closed.removeEventListener('abort', close)
    transactions.end()
    return ended
  }
  const close = (): void => void end(fencedError())
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const result = turn.then(async () => {
      if (closed.aborted) end(fencedError())
      if (ended !== null) throw ended
      try {
        return await work()
      } catch (error) {
        throw end(isFencing(error) ? fencedError() : endingOf(error))
      }
    })
    turn = result.catch(() => undefined)
    return result
  }
  const store = async (
    after: KafkaWriterState,
    records: Map<string, NewRecord[]>,
    callers?: RowChanges,
  ): Promise<void> => {
    const changed = stateRows(state, after, callers)
    if (changed.size === 0) changed.set(FENCING_TOKEN_KEY, parts.nonce)
    records.set(
      STATE,
      [...changed].map(([key, value]) => ({ partition: 0, key, value })),
    )
    await transactions.run(
      new Map([...records].map(([topic, list]) => [topicName(parts.prefix, topic), list])),
    )
    state = after
    touchLater()
  }
  const touchLater = (): void => {
    cancelTouch()
    // A fault of it ends the writer, which says so at its next operation.
    cancelTouch = clock.after(
      LONGEST_SILENCE_MS,
      () => void inTurn(() => store(state, new Map())).catch(() => null),
    )
  }
  closed.addEventListener('abort', close, { once: true })
  touchLater()

  return {
    get epoch() {
      return state.place.epoch
    },
    get sequence() {
      return state.place.sequence
    },
    rows,
    async commit(given) {
      if (given.events.length > COMMIT_LIMIT) {
        throw new RangeError(`a commit of ${given.events.length} events: at most ${COMMIT_LIMIT}`)
      }
      const { events: copies, rejected, callers } = copyOf(given)
      return inTurn(async () => {
        const { epoch, sequence } = state.place
        const events = copies.map((event, index) => ({ ...event, sequence: sequence + 1 + index, epoch }))
        const named = nameTopics(events, parts.nativeKind)
        const made = newChoices({ known: parts.known, choices: state.choices }, named, clock.now())
        const choices = new Map([...state.choices, ...(await withTopics(parts, made))])
        const { records, counts } = placeEvents(named, state.counts, { known: parts.known, choices })
        addRejected(records, rejected)
        const place = { epoch, sequence: sequence + events.length }
        await store({ place, counts, choices }, records, callers)
        return events
      })
    },
    async release() {
      await turn
      end(fencedError())
    },
  }
}

/** The commit as it is now: its caller may change it while it waits for the operations before it. */
function copyOf({ events, rejected = [], rows }: Commit) {
  return {
    events: events.map((event) => ({ ...event })),
    rejected: rejected.map((item) => ({ ...item })),
    callers: new Map(rows),
  }
}

/** The choices with their topics made; where one cannot be had, its code shares a topic: no event waits for one. */
async function withTopics(
  parts: WriterParts,
  choices: Map<string, TopicChoice>,
): Promise<Map<string, TopicChoice>> {
  const wanted = [...choices].filter(([, { own }]) => own).map(([topic]) => topic)
  const refused = new Set(wanted.length === 0 ? [] : await refusedOf(parts, wanted))
  return new Map(
    [...choices].map(([topic, choice]) => [topic, refused.has(topic) ? { ...choice, own: false } : choice]),
  )
}

/** Makes the topics; those that brokers refuse, or that are there with several partitions, which is so tomorrow too. */
async function refusedOf(parts: WriterParts, topics: readonly string[]): Promise<string[]> {
  const { createTopics, logger, prefix } = parts
  try {
    await createTopics(topics)
    return []
  } catch (error) {
    if (!isRefusedTopic(error) && !isBridgeError(error, 'kafka')) throw error
    const [topic = ''] = topics
    if (topics.length === 1) {
      logger.warn('topic.refused', { topic: topicName(prefix, topic), error })
      return [topic]
    }
    // The fault of one is not to keep the others from theirs.
    const refused: string[] = []
    for (const one of topics) refused.push(...(await refusedOf(parts, [one])))
    return refused
  }
}

function addRejected(records: Map<string, NewRecord[]>, rejected: readonly RejectedItem[]): void {
  if (rejected.length > 0) records.set(REJECTED, rejected.map(rejectedRecord))
}

function endingOf(error: unknown): BridgeError {
  return error instanceof BridgeError && error.code === 'log_damaged' ? error : unknownOutcome(error)
}
