/**
 * Lists the purposes for which this bridge spends units of the weekly upstream quota, and how the items that come are said to
 * be found. A request with the API key costs one unit.
 */

/** Why a unit of the upstream quota was spent; the label set of `bridge_poll_requests_total{purpose}`. */
export const purposes = ['poll', 'fill', 'sweep', 'backfill', 'probe', 'gateway'] as const
/** One of them. */
export type Purpose = (typeof purposes)[number]

/**
 * How an item was found: by a poll, by a fill after a poll had left it out, by a re-scan (`sweep`, as its units are called), or
 * by the backfill of the first start.
 */
export const waysFound = ['poll', 'fill', 'sweep', 'backfill'] as const
/** One of them. */
export type FoundBy = (typeof waysFound)[number]

/** How an item was found that a request of this purpose has brought. */
export const FOUND_BY: Readonly<Record<Purpose, FoundBy>> = {
  poll: 'poll',
  probe: 'poll',
  fill: 'fill',
  sweep: 'sweep',
  backfill: 'backfill',
  gateway: 'poll',
}
