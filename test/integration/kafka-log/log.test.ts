/** Runs the conformance suite of the log port on a real broker, and parts of it behind a faulty proxy. */
import { describe } from 'vitest'
import { openKafkaLog } from '../../../src/log-kafka/log.ts'
import { describeLog } from '../../log/conformance.ts'
import { describeTakeovers, type LogWay } from '../../log/takeovers.ts'
import { kafkaRuntime, sharedBrokers } from '../../support/kafka/for-tests.ts'
import { kafkaLogOptions } from '../../support/kafka/kafka-logs.ts'
import { apiKeys } from '../../support/kafka/proxy/frames.ts'
import { useProxiedCluster } from '../../support/kafka/proxy/proxied-cluster.ts'

const brokers = await sharedBrokers()
const runtime = await kafkaRuntime()

describe.skipIf(brokers === null)('on the shared broker', () => {
  describeLog('Kafka', (faultHooks) => openKafkaLog({ ...kafkaLogOptions(brokers ?? []), faultHooks }))
})

describe.skipIf(runtime === null)('behind a proxy', () => {
  const kafka = useProxiedCluster(runtime)

  const way = (): LogWay => ({
    holdReads: () => kafka.proxy.hold(apiKeys.fetch),
    holdEnds: () => kafka.proxy.hold(apiKeys.endTxn),
    cut: () => kafka.proxy.cut(),
    get connections() {
      return kafka.proxy.connections
    },
  })
  const open = (faultHooks: object) => openKafkaLog({ ...kafkaLogOptions(kafka.behindProxy), faultHooks })
  describeTakeovers('Kafka', open, way)
})
