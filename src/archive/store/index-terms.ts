/**
 * Builds the search terms of the inverted indexes: the words that an event is indexed under, and the index query for a
 * filter. The indexes return a superset of the matching events; `matches` of `core/filter/filter.ts` tests each one.
 */
import { crc32 } from 'node:zlib'
import type { Company, Facts, Identifiers, InstrumentField } from '../../core/filter/facts.ts'
import type { Filter, PlainFilter } from '../../core/filter/filter.ts'
import { identifierIn } from '../../core/filter/listing.ts'
import { presets } from '../../core/filter/presets.ts'
import { type KnownInstruments, meantBy, type Selection } from '../../core/filter/selection.ts'

/** Most values of one field that a predicate names: with more, a scan is faster (FTS5 tries each word per row). */
const VALUES_LIMIT = 64
/** Most trigrams of a headline search, spread over the text: each costs a list scan, and more exclude few more rows. */
const TRIGRAMS_LIMIT = 6

/** Longer than any word, so that no event is indexed under it. */
const NO_WORD = 'nothing0'

type TermScope = 'issuer' | 'related' | 'fca' | 'native' | 'kind'

/** FTS5 expressions; every event that matches the filter satisfies one of them. */
export interface IndexPredicate {
  /** Over `terms`; for a filter it includes all gap events. null where only a headline is searched. */
  terms: string | null
  /** Over `headlines`; null where no headline is searched. */
  headlines: string | null
}

/** The words that an event is indexed under, separated by spaces. */
export function termsOf(facts: Facts): string {
  const words = [
    ...partyWords('issuer', facts.issuer),
    ...facts.related.flatMap((party) => partyWords('related', party)),
    ...facts.fca.map((code) => word('fca', code)),
    ...facts.native.map((code) => word('native', code)),
    ...(facts.kind === 'published' ? [] : [word('kind', facts.kind)]),
  ]
  return words.join(' ')
}

/** The FTS5 expression that the events with this category code satisfy. */
export function codeTerm(kind: 'fca' | 'native', code: string): string {
  return quoted(word(kind, code))
}

/** The index predicate of a filter, or null where only a scan answers it. */
export function indexPredicate(filter: Filter): IndexPredicate | null {
  const own = clauseOf(filter)
  const clauses = own === null ? (filter.filters ?? []).map(clauseOf) : [own]
  const gap = quoted(word('kind', 'gap'))
  const terms = [gap]
  const headlines: string[] = []
  for (const clause of clauses) {
    if (clause === null) return null
    if ('terms' in clause) terms.push(clause.terms)
    else headlines.push(clause.headline)
  }
  if (clauses.length === 0) return null
  return { terms: terms.join(' OR '), headlines: headlines.length === 0 ? null : headlines.join(' OR ') }
}

/** The index predicate of a list of the upstream API, or null where only a scan answers it. */
export function selectionPredicate(selection: Selection, known: KnownInstruments): IndexPredicate | null {
  const instruments = groupsOf([
    instrumentWords(selection, 'isin', selection.isins, known),
    instrumentWords(selection, 'symbol', selection.symbols, known),
  ])
  const codes = groupsOf([
    valueWords('fca', selection.fcaCategories ?? undefined),
    valueWords('native', selection.nativeCategories ?? undefined),
  ])
  const trigrams = selection.q === null ? [] : trigramsOf(selection.q.toLowerCase())
  if (instruments.length === 0 && trigrams.length > 0) {
    return { terms: null, headlines: trigrams.map(quoted).join(' AND ') }
  }
  const groups = [...instruments, ...codes]
  return groups.length === 0 ? null : { terms: groups.join(' AND '), headlines: null }
}

type Clause = { terms: string } | { headline: string }

