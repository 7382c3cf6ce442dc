/**
 * Opens the event log that the settings choose, embedded SQLite or Kafka, with this node's archive. The archive is the
 * ordered copy of the log on disk; for SQLite it is the log itself.
 */
import { hostname } from 'node:os'
import { openReplica } from '../archive/replica/replica.ts'
import type { Archive, ArchiveOptions } from '../archive/store/archive.ts'
import { knownFcaCodes, knownNativeCodes } from '../core/filter/categories.ts'
import { BridgeError } from '../errors.ts'
import { aborted } from '../lifecycle/aborted.ts'
import type { Clock } from '../lifecycle/clock.ts'
import type { ReleaseStack } from '../lifecycle/release-stack.ts'
import { inSlices } from '../lifecycle/slices.ts'
import type { FaultHooks } from '../log/fault-hooks.ts'
import type { Log } from '../log/log.ts'
import { lockDirectory } from '../log-embedded/lock.ts'
import { openSqliteLogInSteps } from '../log-embedded/log.ts'
import type { Logger } from '../obs/logger.ts'
import type { Metrics } from '../obs/metrics.ts'
import type { KafkaSettings } from '../settings/kafka.ts'
import type { KafkaCredentials } from '../settings/kafka-credentials.ts'

/** An open log with this node's archive. */
export interface OpenedLog {
  log: Log
  archive: Archive
  /** The archive is the store of the log itself (embedded), not a replica. */
  shared: boolean
  /** Why the log cannot be used yet, in words; null when it can. */
  waitingFor(): string | null
  /** Since when the log has not responded, ms since 1970, once that is too long; null while it responds. */
  silentSinceMs(): number | null
  /**
   * Resolves when the signal aborts. Rejects with BridgeError `log_damaged`, which ends the process, when this node's copy
   * turns out to be damaged, so that the next start fills a new one; or a table on Kafka.
   */
  watch(signal: AbortSignal): Promise<void>
}

/** Options of `openLog`. */
export interface OpenLogOptions {
  /** null: the embedded log in `dataDir`. */
  kafka: KafkaSettings | null
  /** The credentials for the next connection to Kafka; absent: those of `kafka`. */
  credentials?: () => KafkaCredentials
  /** Of the embedded log or of the copy; made where it is missing, and this process has it alone. */
  dataDir: string
  /** The kind upstream writes for its own categories, e.g. `Native`. */
  nativeKind: string
  clock: Clock
  logger: Logger
  /** Called with the progress of upgrading a store of an older version. */
  onUpgrade?: NonNullable<ArchiveOptions['onUpgrade']>
  /** Of the log on Kafka; only tests give one. */
  faultHooks?: FaultHooks
  metrics: Metrics
}

/**
 * Opens the log of these settings with this node's archive; `stack` closes them. While Kafka is unavailable, calls of the
 * log wait. The client of Kafka is loaded only here: it takes 10 MB, which the embedded log does not need.
 * @throws BridgeError `log_locked`, `log_damaged`, `log_unavailable`
 */
export async function openLog(options: OpenLogOptions, stack: ReleaseStack): Promise<OpenedLog> {
  const { kafka } = options
  if (kafka !== null) return openOnKafka(kafka, options, stack, await import('../log-kafka/log.ts'))
  const steps = openSqliteLogInSteps({
    ...options,
    onRestored: (path) => options.logger.warn('log.restore_completed', { path }),
  })
  const { log, archive } = await inSlices(steps, () => options.clock.now())
  stack.push('the log', () => log.close())
  return {
    log,
    archive,
    shared: true,
    waitingFor: () => null,
    silentSinceMs: () => null,
    watch: aborted,
  }
}

async function openOnKafka(
  kafka: KafkaSettings,
  options: OpenLogOptions,
  stack: ReleaseStack,
  { openKafkaLog }: typeof import('../log-kafka/log.ts'),
): Promise<OpenedLog> {
  const { dataDir, nativeKind, clock, logger, metrics, onUpgrade, faultHooks, credentials } = options
  stack.push('the data directory', lockDirectory(dataDir, clock))
  const damaged = Promise.withResolvers<never>()
  damaged.promise.catch(() => undefined)
  let isOpen = false
  const steps = openReplica({
    dataDir,
    nativeKind,
    onDamage(error) {
      logger.warn('replica.damaged', { error })
      if (isOpen) damaged.reject(damagedReplica(error))
    },
    ...(onUpgrade && { onUpgrade }),
  })
  const archive = await inSlices(steps, () => clock.now())
  isOpen = true
  stack.push('the replica', () => archive.close())
  const { topics, brokers, tls, sasl } = kafka
  const access = { brokers, tls, sasl, ...(credentials && { credentials }) }
  const log = openKafkaLog({
    ...{ topics, nativeKind, clock, logger },
    ...(faultHooks && { faultHooks }),
    connection: { ...access, clientId: `${topics.prefix}@${hostname()}`, metrics },
    knownCodes: { fca: knownFcaCodes, native: knownNativeCodes },
  })
  stack.push('the log', () => log.close())
  return {
    log,
    archive,
    shared: false,
    waitingFor: () => log.waitingFor,
    silentSinceMs: () => log.silentSinceMs,
    watch: (signal) => Promise.race([damaged.promise, log.watch(signal)]),
  }
}

function damagedReplica(cause: BridgeError): BridgeError {
  return new BridgeError('log_damaged', `this node's replica of the log is damaged: ${cause.message}`, {
    hint: 'Restart the process: the replica was deleted, and a new one is filled from Kafka. If it happens again, check the disk.',
    cause,
  })
}
