/**
 * Keeps an in-memory replica of the log's table `exchanges`, in which nodes store what they have read of upstream's reference
 * data of stock exchanges.
 */
import { followTable } from '../log/follow-table.ts'
import type { Change, Table } from '../log/tables.ts'
import type { ExchangeReference } from '../upstream/exchange.ts'

/** The log table of exchange references. */
export const EXCHANGES_TABLE = 'exchanges'
/** Key of the list; no MIC contains `#`. Every other key is a MIC (market identifier code), or `#walk` of an older build. */
export const LIST_KEY = '#list'

/** The complete list, as it was read at a time (ms since 1970). */
export interface ExchangeList {
  /** Entries of upstream's list (ExchangeListItem of specification §2.9), sorted by MIC. */
  entries: readonly ExchangeReference[]
  readMs: number
}

/** A record of the table. */
export type ExchangeRecord =
  | ({ kind: 'list' } & ExchangeList)
  /**
   * One exchange. `listed`: its entry in the list, for older builds, which store rows with it alone. `detail`: ExchangeDetail
   * of §2.10, null where upstream has none. Older builds write no `readMs`.
   */
  | { kind: 'exchange'; listed: string; detail?: string | null; readMs?: number }
  /** The mark of a complete download by an older build; not read. */
  | { kind: 'walk'; completedMs: number | null }

/** The detail of an exchange as JSON text, null where upstream has none; and when it was read, null where that is unknown. */
export interface ExchangeDetail {
  detail: string | null
  readMs: number | null
}

/** The exchanges as this node has them. */
export type ExchangeReplica = ReturnType<typeof createExchangeReplica>

/** A replica that is empty until `run`. */
export function createExchangeReplica(table: Table<ExchangeRecord>) {
  const details = new Map<string, ExchangeDetail>()
  let list: ExchangeList | null = null
  const apply = ({ key, value }: Change<ExchangeRecord>): void => {
    if (key === LIST_KEY) list = value?.kind === 'list' ? value : null
    else if (value?.kind === 'exchange' && value.detail !== undefined) {
      details.set(key, { detail: value.detail, readMs: value.readMs ?? null })
    } else details.delete(key)
  }
  return {
    /** Loads the table and applies its changes until the signal aborts. */
    run: (signal: AbortSignal): Promise<void> =>
      followTable(table, { onChange: apply, onLoaded: () => {} }, signal),
    /** The list; null until it was read. */
    list: (): ExchangeList | null => list,
    /** The detail of the exchange with exactly that MIC (case-sensitive); null until it was read. */
    detail: (mic: string): ExchangeDetail | null => details.get(mic) ?? null,
  }
}
