/**
 * Writes records of one topic outside transactions: rows of tables, the status. Owns putting what comes at the same time
 * into one send, one on its way at a time. Refuses to keep records.
 */
import type { Producer } from 'kafkajs'
import type { Clock } from '../../lifecycle/clock.ts'
import { roundsOf } from './batch-splitting.ts'
import type { KafkaSession, OpenSession } from './client.ts'
import { unavailable } from './faults.ts'
import type { NewRecord } from './records.ts'
import { within } from './with-timeout.ts'

/** A send that is not answered then may still become durable; its writer hears that it failed. */
const DEADLINE_MS = 10_000

export interface PlainWriter {
  /**
   * Resolves with the record's offset when it is durable.
   * @throws BridgeError `log_unavailable`
   */
  write(record: NewRecord): Promise<number>
}

interface Waiting {
  record: NewRecord
  resolve(offset: number): void
  reject(error: unknown): void
}

/** A writer that connects with its first record and ends when `closed` aborts. */
export function createPlainWriter(
  parts: { openSession: OpenSession; clock: Clock; closed: AbortSignal },
  topic: string,
): PlainWriter {
  const waiting: Waiting[] = []
  let connected: { session: KafkaSession; producer: Producer } | null = null
  let sending = false

  const end = (): void => {
    connected?.session.end()
    connected = null
  }
  parts.closed.addEventListener('abort', end, { once: true })

  const send = async (records: NewRecord[]): Promise<number> => {
    connected ??= connect(parts.openSession())
    const { producer } = connected
    await producer.connect()
    const [answer] = await producer.send({ topic, messages: records, acks: -1, timeout: DEADLINE_MS })
    return Number(answer?.baseOffset)
  }
  const sendAll = async (batch: Waiting[]): Promise<void> => {
    try {
      const records = batch.map(({ record }) => record)
      const base = await within(parts.clock, DEADLINE_MS, parts.closed, send(records))
      for (const [index, { resolve }] of batch.entries()) resolve(base + index)
    } catch (error) {
      end()
      for (const { reject } of batch) reject(unavailable(`writing to ${topic}`, error))
    }
  }
  const pump = async (): Promise<void> => {
    sending = true
    while (waiting.length > 0) {
      const all = waiting.splice(0)
      for (const [round] of roundsOf(new Map([[topic, all.map(({ record }) => record)]]))) {
        await sendAll(all.splice(0, round?.messages.length))
      }
    }
    sending = false
  }
  return {
    write(record) {
      return new Promise((resolve, reject) => {
        waiting.push({ record, resolve, reject })
        if (!sending) void pump()
      })
    },
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
