/**
 * The port between the exchange references of the upstream API as a server and whatever holds them: the sandbox's table,
 * the bridge's copy of upstream's. Owns the words of that contract. Refuses to know pages: a few hundred entries are
 * given whole.
 */

/** One exchange as it leaves: JSON texts untouched. */
export interface ReferenceExchange {
  /** Operating MIC. */
  mic: string
  /** ExchangeListItem of specification §2.9. */
  listed: string
  /** ExchangeDetail of specification §2.10; null where upstream has none, absent while it has not been read yet. */
  detail?: string | null
}

/** Holds the exchanges. */
export interface ReferenceStore {
  /** Every exchange, rising by MIC, each MIC once; null while no whole list has been read yet. */
  exchanges(): readonly ReferenceExchange[] | null
  /** The exchange with that MIC, spelt exactly so. */
  exchange(mic: string): ReferenceExchange | null
}
