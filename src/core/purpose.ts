/** Lists the purposes for which the bridge spends units of the upstream quota. */

/** Why a unit of the upstream quota was spent; the label set of `bridge_poll_requests_total{purpose}`. */
export const purposes = ['poll', 'fill', 'sweep', 'backfill', 'probe', 'gateway'] as const
/** One of them. */
export type Purpose = (typeof purposes)[number]
