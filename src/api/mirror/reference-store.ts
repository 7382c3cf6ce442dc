/**
 * Defines the store behind the exchange references of the mirror: the sandbox's table or the bridge's replica. It has no
 * pages, because it returns a few hundred entries at once.
 */

/** One exchange as unchanged JSON texts. */
export interface ReferenceExchange {
  /** Operating MIC. */
  mic: string
  /** ExchangeListItem of specification §2.9. */
  listed: string
  /** ExchangeDetail of specification §2.10; null where upstream has none, absent while it has not been read yet. */
  detail?: string | null
}

/** Returns the exchanges that have been read so far. */
export interface ReferenceStore {
  /** All exchanges in ascending order of MIC, each MIC once; null until a complete list has been read. */
  exchanges(): readonly ReferenceExchange[] | null
  /** The exchange with exactly this MIC (case-sensitive). */
  exchange(mic: string): ReferenceExchange | null
}
