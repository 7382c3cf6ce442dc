/**
 * Defines the metrics of one process, whatever its roles: readiness, event loop and disk.
 */
import type { Instruments } from './instruments.ts'

/** The checks of `/readyz`. A process has those that its roles need. */
export const readinessChecks = ['log', 'copy', 'tokens', 'endpoints', 'webhooks', 'running'] as const
export type ReadinessCheck = (typeof readinessChecks)[number]

/**
 * Files of the data directory that grow: the embedded log, the replica of the log on Kafka, the history of attempts, the copy
 * of the audit journal. Each has a write-ahead log, whose content moves into the file from time to time.
 */
export const storeFiles = [
  'bridge.db',
  'bridge.db-wal',
  'copy.db',
  'copy.db-wal',
  'attempts.db',
  'attempts.db-wal',
  'audit.db',
  'audit.db-wal',
] as const

/** What certificates are for: the public listener, the authorities that sign Kafka's, our own for Kafka. */
export const certificateNames = ['http', 'kafka_ca', 'kafka_client'] as const

/** Buckets in seconds. A delay of 50 ms is felt, one of 5 s costs the leadership. */
const DELAYS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

/** The instruments. */
export function processMetrics(make: Instruments) {
  return {
    ready: make.knownGauges(
      'ready',
      'The checks of `/readyz`: 1 passed, 0 failed, between them progress. A check that this process does not need is absent.',
      { check: readinessChecks },
    ),
    eventLoopDelay: make.histogram(
      'event_loop_delay_seconds',
      'The longest delay of the event loop within each second, one observation a second. A scrape resets nothing.',
      {},
      DELAYS,
    ),
    traceSpans: make.counter(
      'trace_spans_total',
      'Spans of traces by what became of them: sent, dropped because too many waited, or not taken by the receiver.',
      { result: ['exported', 'dropped', 'failed'] },
    ),
    eventLoopBusy: make.counter(
      'event_loop_busy_seconds_total',
      'Time in which the event loop was busy; its rate is the utilisation, at most 1.',
      {},
    ),
    dataFree: make.knownGauge(
      'data_free_bytes',
      'Bytes that are free on the volume of the data directory; absent while it cannot be read.',
    ),
    keyReloaded: make.knownGauge(
      'upstream_key_reload_timestamp_seconds',
      'When a changed `BRIDGE_UPSTREAM_KEY_FILE` was last taken into use, seconds since 1970; absent while the key is that of the start.',
    ),
    certificateExpiry: make.knownGauges(
      'tls_certificate_expiry_timestamp_seconds',
      "When the first certificate expires of the listener's chain, of the authorities of Kafka and of the certificate for Kafka, seconds since 1970; absent where none is set.",
      { certificate: certificateNames },
    ),
    backupLastSuccess: make.knownGauge(
      'backup_last_success_timestamp_seconds',
      'When the last backup of this data directory by `bridge backup` was taken, seconds since 1970; absent where there was none.',
    ),
    storeBytes: make.knownGauges(
      'store_bytes',
      'Size of each file of the data directory that is there; `-wal` is the write-ahead log of the file before it.',
      { file: storeFiles },
    ),
  }
}
