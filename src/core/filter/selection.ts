/**
 * Tests items against the query parameters of the upstream list API (upstream specification §4.1.4). The sandbox (a
 * simulated upstream) and this bridge's own `/v2` API, which answers as upstream does, use it.
 */
import { type Company, companyKey, type Facts, spelling } from './facts.ts'
import type { MatchMode } from './filter.ts'

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
  /** Applies to `isins` and `symbols`. `issuer` widens each to every item of that issuer: same LEI, else same name. */
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

/** Identifiers of an instrument that a selection can name. */
export type InstrumentField = 'isin' | 'symbol'

/** The `companyKey` of every issuer that has ever published under exactly this identifier. */
export type PublishersUnder = (field: InstrumentField, identifier: string) => Iterable<string>

/** True where `timeMs` is within the requested range. */
export function isInRange({ fromMs, toMs }: Selection, timeMs: number): boolean {
  return (fromMs === null || timeMs >= fromMs) && (toMs === null || timeMs <= toMs)
}

/** Returns a test of all criteria except range and channel; null where there are no others. */
export function selects(
  selection: Selection,
  publishersUnder: PublishersUnder,
): ((facts: Facts) => boolean) | null {
  const { isins, symbols, fcaCategories, nativeCategories, q, hasSymbol } = selection
  const tests = [
    isins && instrumentTest(isins, 'isin', selection.match, publishersUnder),
    symbols && instrumentTest(symbols, 'symbol', selection.match, publishersUnder),
    fcaCategories && (({ fca }: Facts) => fca.some((code) => fcaCategories.includes(code))),
    nativeCategories && (({ native }: Facts) => native.some((code) => nativeCategories.includes(code))),
    q === null ? null : headlineTest(q),
    hasSymbol ? ({ issuer }: Facts) => issuer.symbol !== undefined : null,
  ].filter((test) => test !== null)
  return tests.length === 0 ? null : (facts) => tests.every((test) => test(facts))
}

/** Keys of the issuers that `match` extends the identifiers to; none for `exact`. */
export function widened(
  identifiers: readonly string[],
  field: InstrumentField,
  match: MatchMode,
  publishersUnder: PublishersUnder,
): Set<string> {
  if (match === 'exact') return new Set()
  return new Set(identifiers.flatMap((identifier) => [...publishersUnder(field, identifier)]))
}

function instrumentTest(
  identifiers: readonly string[],
  field: InstrumentField,
  match: MatchMode,
  publishersUnder: PublishersUnder,
): (facts: Facts) => boolean {
  const named = new Set(identifiers)
  const issuers = widened(identifiers, field, match, publishersUnder)
  const isMeant = (company: Company): boolean => {
    const identifier = spelling(company, field)
    if (identifier !== undefined && named.has(identifier)) return true
    const key = issuers.size === 0 ? null : companyKey(company)
    return key !== null && issuers.has(key)
  }
  if (match !== 'related') return ({ issuer }) => isMeant(issuer)
  return ({ issuer, related }) => isMeant(issuer) || related.some(isMeant)
}

function headlineTest(q: string): (facts: Facts) => boolean {
  const part = q.toLowerCase()
  return ({ headline }) => headline.includes(part)
}
