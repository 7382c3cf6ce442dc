/** Runs the conformance suite of shards on a real broker. */
import { describe } from 'vitest'
import { openKafkaLog } from '../../../src/log-kafka/log.ts'
import { describeShards } from '../../log/shards.ts'
import { sharedBrokers } from '../../support/kafka/for-tests.ts'
import { kafkaLogOptions } from '../../support/kafka/kafka-logs.ts'

const brokers = await sharedBrokers()

describe.skipIf(brokers === null)('on the shared broker', () => {
  describeShards('Kafka', () => openKafkaLog(kafkaLogOptions(brokers ?? [])))
})
