/** Appends records to one topic outside transactions, with one send in flight that batches what was written meanwhile. */
import type { Producer } from 'kafkajs'
import type { Clock } from '../../lifecycle/clock.ts'
import { splitIntoSends } from './batch-splitting.ts'
import type { KafkaSession, OpenSession } from './client.ts'
import { unavailable } from './faults.ts'
import type { NewRecord } from './records.ts'
import { withTimeout } from './with-timeout.ts'

/** A send without a response by then is reported as failed, though it may still become durable, ms. */
const DEADLINE_MS = 10_000

interface Pending {
  record: NewRecord
  resolve(offset: number): void
  reject(error: unknown): void
}

/** What a writer needs; `closed` ends its connection. */
export interface PlainWriterParts {
  openSession: OpenSession
  clock: Clock
  closed: AbortSignal
}

/** A writer that connects with its first record. */
export class PlainWriter {
  readonly #parts: PlainWriterParts
  readonly #topic: string
  readonly #pending: Pending[] = []
  #connected: { session: KafkaSession; producer: Producer } | null = null
  #isSending = false

  constructor(parts: PlainWriterParts, topic: string) {
    this.#parts = parts
    this.#topic = topic
    parts.closed.addEventListener('abort', () => this.#disconnect(), { once: true })
  }

  /**
   * Resolves with the record's offset when it is durable.
   * @throws BridgeError `log_unavailable`
   */
  write(record: NewRecord): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ record, resolve, reject })
      if (!this.#isSending) void this.#sendPending()
    })
  }

  async #sendPending(): Promise<void> {
    this.#isSending = true
    while (this.#pending.length > 0) {
      const all = this.#pending.splice(0)
      const records = all.map(({ record }) => record)
      for (const [send] of splitIntoSends(new Map([[this.#topic, records]]))) {
        await this.#sendBatch(all.splice(0, send?.messages.length))
      }
    }
    this.#isSending = false
  }

  async #sendBatch(batch: readonly Pending[]): Promise<void> {
    const { clock, closed } = this.#parts
    try {
      const sent = this.#send(batch.map(({ record }) => record))
      const base = await withTimeout(clock, DEADLINE_MS, closed, sent)
      for (const [index, { resolve }] of batch.entries()) resolve(base + index)
    } catch (error) {
      this.#disconnect()
      for (const { reject } of batch) reject(unavailable(`writing to ${this.#topic}`, error))
    }
  }

  /** The offset of the first of the records. */
  async #send(messages: NewRecord[]): Promise<number> {
    this.#connected ??= connect(this.#parts.openSession())
    const { producer } = this.#connected
    await producer.connect()
    const [response] = await producer.send({ topic: this.#topic, messages, acks: -1, timeout: DEADLINE_MS })
    return Number(response?.baseOffset)
  }

  #disconnect(): void {
    this.#connected?.session.end()
    this.#connected = null
  }
}

function connect(session: KafkaSession): { session: KafkaSession; producer: Producer } {
  const producer = session.kafka.producer({
    idempotent: false,
    maxInFlightRequests: 1,
    allowAutoTopicCreation: false,
    createPartitioner: () => () => 0,
  })
  return { session, producer }
}
