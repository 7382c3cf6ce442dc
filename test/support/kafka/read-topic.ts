/** Reads the committed records of a topic as an external consumer does: with plain kafkajs. */
import type { Kafka } from 'kafkajs'
import { uniqueName } from './clients.ts'

/** A record as text. */
export interface TopicRecord {
  key: string | null
  value: string | null
  headers: Record<string, string>
  offset: number
}

/** The first `count` records of a topic; waits until they are there. */
export async function readTopic(kafka: Kafka, topic: string, count: number): Promise<TopicRecord[]> {
  const consumer = kafka.consumer({ groupId: uniqueName('reader'), maxWaitTimeInMs: 50 })
  await consumer.connect()
  try {
    await consumer.subscribe({ topic, fromBeginning: true })
    const records: TopicRecord[] = []
    await new Promise<void>((resolve, reject) => {
      consumer.on('consumer.crash', ({ payload }) => !payload.restart && reject(payload.error))
      consumer
        .run({
          eachMessage: async ({ message }) => {
            records.push({
              key: message.key?.toString() ?? null,
              value: message.value?.toString() ?? null,
              headers: Object.fromEntries(
                Object.entries(message.headers ?? {}).map(([name, value]) => [name, String(value)]),
              ),
              offset: Number(message.offset),
            })
            if (records.length >= count) resolve()
          },
        })
        .catch(reject)
    })
    return records
  } finally {
    await consumer.disconnect()
  }
}
