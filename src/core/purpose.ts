/**
 * Lists the purposes for which this bridge spends units of the weekly upstream quota. A request with the API key costs one
 * unit.
 */

/** Why a unit of the upstream quota was spent; the label set of `bridge_poll_requests_total{purpose}`. */
export const purposes = ['poll', 'fill', 'sweep', 'backfill', 'probe', 'gateway'] as const
/** One of them. */
export type Purpose = (typeof purposes)[number]
