/**
 * Runs the Kafka transactions of one producer: first fences earlier producers, then writes until the first error. After an
 * error kafkajs's producer cannot be used, and an unanswered commit may still arrive, so the caller must fence anew.
 */
import type { Producer, Transaction } from 'kafkajs'
import type { Clock } from '../../lifecycle/clock.ts'
import type { FaultHooks } from '../../log/fault-hooks.ts'
import { splitIntoSends, type TopicRecords } from '../client/batch-splitting.ts'
import type { KafkaSession, OpenSession } from '../client/client.ts'
import type { NewRecord } from '../client/records.ts'
import { withTimeout } from '../client/with-timeout.ts'
import { StableOffsetWatch } from '../reading/stable-offset.ts'

/** After this the broker aborts a transaction by itself, ms; until then readers of its topics wait. */
const TRANSACTION_TIMEOUT_MS = 10_000
/** Below it, so that no commit is sent for a transaction that the broker may have aborted. */
const DEADLINE_MS = 8_000
const FENCE_DEADLINE_MS = 10_000

/** What transactions need. */
export interface TransactionParts {
  openSession: OpenSession
  transactionalId: string
  clock: Clock
  faultHooks: FaultHooks
}

/** The producer of a transactional id. It fences nobody before `fence`. */
export class Transactions {
  readonly #parts: TransactionParts
  readonly #session: KafkaSession
  readonly #producer: Producer
  readonly #watch: StableOffsetWatch
  readonly #ended = new AbortController()

  constructor(parts: TransactionParts) {
    const { openSession, transactionalId, clock } = parts
    this.#parts = parts
    this.#session = openSession()
    // `idempotent: true` would only add a second, useless producer id.
    this.#producer = this.#session.kafka.producer({
      transactionalId,
      transactionTimeout: TRANSACTION_TIMEOUT_MS,
      idempotent: false,
      maxInFlightRequests: 1,
      allowAutoTopicCreation: false,
      // Any failure ends the transaction: kafkajs would retry while requests are still in flight (`kafkajs-patches.ts`).
      retry: { retries: 0 },
      createPartitioner: () => () => 0,
    })
    this.#watch = new StableOffsetWatch(openSession, clock)
  }

  /** Makes every earlier producer of the transactional id unable to commit, and aborts its open transaction. */
  async fence(signal: AbortSignal): Promise<void> {
    const fence = async (): Promise<void> => {
      await this.#producer.connect()
      const empty = await this.#producer.transaction()
      await empty.abort()
    }
    const stopped = AbortSignal.any([signal, this.#ended.signal])
    await withTimeout(this.#parts.clock, FENCE_DEADLINE_MS, stopped, fence())
  }

  /** Writes the records of each topic (by name in the cluster), all or nothing. One call at a time. */
  run(records: ReadonlyMap<string, readonly NewRecord[]>): Promise<void> {
    return withTimeout(this.#parts.clock, DEADLINE_MS, this.#ended.signal, this.#write(records))
  }

  /** Ends the producer as a crash would: requests in flight may arrive or not. Callable twice. */
  end(): void {
    this.#ended.abort(new Error('the producer was discarded'))
    this.#session.end()
    this.#watch.end()
  }

  async #write(records: ReadonlyMap<string, readonly NewRecord[]>): Promise<void> {
    const { faultHooks } = this.#parts
    const topics = [...records.keys()]
    // The end of a transaction also decides hanging records of its topics, which a claim must resolve first.
    await this.#watch.waitForStable(topics)
    const sends = splitIntoSends(records)
    this.#ended.signal.throwIfAborted()
    const transaction = await this.#producer.transaction()
    for (const topicRecords of sends) {
      await send(transaction, topicRecords)
      await faultHooks.afterSend?.(topics)
    }
    faultHooks.beforeCommit?.(topics)
    this.#ended.signal.throwIfAborted()
    await transaction.commit()
    faultHooks.afterCommit?.(topics)
  }
}

/** Requires an acknowledgement for each topic: kafkajs returns only the responses that it has received. */
async function send(transaction: Transaction, topicRecords: TopicRecords[]): Promise<void> {
  const responses = await transaction.sendBatch({
    topicMessages: topicRecords,
    acks: -1,
    timeout: DEADLINE_MS,
  })
  for (const { topic } of topicRecords) {
    const response = responses.find(({ topicName }) => topicName === topic)
    if (response?.errorCode !== 0) throw new Error(`no acknowledgement that ${topic} has taken its records`)
  }
}
