/**
 * This node's copy of the exchange references that the poller keeps in the log's table `exchanges`. Owns the shape of that
 * table's records and their order in memory. Refuses to read upstream and to know pages.
 */
import { followTable } from '../log/follow-table.ts'
import type { Change, Table } from '../log/log.ts'

/** The table of the log that holds them. */
export const EXCHANGES_TABLE = 'exchanges'
/** Key of the record about the walks; no MIC has such a character. Every other key is a MIC. */
export const WALK_KEY = '#walk'

/** What upstream says about one exchange, as JSON texts of its own. */
export interface ExchangeTexts {
  /** Its entry in the list. */
  listed: string
  /** Its detail; null where upstream has none, absent while it has not been read yet. */
  detail?: string | null
}

/** A record of the table. */
export type ExchangeRecord =
  | ({ kind: 'exchange' } & ExchangeTexts)
  /** Its presence says that a whole list has been read; `completedMs` = end of the last complete walk, ms since 1970. */
  | { kind: 'walk'; completedMs: number | null }

/** One exchange of the copy. */
export interface KeptExchange extends ExchangeTexts {
  /** Operating MIC. */
  mic: string
}

export interface ExchangeCopy {
  /** Loads the table and follows its changes until the signal aborts. */
  run(signal: AbortSignal): Promise<void>
  /** Every exchange, rising by MIC; null while no whole list has been read. */
  exchanges(): readonly KeptExchange[] | null
  /** The exchange with that MIC, or null. */
  exchange(mic: string): KeptExchange | null
}

/** A copy that is empty until it runs. */
export function createExchangeCopy(table: Table<ExchangeRecord>): ExchangeCopy {
  const byMic = new Map<string, KeptExchange>()
  let hasWholeList = false
  /** In order; null after a change. */
  let rising: KeptExchange[] | null = null
  const apply = ({ key, value }: Change<ExchangeRecord>): void => {
    if (key === WALK_KEY) hasWholeList = value !== null
    else if (value?.kind === 'exchange') {
      const { kind: _, ...texts } = value
      byMic.set(key, { mic: key, ...texts })
    } else byMic.delete(key)
    rising = null
  }
  const inOrder = (): KeptExchange[] =>
    [...byMic.values()].sort((left, right) => (left.mic < right.mic ? -1 : 1))

  return {
    run: (signal) => followTable(table, { onChange: apply, onLoaded: () => {} }, signal),
    exchanges() {
      if (!hasWholeList) return null
      rising ??= inOrder()
      return rising
    },
    exchange: (mic) => byMic.get(mic) ?? null,
  }
}
