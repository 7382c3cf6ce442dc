/**
 * The transactions of one producer, from its fencing of every earlier one to its first fault. Owns what makes a
 * transaction whole: order, sizes, answers, deadline. Refuses to be used again after an error: kafkajs's producer is
 * dead then, and an unanswered commit may still arrive, so whoever goes on fences anew.
 */
import type { Transaction } from 'kafkajs'
import type { Clock } from '../../lifecycle/clock.ts'
import type { Seam } from '../../log/fault-hook.ts'
import { splitIntoSends, type TopicRecords } from '../client/batch-splitting.ts'
import type { OpenSession } from '../client/client.ts'
import type { NewRecord } from '../client/records.ts'
import { withTimeout } from '../client/with-timeout.ts'
import { StableOffsetWatch } from '../reading/stable-offset.ts'

/** After this the broker aborts a transaction by itself, ms; until then readers of its topics wait. */
const TRANSACTION_TIMEOUT_MS = 10_000
/** Below it, so that no commit is sent for a transaction that the broker may have aborted. */
const DEADLINE_MS = 8_000
const FENCE_DEADLINE_MS = 10_000

export interface Transactions {
  /** Makes every earlier producer of the transactional id unable to commit, and aborts what it left open. */
  fence(signal: AbortSignal): Promise<void>
  /** Writes the records of each topic (by name in the cluster), all or nothing. One at a time. */
  run(records: ReadonlyMap<string, readonly NewRecord[]>): Promise<void>
  /** Ends the producer as a crash would: what is on its way may arrive or not. Callable twice. */
  end(): void
}

/** A producer of that transactional id. It fences nobody before `fence`. */
export function openTransactions(parts: {
  openSession: OpenSession
  transactionalId: string
  clock: Clock
  seam: Seam
}): Transactions {
  const { transactionalId, clock, seam } = parts
  const session = parts.openSession()
  const ended = new AbortController()
  // `idempotent: true` would only add a second, useless producer id.
  const producer = session.kafka.producer({
    transactionalId,
    transactionTimeout: TRANSACTION_TIMEOUT_MS,
    idempotent: false,
    maxInFlightRequests: 1,
    allowAutoTopicCreation: false,
    // Whatever fails ends the transaction: kafkajs would begin again while something is still on its way (`kafkajs-patches.ts`).
    retry: { retries: 0 },
    createPartitioner: () => () => 0,
  })
  const watch = new StableOffsetWatch(parts.openSession, clock)
  /**
   * A broker that died in a commit may have left records of it undecided (`hanging-transactions.ts`), and the end of the next
   * transaction on their topic decides for them, be it an abort. So none begins there: a claim decides first.
   */
  const write = async (records: ReadonlyMap<string, readonly NewRecord[]>): Promise<void> => {
    const topics = [...records.keys()]
    await watch.waitForStable(topics)
    const rounds: TopicRecords[][] = splitIntoSends(records)
    ended.signal.throwIfAborted()
    const transaction = await producer.transaction()
    for (const round of rounds) {
      await send(transaction, round)
      await seam.afterSend?.(topics)
    }
    seam.beforeCommit?.(topics)
    ended.signal.throwIfAborted()
    await transaction.commit()
    seam.afterCommit?.(topics)
  }
  const end = (): void => {
    ended.abort(new Error('the producer was discarded'))
    session.end()
    watch.end()
  }
  return {
    async fence(signal) {
      const work = async (): Promise<void> => {
        await producer.connect()
        const empty = await producer.transaction()
        await empty.abort()
      }
      await withTimeout(clock, FENCE_DEADLINE_MS, AbortSignal.any([signal, ended.signal]), work())
    },
    run: (records) => withTimeout(clock, DEADLINE_MS, ended.signal, write(records)),
    end,
  }
}

/** kafkajs gives the answers of the brokers that it has asked: each topic's own is looked for. */
async function send(transaction: Transaction, round: TopicRecords[]): Promise<void> {
  const answers = await transaction.sendBatch({ topicMessages: round, acks: -1, timeout: DEADLINE_MS })
  for (const { topic } of round) {
    const answer = answers.find(({ topicName }) => topicName === topic)
    if (answer?.errorCode !== 0) throw new Error(`nothing says that ${topic} has taken its records`)
  }
}
