/**
 * Writes to the log, one Kafka transaction for each operation, until the first error. Only a new claim, which fences this
 * writer, can then read what is stored.
 */
import type { Committed } from '../../core/event.ts'
import { type BridgeError, isBridgeError } from '../../errors.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import type { Commit, RowChanges, Writer } from '../../log/events.ts'
import { earlierAfterRestore } from '../../log-shared/earlier-epochs.ts'
import { newEpoch } from '../../log-shared/epoch.ts'
import { fencedError } from '../../log-shared/fenced.ts'
import { checkCommitSize, sequenceEvents } from '../../log-shared/place-rows.ts'
import { isFencing, unknownOutcome } from '../client/faults.ts'
import type { NewRecord } from '../client/records.ts'
import { REJECTED, STATE, type TopicChoice, topicName } from '../topics/topics.ts'
import { type CodeTopicParts, createCodeTopics, learntTopics } from './code-topics.ts'
import type { RejectedLimit } from './rejected-limit.ts'
import type { Transactions } from './transactions.ts'
import {
  FENCING_TOKEN_KEY,
  type KafkaWriterState,
  nameTopics,
  newChoices,
  placeEvents,
  stateRows,
} from './writer-state.ts'

/** Longest time without a record, ms: brokers drop idle producers after a day and transactional ids after seven. */
const LONGEST_SILENCE_MS = 55 * 60_000

/** What a writer is made of. */
export interface KafkaWriterParts extends CodeTopicParts {
  /** The kind upstream writes for its own categories, e.g. `Native`. */
  nativeKind: string
  clock: Clock
  transactions: Pick<Transactions, 'run' | 'end'>
  /** Topics of codes that exist from the start. */
  known: ReadonlySet<string>
  /** Topics of codes that the claim could not have. Their events go to the shared topics. */
  unavailable: ReadonlySet<string>
  /** Of all writers of this process: what one learns holds for the next. */
  rejectedLimit: RejectedLimit
  /** The fencing token of this claim; written again by an operation that changes nothing else. */
  token: string
  /** Aborts when the log is closed. */
  closed: AbortSignal
}

/** The writer of one claim. After an error every further operation throws the same. */
export class KafkaWriter implements Writer {
  readonly #parts: KafkaWriterParts
  readonly rows: ReadonlyMap<string, string>
  #state: KafkaWriterState
  /** What the state topic holds. */
  #stored: KafkaWriterState
  #error: BridgeError | null = null
  /** The last operation; the next one waits for it. */
  #last: Promise<unknown> = Promise.resolve()
  #cancelKeepAlive = (): void => undefined

