/** The contract of the log port on a real broker. What goes beyond it: `kafka-writer.test.ts`, `kafka-reading.test.ts`. */
import { describe } from 'vitest'
import { openKafkaLog } from '../../src/log/kafka/log.ts'
import { describeLog } from '../log/conformance.ts'
import { sharedBrokers } from '../support/kafka/for-tests.ts'
import { kafkaLogOptions } from '../support/kafka/kafka-logs.ts'

const brokers = await sharedBrokers()

describe.skipIf(brokers === null)('on the shared broker', () => {
  describeLog('Kafka', (seam) => openKafkaLog({ ...kafkaLogOptions(brokers ?? []), seam }))
})
