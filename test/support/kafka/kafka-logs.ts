/**
 * Logs of the product on the run's broker, each with topics of its own. Owns their cheap settings. Refuses to start
 * brokers.
 */
import { systemClock } from '../../../src/lifecycle/clock.ts'
import type { KafkaLogOptions } from '../../../src/log/kafka/log.ts'
import { keepingLogger } from '../keeping-logger.ts'
import { uniqueName } from './clients.ts'

/** Settings of a log on those brokers: few topics, so that opening is quick. */
export function kafkaLogOptions(brokers: readonly string[], prefix = uniqueName('log')): KafkaLogOptions {
  return {
    connection: { brokers, clientId: prefix, tls: null, sasl: null },
    topics: { prefix, replication: null, retentionMs: null, allRetentionMs: null },
    knownCodes: { fca: [], native: [] },
    nativeKind: 'Native',
    clock: systemClock,
    logger: keepingLogger().logger,
  }
}
