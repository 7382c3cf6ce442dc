import { expect, it } from 'vitest'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import type { KafkaSession } from '../../../src/log-kafka/client/client.ts'
import { readPartition } from '../../../src/log-kafka/reading/partition-reader.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'

it('after an empty response the next fetch lets the broker wait a second, although more records exist', async () => {
  const ended = new AbortController()
  const waits: number[] = []
  const partitions: Partial<KafkaSession['partitions']> = {
    async fetch(_topic, offset, { maxWaitMs }) {
      waits.push(maxWaitMs)
      if (waits.length === 3) ended.abort()
      return { errorCode: 0, records: [], nextOffset: offset, lastStableOffset: 5 }
    },
  }
  const openSession = () => ({ partitions, end: () => undefined }) as unknown as KafkaSession
  const parts = { openSession, clock: systemClock, logger: keepingLogger().logger }
  for await (const batch of readPartition(parts, 'topic', 0, ended.signal)) expect(batch).toBe(null)
  expect(waits).toEqual([0, 1000, 1000])
})
