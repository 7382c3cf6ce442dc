/** Opens logs on a test's brokers with cheap settings, and closes them after the test. */
import { systemClock } from '../../../src/lifecycle/clock.ts'
import type { OpenElections } from '../../../src/log-kafka/group/leader.ts'
import { type KafkaLog, type KafkaLogOptions, openKafkaLog } from '../../../src/log-kafka/log.ts'
import { keepingLogger } from '../keeping-logger.ts'
import { uniqueName } from './clients.ts'

/** Every campaign wins at once: shows fencing by the transactional id without waiting for a group. */
const leadAtOnce: OpenElections = () => {
  const closing = new AbortController()
  return {
    async campaign(signal) {
      signal.throwIfAborted()
      return { lost: closing.signal, end: async () => undefined }
    },
    stillHolds: () => true,
    close: async () => closing.abort(),
  }
}

/** Settings of a log on those brokers: few topics, so that opening is quick. Logs of one prefix share their topics. */
export function kafkaLogOptions(brokers: readonly string[], prefix = uniqueName('log')): KafkaLogOptions {
  return {
    connection: { brokers, clientId: prefix, tls: null, sasl: null },
    topics: { prefix, replication: null, retentionMs: 7 * 86_400_000, allRetentionMs: null },
    knownCodes: { fca: [], native: [] },
    nativeKind: 'Native',
    clock: systemClock,
    logger: keepingLogger().logger,
    openElections: leadAtOnce,
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
