/**
 * Chooses the log. Owns that choice and nothing else: what runs behind the port is known only here.
 */
import type { Archive } from '../archive/archive.ts'
import type { UpgradeProgress } from '../archive/upgrade.ts'
import { BridgeError } from '../errors.ts'
import type { Clock } from '../lifecycle/clock.ts'
import type { Log } from './log.ts'
import { openSqliteLog } from './sqlite/log.ts'

export interface OpenedLog {
  log: Log
  archive: Archive
  /** The archive is the log's own store: nothing has to be copied into it. Closing the log closes it. */
  shared: boolean
}

/**
 * Opens the log of these settings with this node's archive. No brokers: the embedded log in `dataDir`.
 * @throws BridgeError `log_locked`, `log_damaged`, `log_unavailable`; `settings` for brokers
 */
export function openLog(options: {
  kafkaBrokers: readonly string[]
  dataDir: string
  /** The kind upstream writes for its own categories, e.g. `Native`. */
  nativeKind: string
  clock: Clock
  /** Told how far the upgrade of a store that an older version wrote has come. */
  onUpgrade?: (progress: UpgradeProgress) => void
}): OpenedLog {
  if (options.kafkaBrokers.length > 0) {
    throw new BridgeError('settings', 'this version has no Kafka log yet', {
      hint: 'Leave BRIDGE_KAFKA_BROKERS unset to use the embedded log.',
    })
  }
  return { ...openSqliteLog(options), shared: true }
}