  /**
   * `stored` and `rows` are those that the claim has read; `rows` belong to the writer's caller. A `state` that differs is
   * stored with the first operation.
   */
  constructor(
    parts: KafkaWriterParts,
    stored: KafkaWriterState,
    rows: ReadonlyMap<string, string>,
    state: KafkaWriterState = stored,
  ) {
    this.#parts = parts
    this.#state = state
    this.#stored = stored
    this.rows = rows
    parts.closed.addEventListener('abort', this.#onClosed, { once: true })
    this.#scheduleKeepAlive()
  }

  get epoch(): string {
    return this.#state.place.epoch
  }

  get sequence(): number {
    return this.#state.place.sequence
  }

  async commit(given: Commit): Promise<Committed[]> {
    checkCommitSize(given.events)
    const { events: copies, rejected, callers } = copyOf(given)
    const { known, unavailable, nativeKind, clock, rejectedLimit } = this.#parts
    return this.#inOrder(async () => {
      const { events, after } = sequenceEvents(copies, this.#state.place)
      const named = nameTopics(events, nativeKind)
      const added = newChoices({ known, choices: this.#state.choices }, named, clock.now())
      const choices = new Map([...this.#state.choices, ...(await withTopics(this.#parts, added))])
      const { records, counts } = placeEvents(named, this.#state.counts, { known, choices, unavailable })
      const setAside = rejected.map((item) => rejectedLimit.record(item))
      if (setAside.length > 0) records.set(REJECTED, setAside)
      try {
        await this.#store({ ...this.#state, place: after, counts, choices }, records, callers)
      } catch (error) {
        rejectedLimit.learn(error, setAside)
        throw error
      }
      return events
    })
  }

  /**
   * Begins a new epoch and writes rows of the caller with it. Sequences and the counts of topics continue; the events before
   * keep the epoch that they were written with, and belong to the new one.
   */
  async beginEpoch(callers: RowChanges): Promise<string> {
    return this.#inOrder(async () => {
      const { place, earlier } = this.#state
      const epoch = newEpoch()
      const ended = { epoch: place.epoch, earlier }
      const after = {
        ...this.#state,
        place: { ...place, epoch },
        earlier: earlierAfterRestore(place.sequence, ended, null),
      }
      await this.#store(after, new Map(), callers)
      return epoch
    })
  }

  async release(): Promise<void> {
    await this.#last
    this.#end(fencedError())
  }

  /** Runs the operation after all earlier ones; its error ends the writer. */
  #inOrder<T>(operation: () => Promise<T>): Promise<T> {
    const result = this.#last.then(async () => {
      if (this.#parts.closed.aborted) this.#end(fencedError())
      if (this.#error !== null) throw this.#error
      try {
        return await operation()
      } catch (error) {
        throw this.#end(writerError(error))
      }
    })
    this.#last = result.catch(() => undefined)
    return result
  }

  async #store(
    after: KafkaWriterState,
    records: Map<string, NewRecord[]>,
    callers?: RowChanges,
  ): Promise<void> {
    const changed = stateRows(this.#stored, after, callers)
    if (changed.size === 0) changed.set(FENCING_TOKEN_KEY, this.#parts.token)
    const rows = [...changed].map(([key, value]) => ({ partition: 0, key, value }))
    const all = [...records, [STATE, rows] as const]
    await this.#parts.transactions.run(
      new Map(all.map(([topic, list]) => [topicName(this.#parts.prefix, topic), list])),
    )
    this.#state = after
    this.#stored = after
    this.#scheduleKeepAlive()
  }

  #scheduleKeepAlive(): void {
    this.#cancelKeepAlive()
    // An error ends the writer; the next operation throws it.
    const keepAlive = (): void =>
      void this.#inOrder(() => this.#store(this.#state, new Map())).catch(() => null)
    this.#cancelKeepAlive = this.#parts.clock.after(LONGEST_SILENCE_MS, keepAlive)
  }

  readonly #onClosed = (): void => void this.#end(fencedError())

  #end(error: BridgeError): BridgeError {
    this.#error ??= error
    this.#cancelKeepAlive()
    this.#parts.closed.removeEventListener('abort', this.#onClosed)
    this.#parts.transactions.end()
    return this.#error
  }
}

/** A copy of the commit, because its caller may change it while earlier operations run. */
function copyOf({ events, rejected = [], rows }: Commit) {
  return {
    events: events.map((event) => ({ ...event })),
    rejected: rejected.map((item) => ({ ...item })),
    callers: new Map(rows),
  }
}

/** The choices with their topics created; the code of a refused topic uses the shared one, so no event waits for it. */
async function withTopics(
  parts: CodeTopicParts,
  choices: Map<string, TopicChoice>,
): Promise<Map<string, TopicChoice>> {
  const refused = new Set(await createCodeTopics(parts, learntTopics(choices)))
  return new Map(
    [...choices].map(([topic, choice]) => [topic, refused.has(topic) ? { ...choice, own: false } : choice]),
  )
}

function writerError(error: unknown): BridgeError {
  if (isFencing(error)) return fencedError()
  return isBridgeError(error, 'log_damaged') ? error : unknownOutcome(error)
}
