/**
 * Keeps an in-memory replica of the log's table `exchanges`, in which the poller stores upstream's reference data of stock
 * exchanges.
 */
import { followTable } from '../log/follow-table.ts'
import type { Change, Table } from '../log/tables.ts'

/** The log table of exchange references. */
export const EXCHANGES_TABLE = 'exchanges'
/** Key of the record about page scans; no MIC contains `#`. Every other key is a MIC (market identifier code). */
export const WALK_KEY = '#walk'

/** Upstream's data about one exchange, as JSON texts. */
export interface ExchangeTexts {
  /** Its entry in upstream's list (ExchangeListItem of specification §2.9). */
  listed: string
  /** Its detail (ExchangeDetail of §2.10); null where upstream has none, absent until it is fetched. */
  detail?: string | null
}

/** A record of the table. */
export type ExchangeRecord =
  | ({ kind: 'exchange' } & ExchangeTexts)
  /** Present once a complete list was read; `completedMs` = end of the last complete page scan, ms since 1970. */
  | { kind: 'walk'; completedMs: number | null }

/** One stored exchange. */
export interface StoredExchange extends ExchangeTexts {
  /** Operating MIC. */
  mic: string
}

/** The exchanges as this node has them. */
export interface ExchangeReplica {
  /** Loads the table and applies its changes until the signal aborts. */
  run(signal: AbortSignal): Promise<void>
  /** Every exchange, sorted by MIC; null until a complete list was read. */
  exchanges(): readonly StoredExchange[] | null
  /** The exchange with exactly that MIC (case-sensitive), or null. */
  exchange(mic: string): StoredExchange | null
}

/** A replica that is empty until `run`. */
export function createExchangeReplica(table: Table<ExchangeRecord>): ExchangeReplica {
  const byMic = new Map<string, StoredExchange>()
  let hasCompleteList = false
  /** Sorted by MIC; null after a change. */
  let sorted: StoredExchange[] | null = null
  const apply = ({ key, value }: Change<ExchangeRecord>): void => {
    if (key === WALK_KEY) hasCompleteList = value !== null
    else if (value?.kind === 'exchange') {
      const { kind: _, ...texts } = value
      byMic.set(key, { mic: key, ...texts })
    } else byMic.delete(key)
    sorted = null
  }
  const byMicOrder = (): StoredExchange[] =>
    [...byMic.values()].sort((left, right) => (left.mic < right.mic ? -1 : 1))

  return {
    run: (signal) => followTable(table, { onChange: apply, onLoaded: () => {} }, signal),
    exchanges() {
      if (!hasCompleteList) return null
      sorted ??= byMicOrder()
      return sorted
    },
    exchange: (mic) => byMic.get(mic) ?? null,
  }
}
