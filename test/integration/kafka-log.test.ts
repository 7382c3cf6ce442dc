/**
 * The contract of the log port on a real broker, and behind a proxy what only shows on a way that breaks. What goes
 * beyond it: `kafka-writer.test.ts`, `kafka-reading.test.ts`, `kafka-log-faults.test.ts`.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe } from 'vitest'
import { openKafkaLog } from '../../src/log/kafka/log.ts'
import { describeLog } from '../log/conformance.ts'
import { describeTakeovers, type LogWay } from '../log/takeovers.ts'
import { type KafkaCluster, startCluster } from '../support/kafka/cluster.ts'
import { kafkaRuntime, sharedBrokers } from '../support/kafka/for-tests.ts'
import { apiKeys } from '../support/kafka/frames.ts'
import { kafkaLogOptions } from '../support/kafka/kafka-logs.ts'
import { type KafkaProxy, PROXIED, startProxies } from '../support/kafka/proxy.ts'

const brokers = await sharedBrokers()
const runtime = await kafkaRuntime()

describe.skipIf(brokers === null)('on the shared broker', () => {
  describeLog('Kafka', (seam) => openKafkaLog({ ...kafkaLogOptions(brokers ?? []), seam }))
})

describe.skipIf(runtime === null)('behind a proxy', () => {
  let cluster: KafkaCluster
  let proxy: KafkaProxy

  beforeAll(async () => {
    if (runtime !== null) cluster = await startCluster({ runtime, listeners: [PROXIED] })
  })
  afterAll(() => cluster?.stop())
  beforeEach(async () => {
    const [first] = await startProxies(cluster)
    if (first !== undefined) proxy = first
  })
  afterEach(() => proxy.close())

  const way = (): LogWay => ({
    holdReads: () => proxy.hold(apiKeys.fetch),
    holdEnds: () => proxy.hold(apiKeys.endTxn),
    cut: () => proxy.cut(),
    get connections() {
      return proxy.connections
    },
  })
  const open = (seam: object) => openKafkaLog({ ...kafkaLogOptions(cluster.addresses(PROXIED.name)), seam })
  describeTakeovers('Kafka', open, way)
})
