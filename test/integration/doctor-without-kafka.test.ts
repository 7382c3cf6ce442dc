/** Runs the doctor's Kafka check against an address where no broker listens; it waits for all retries of kafkajs. */
import { expect, test } from 'vitest'
import { checkKafka } from '../../src/cli/doctor/kafka.ts'
import { systemClock } from '../../src/lifecycle/clock.ts'
import type { KafkaSettings } from '../../src/settings/kafka.ts'

const kafka: KafkaSettings = {
  brokers: ['127.0.0.1:1'],
  tls: null,
  sasl: null,
  files: {},
  topics: { prefix: 'p', replication: null, retentionMs: 86_400_000, allRetentionMs: null },
}

test('the doctor’s Kafka check fails if no broker responds, and says what to check', async () => {
  expect(await checkKafka({ kafka, polls: true }, systemClock, new AbortController().signal)).toMatchObject([
    { level: 'fail', area: 'kafka', todo: expect.stringContaining('BRIDGE_KAFKA_BROKERS') },
  ])
})
