/** Extracts from an event the facts that filters and indexes match on: companies, category codes, importance and headline. */
import type { Disclosure, Party } from '../disclosure.ts'

/** Identifiers of an instrument. */
export type InstrumentField = 'isin' | 'symbol'

/** Identifiers of one company in upper case; a missing one is left out, so that stored facts stay small. */
export interface Identifiers {
  isin?: string
  symbol?: string
  lei?: string
}

/** One company of an event. What follows from the identifiers alone is left out, so that stored facts stay small. */
export interface Company extends Identifiers {
  /** In lower case; only where there is no LEI, because only then it identifies the company. */
  name?: string
  /** Identifiers that upstream did not send in upper case, as received. */
  spelt?: { isin?: string; symbol?: string }
}

/** One event as a filter sees it. */
export interface Facts {
  kind: 'published' | 'amended' | 'gap'
  issuer: Company
  related: Company[]
  fca: string[]
  native: string[]
  /** Importance of the FCA categories, as upstream sent them. */
  importance: string[]
  /** In lower case. */
  headline: string
}

/** Facts of a disclosure. `nativeKind` is the kind upstream writes for its own categories, e.g. `Native`. */
export function disclosureFacts(
  disclosure: Disclosure,
  kind: 'published' | 'amended',
  nativeKind: string,
): Facts {
  const fca = disclosure.categories.filter((category) => category.kind === 'FCA')
  const native = disclosure.categories.filter((category) => category.kind === nativeKind)
  return {
    kind,
    issuer: companyFacts(disclosure.issuer),
    related: disclosure.related.map(companyFacts),
    fca: fca.map((category) => category.code),
    native: native.map((category) => category.code),
    importance: fca.flatMap((category) => category.importance ?? []),
    headline: disclosure.headline.toLowerCase(),
  }
}

/** Facts of a gap event: nothing but its kind. */
export const GAP_FACTS: Facts = Object.freeze({
  kind: 'gap',
  issuer: {},
  related: [],
  fca: [],
  native: [],
  importance: [],
  headline: '',
})

/**
 * A key of the company, the same for all its names and instruments: its LEI, else its name, else another identifier,
 * prefixed with its kind. null where it has none of them.
 */
export function companyKey({ lei, name, isin, symbol }: Company): string | null {
  if (lei !== undefined) return `lei ${lei}`
  if (name !== undefined) return `name ${name}`
  if (isin !== undefined) return `isin ${isin}`
  return symbol === undefined ? null : `symbol ${symbol}`
}

/** The identifier as upstream sent it; undefined where there is none. */
export function spelling(company: Company, field: InstrumentField): string | undefined {
  return company.spelt?.[field] ?? company[field]
}

function companyFacts(party: Party): Company {
  const spelt = {
    ...(party.isin === null || isUpperCase(party.isin) ? {} : { isin: party.isin }),
    ...(party.symbol === null || isUpperCase(party.symbol) ? {} : { symbol: party.symbol }),
  }
  return {
    ...(party.isin === null ? {} : { isin: party.isin.toUpperCase() }),
    ...(party.symbol === null ? {} : { symbol: party.symbol.toUpperCase() }),
    ...(party.lei === null ? {} : { lei: party.lei.toUpperCase() }),
    ...(party.lei !== null || party.name === null ? {} : { name: party.name.toLowerCase() }),
    ...(Object.keys(spelt).length === 0 ? {} : { spelt }),
  }
}

function isUpperCase(text: string): boolean {
  return text === text.toUpperCase()
}
