/**
 * Logs of the product on a test's brokers. Owns their cheap settings and their closing. Refuses to start brokers.
 */
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { type KafkaLog, type KafkaLogOptions, openKafkaLog } from '../../../src/log/kafka/log.ts'
import { keepingLogger } from '../keeping-logger.ts'
import { uniqueName } from './clients.ts'

/** Settings of a log on those brokers: few topics, so that opening is quick. Logs of one prefix share their topics. */
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

/** The logs that one test has opened. */
export interface LogKeeper {
  open(options: KafkaLogOptions): KafkaLog
  closeAll(): Promise<void>
}

/** A keeper of no logs yet; a test file closes all of them after each test. */
export function createLogKeeper(): LogKeeper {
  const opened: KafkaLog[] = []
  return {
    open(options) {
      const log = openKafkaLog(options)
      opened.push(log)
      return log
    },
    async closeAll() {
      await Promise.all(opened.splice(0).map((log) => log.close()))
    },
  }
}
