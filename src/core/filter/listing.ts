/**
 * Follows a listing through its changes. A renamed listing keeps its ISIN, and a listing with a new ISIN keeps its symbol,
 * so its items form a chain of tags.
 */
import { type Company, companyKey, type InstrumentField, spelling } from './facts.ts'

/**
 * A tag of a listing as JSON text: `["isin", isin]` or `["symbol", symbol, companyKey]`. A symbol counts together with its
 * company, because another company may get the same symbol later.
 */
export type ListingTag = string

/** The tag of an ISIN. */
export function isinTag(isin: string): ListingTag {
  return JSON.stringify(['isin', isin])
}

/** The tag of a symbol of the company with that `companyKey`. */
export function symbolTag(symbol: string, company: string): ListingTag {
  return JSON.stringify(['symbol', symbol, company])
}

/** The identifier in a tag. */
export function identifierIn(tag: ListingTag): { field: InstrumentField; identifier: string } {
  const [field, identifier] = JSON.parse(tag) as [InstrumentField, string]
  return { field, identifier }
}

/** The tags that an item of this issuer has: at most one of each field. */
export function tagsOf(issuer: Company): ListingTag[] {
  const isin = spelling(issuer, 'isin')
  const symbol = spelling(issuer, 'symbol')
  const company = companyKey(issuer)
  return [
    ...(isin === undefined ? [] : [isinTag(isin)]),
    ...(symbol === undefined || company === null ? [] : [symbolTag(symbol, company)]),
  ]
}

/** These tags, and every tag that items connect with them, directly or through further tags. */
export function connectedTags(
  tags: Iterable<ListingTag>,
  linked: (tag: ListingTag) => Iterable<ListingTag>,
): Set<ListingTag> {
  const connected = new Set(tags)
  // Iterating over a Set also visits the members added meanwhile.
  for (const tag of connected) for (const other of linked(tag)) connected.add(other)
  return connected
}
