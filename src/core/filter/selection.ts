/**
 * Tests items against the query parameters of the upstream list API (upstream specification §4.1.4). The sandbox (a
 * simulated upstream) and this bridge's own `/v2` API, which answers as upstream does, use it.
 */
import { type Company, companyKey, type Facts, type InstrumentField, spelling } from './facts.ts'
import type { MatchMode } from './filter.ts'
import { connectedTags, isinTag, type ListingTag, symbolTag, tagsOf } from './listing.ts'

/** Distribution channels of specification §4.1.1. */
export const channels = ['app', 'bot', 'internal', 'social', 'widget'] as const
export type DistributionChannel = (typeof channels)[number]

/**
 * The requested items: AND across members, OR inside a list; null = any.
 * Lists are never empty. Codes and identifiers are compared case-sensitively.
 */
export interface Selection {
  /** First moment, ms since 1970, included. */
  fromMs: number | null
  /** Last moment, ms since 1970, included. */
  toMs: number | null
  isins: readonly string[] | null
  symbols: readonly string[] | null
  /**
   * Applies to `isins` and `symbols`. `issuer` widens each to every item of that issuer: same LEI, else same name. `exact`
   * widens it to the other tags that the same listing has had.
   */
  match: MatchMode
  fcaCategories: readonly string[] | null
  nativeCategories: readonly string[] | null
  /** Substring of the headline, compared without case. */
  q: string | null
  /** Only items whose issuer has a listing symbol. */
  hasSymbol: boolean
  channel: DistributionChannel | null
}

/** Selects every item. */
export const EVERYTHING: Selection = Object.freeze({
  fromMs: null,
  toMs: null,
  isins: null,
  symbols: null,
  match: 'issuer',
  fcaCategories: null,
  nativeCategories: null,
  q: null,
  hasSymbol: false,
  channel: null,
})

/** What a store has learnt about issuers and their instruments from the items it holds. */
export interface KnownInstruments {
  /** The `companyKey` of every issuer that has published under exactly this identifier. */
  publishersUnder(field: InstrumentField, identifier: string): Iterable<string>
  /** The tags that have come in one item with this one. */
  linkedTags(tag: ListingTag): Iterable<ListingTag>
}

/** What identifiers mean under a match mode, besides themselves. */
export interface Meaning {
  /** `companyKey` of issuers all of whose items are meant; empty for `exact`. */
  companies: ReadonlySet<string>
  /** Tags of the listings that are meant; for `exact` only. */
  tags: ReadonlySet<ListingTag>
}

/** True where `timeMs` is within the requested range. */
export function isInRange({ fromMs, toMs }: Selection, timeMs: number): boolean {
  return (fromMs === null || timeMs >= fromMs) && (toMs === null || timeMs <= toMs)
}

/** Returns a test of all criteria except range and channel; null where there are no others. */
export function selects(selection: Selection, known: KnownInstruments): ((facts: Facts) => boolean) | null {
  const { isins, symbols, fcaCategories, nativeCategories, q, hasSymbol } = selection
  const tests = [
    isins && instrumentTest(isins, 'isin', selection.match, known),
    symbols && instrumentTest(symbols, 'symbol', selection.match, known),
    fcaCategories && (({ fca }: Facts) => fca.some((code) => fcaCategories.includes(code))),
    nativeCategories && (({ native }: Facts) => native.some((code) => nativeCategories.includes(code))),
    q === null ? null : headlineTest(q),
    hasSymbol ? ({ issuer }: Facts) => issuer.symbol !== undefined : null,
  ].filter((test) => test !== null)
  return tests.length === 0 ? null : (facts) => tests.every((test) => test(facts))
}

/** What the identifiers mean in a store with this knowledge. */
export function meantBy(
  identifiers: readonly string[],
  field: InstrumentField,
  match: MatchMode,
  { publishersUnder, linkedTags }: KnownInstruments,
): Meaning {
  const published = identifiers.map((identifier) => ({
    identifier,
    companies: [...publishersUnder(field, identifier)],
  }))
  if (match !== 'exact') {
    return { companies: new Set(published.flatMap(({ companies }) => companies)), tags: new Set() }
  }
  const tags = published.flatMap(({ identifier, companies }) =>
    companies.map((company) => (field === 'isin' ? isinTag(identifier) : symbolTag(identifier, company))),
  )
  return { companies: new Set(), tags: connectedTags(tags, linkedTags) }
}

function instrumentTest(
  identifiers: readonly string[],
  field: InstrumentField,
  match: MatchMode,
  known: KnownInstruments,
): (facts: Facts) => boolean {
  const named = new Set(identifiers)
  const { companies, tags } = meantBy(identifiers, field, match, known)
  if (match === 'exact') return ({ issuer }) => tagsOf(issuer).some((tag) => tags.has(tag))
  const isMeant = (company: Company): boolean => {
    const identifier = spelling(company, field)
    if (identifier !== undefined && named.has(identifier)) return true
    const key = companies.size === 0 ? null : companyKey(company)
    return key !== null && companies.has(key)
  }
  if (match !== 'related') return ({ issuer }) => isMeant(issuer)
  return ({ issuer, related }) => isMeant(issuer) || related.some(isMeant)
}

function headlineTest(q: string): (facts: Facts) => boolean {
  const part = q.toLowerCase()
  return ({ headline }) => headline.includes(part)
}
