/**
 * What the list's filters ask of an item, and the test itself (specification §4.1.4). Owns the meaning of `match` in the
 * sandbox. Refuses to hold item text.
 */
import { crc32 } from 'node:zlib'
import { channels, type Selection } from '../api/mirror/item-store.ts'
import type { Disclosure, Party } from '../core/disclosure.ts'

/** A company as filters see it. */
export interface ShelfParty {
  /** The same for every item of one issuer: its LEI, else its name in lower case, else its identifier. */
  key: string
  isin: string | null
  symbol: string | null
}

/** The few facts kept per item. */
export interface ShelfFacts {
  issuer: ShelfParty
  related: ShelfParty[]
  fca: string[]
  native: string[]
  /** In lower case. */
  headline: string
  /** Bit n set = distributed on channel n of `channels`. Ours: upstream does not say which items have which. */
  channelBits: number
}

/** Facts of a readable item. */
export function shelfFacts(disclosure: Disclosure, nativeKind: string): ShelfFacts {
  const codes = (kind: string): string[] =>
    disclosure.categories.filter((category) => category.kind === kind).map((category) => category.code)
  return {
    issuer: partyFacts(disclosure.issuer),
    related: disclosure.related.map(partyFacts),
    fca: codes('FCA'),
    native: codes(nativeKind),
    headline: disclosure.headline.toLowerCase(),
    channelBits: crc32(disclosure.guid) % 2 ** channels.length,
  }
}

/** Facts of an item that cannot be read: only an unfiltered list shows it. */
export const UNREADABLE_FACTS: ShelfFacts = Object.freeze({
  issuer: { key: '', isin: null, symbol: null },
  related: [],
  fca: [],
  native: [],
  headline: '',
  channelBits: 0,
})

/** Names every issuer that has published under an identifier. */
export type IssuersOf = (member: 'isin' | 'symbol', identifier: string) => ReadonlySet<string>

/** The test of a selection. */
export function selects(
  selection: Selection,
  issuersOf: IssuersOf,
): (timeMs: number, facts: ShelfFacts) => boolean {
  const { fromMs, toMs, fcaCategories, nativeCategories, hasSymbol } = selection
  const byIsin = instrumentTest(selection.isins, 'isin', selection.match, issuersOf)
  const bySymbol = instrumentTest(selection.symbols, 'symbol', selection.match, issuersOf)
  const q = selection.q?.toLowerCase() ?? ''
  const channelBit = selection.channel === null ? 0 : 2 ** channels.indexOf(selection.channel)
  return (timeMs, facts) =>
    (fromMs === null || timeMs >= fromMs) &&
    (toMs === null || timeMs <= toMs) &&
    byIsin(facts) &&
    bySymbol(facts) &&
    (fcaCategories === null || facts.fca.some((code) => fcaCategories.includes(code))) &&
    (nativeCategories === null || facts.native.some((code) => nativeCategories.includes(code))) &&
    facts.headline.includes(q) &&
    (!hasSymbol || facts.issuer.symbol !== null) &&
    (facts.channelBits & channelBit) === channelBit
}

function instrumentTest(
  identifiers: readonly string[] | null,
  member: 'isin' | 'symbol',
  match: Selection['match'],
  issuersOf: IssuersOf,
): (facts: ShelfFacts) => boolean {
  if (identifiers === null) return () => true
  const named = new Set(identifiers)
  const carries = (party: ShelfParty): boolean => {
    const identifier = party[member]
    return identifier !== null && named.has(identifier)
  }
  if (match === 'exact') return ({ issuer }) => carries(issuer)
  const issuers = new Set(identifiers.flatMap((identifier) => [...issuersOf(member, identifier)]))
  const isOf = (party: ShelfParty): boolean => carries(party) || issuers.has(party.key)
  if (match === 'issuer') return ({ issuer }) => isOf(issuer)
  return ({ issuer, related }) => isOf(issuer) || related.some(isOf)
}

function partyFacts(party: Party): ShelfParty {
  return {
    key: party.lei ?? party.name?.toLowerCase() ?? party.isin ?? party.symbol ?? '',
    isin: party.isin,
    symbol: party.symbol,
  }
}
