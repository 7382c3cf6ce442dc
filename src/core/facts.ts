/**
 * What filters, indexes and topics ask of an event, read once from its data. Owns the reading of category kinds.
 * Refuses to hold the item: facts can always be derived again.
 */
import type { Disclosure, Party } from './disclosure.ts'

/** Identifiers of one company in upper case; a missing one is left out, so that stored facts stay small. */
export interface Identifiers {
  isin?: string
  symbol?: string
  lei?: string
}

/** One event as a filter sees it. */
export interface Facts {
  kind: 'published' | 'amended' | 'gap'
  issuer: Identifiers
  related: Identifiers[]
  fca: string[]
  native: string[]
  /** Importance of the FCA categories, as upstream spelt them. */
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
    issuer: identifiersOf(disclosure.issuer),
    related: disclosure.related.map(identifiersOf),
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

function identifiersOf(party: Party): Identifiers {
  return {
    ...(party.isin === null ? {} : { isin: party.isin.toUpperCase() }),
    ...(party.symbol === null ? {} : { symbol: party.symbol.toUpperCase() }),
    ...(party.lei === null ? {} : { lei: party.lei.toUpperCase() }),
  }
}