/** The most selective index for one plain filter: identifiers, else the headline, else categories and kinds. */
function clauseOf(filter: PlainFilter): Clause | null {
  const identifiers = groupsOf([
    identifierWords(filter, filter.isins, 'isin'),
    identifierWords(filter, filter.symbols, 'symbol'),
    identifierWords(filter, filter.leis, 'lei'),
  ])
  const preset = filter.preset === undefined ? undefined : presets[filter.preset]
  const codes = groupsOf([
    valueWords('fca', filter.fcaCategories),
    valueWords('native', filter.nativeCategories),
    preset?.keeps === 'only' ? valueWords('fca', preset.fcaCategories) : undefined,
    filter.types?.includes('published') ? undefined : valueWords('kind', filter.types),
  ])
  const trigrams = filter.q === undefined ? [] : trigramsOf(filter.q)
  if (identifiers.length === 0 && trigrams.length > 0)
    return { headline: `(${trigrams.map(quoted).join(' AND ')})` }
  const groups = [...identifiers, ...codes]
  return groups.length === 0 ? null : { terms: `(${groups.join(' AND ')})` }
}

function identifierWords(
  filter: PlainFilter,
  values: readonly string[] | undefined,
  field: keyof Identifiers,
): string[] | undefined {
  if (values === undefined || values.length > VALUES_LIMIT) return undefined
  const scopes: TermScope[] = filter.match === 'related' ? ['issuer', 'related'] : ['issuer']
  return values.flatMap((value) => scopes.map((scope) => word(scope, `${field} ${value}`)))
}

/** The instrument itself, and every company or tag that the match rule widens it to. */
function instrumentWords(
  { match }: Selection,
  field: InstrumentField,
  identifiers: readonly string[] | null,
  known: KnownInstruments,
): string[] | undefined {
  if (identifiers === null) return undefined
  // An identifier that nobody published under can match only as a related company.
  const isKnown = (identifier: string): boolean => [...known.publishersUnder(field, identifier)].length > 0
  const named = match === 'related' ? identifiers : identifiers.filter(isKnown)
  const { companies, tags } = meantBy(named, field, match, known)
  const others = [...tags].map(identifierIn).map((tag) => `${tag.field} ${tag.identifier}`)
  const values = [
    ...new Set([...named.map((identifier) => `${field} ${identifier}`), ...companies, ...others]),
  ]
  if (values.length === 0) return [NO_WORD]
  if (values.length > VALUES_LIMIT) return undefined
  const scopes: TermScope[] = match === 'related' ? ['issuer', 'related'] : ['issuer']
  return values.flatMap((value) => scopes.map((scope) => word(scope, value)))
}

function valueWords(scope: TermScope, values: readonly string[] | undefined): string[] | undefined {
  if (values === undefined || values.length > VALUES_LIMIT) return undefined
  return values.map((value) => word(scope, value))
}

function groupsOf(lists: (string[] | undefined)[]): string[] {
  return lists.flatMap((words) => (words === undefined ? [] : `(${words.map(quoted).join(' OR ')})`))
}

function partyWords(scope: 'issuer' | 'related', party: Company): string[] {
  return (['isin', 'symbol', 'lei', 'name'] as const).flatMap((field) => {
    const value = party[field]
    return value === undefined ? [] : word(scope, `${field} ${value}`)
  })
}

/** Up to seven letters and digits. A collision of two values costs a needless check, never a wrong match. */
function word(scope: TermScope, value: string): string {
  return crc32(`${scope} ${value.toUpperCase()}`).toString(36)
}

/** Every run of three characters as FTS5 splits them; none where the text is too short or FTS5 would split it otherwise. */
function trigramsOf(text: string): string[] {
  if (!text.isWellFormed() || text.includes('\0')) return []
  const characters = Array.from(text)
  const runs = characters.slice(2).map((_, index) => characters.slice(index, index + 3).join(''))
  const step = Math.ceil(runs.length / TRIGRAMS_LIMIT)
  return [...new Set(runs.filter((_, index) => index % step === 0))]
}

function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`
}
