/**
 * Names the paths of the upstream API below its base address, and the version of its interface. The upstream client, the
 * sandbox (a simulated upstream) and the bridge's own `/v2`, which answers as upstream does, use them.
 */

/** The list of announcements (specification §4.1); one item is below it. */
export const ITEMS_PATH = '/disclosures/sources/rns/items'
/** The list of exchanges (specification §4.3); one exchange is below it. */
export const EXCHANGES_PATH = '/references/exchanges'
/** The description of the interface, in the sandbox and below the bridge's `/v2`. */
export const DESCRIPTION_PATH = '/openapi.json'
/** The version that the description of the interface carries (specification §9). */
export const UPSTREAM_VERSION = '2.5.0'
