/**
 * Writes the same records to the same kinds of topics in one plain kafkajs transaction: the baseline of the Kafka
 * writer. It leaves out building the records, the continuing sequence, the state, fencing and the check of responses.
 */
import { Kafka, logLevel } from 'kafkajs'
import type { NewEvent } from '../../src/core/event.ts'
import { topicName } from '../../src/log-kafka/topics/topics.ts'
import { nameTopics, placeEvents } from '../../src/log-kafka/writer/writer-state.ts'

/** A connected producer. Disposing of it disconnects it. */
export interface BareProducer extends AsyncDisposable {
  /**
   * Makes the records of the events, for the topics of the prefix that their native codes name; what it gives writes them
   * in one transaction.
   */
  prepare(events: readonly NewEvent[]): () => Promise<void>
}

/** Connects; the topics of the prefix and of those codes must exist. */
export async function connectBareProducer(
  brokers: readonly string[],
  prefix: string,
  nativeCodes: readonly string[],
): Promise<BareProducer> {
  // The writer's own figures, without which kafkajs waits 300 ms for the markers of the transaction before.
  const retry = { initialRetryTime: 10, maxRetryTime: 300, retries: 15 }
  const kafka = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING, retry })
  const producer = kafka.producer({
    transactionalId: prefix,
    maxInFlightRequests: 1,
    allowAutoTopicCreation: false,
    createPartitioner: () => () => 0,
  })
  await producer.connect()
  const known = new Set(nativeCodes.map((code) => `native.${code}`))
  const book = { known, choices: new Map(), unavailable: new Set<string>() }
  return {
    prepare(events) {
      const placed = events.map((event, n) => ({ ...event, sequence: n + 1, epoch: 'Baseline' }))
      const { records } = placeEvents(nameTopics(placed, 'Native'), new Map(), book)
      const topicMessages = [...records].map(([topic, messages]) => ({
        topic: topicName(prefix, topic),
        messages,
      }))
      return async () => {
        const transaction = await producer.transaction()
        await transaction.sendBatch({ topicMessages, acks: -1 })
        await transaction.commit()
      }
    },
    [Symbol.asyncDispose]: () => producer.disconnect(),
  }
}
