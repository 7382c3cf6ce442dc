/**
 * Words of the inverted indexes: which an event is filed under, and which a filter needs. Owns that both sides agree.
 * Refuses to decide a match: what it finds is a superset, and `matches` of core/filter/filter.ts has the last word.
 */
import { crc32 } from 'node:zlib'
import type { Company, Facts, Identifiers } from '../../core/filter/facts.ts'
import type { Filter, PlainFilter } from '../../core/filter/filter.ts'
import { presets } from '../../core/filter/presets.ts'
import {
  type InstrumentField,
  type PublishersUnder,
  type Selection,
  widened,
} from '../../core/filter/selection.ts'

/** Most values of one field that the index is asked for: beyond it a scan is faster (FTS5 tries each word a row). */
const VALUES_LIMIT = 64
/** Most trigrams of a headline search, spread over the text; each costs a walk, and more narrow little further. */
const TRIGRAMS_LIMIT = 6

/** Longer than any word, so that nothing is filed under it. */
const NO_WORD = 'nothing0'

type Place = 'issuer' | 'related' | 'fca' | 'native' | 'kind'

/** FTS5 expressions; an event that is asked for is found by one of them. */
export interface Narrowing {
  /** Over `terms`; for a filter it finds every gap event too. null where only a headline is searched. */
  terms: string | null
  /** Over `headlines`; null where no headline is searched. */
  headlines: string | null
}

/** The words that an event is filed under, separated by spaces. */
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

/** What the indexes can do for a filter, or null where only a scan answers it. */
export function narrowing(filter: Filter): Narrowing | null {
  const own = armOf(filter)
  const arms = own === null ? (filter.filters ?? []).map(armOf) : [own]
  const gap = quoted(word('kind', 'gap'))
  const terms = [gap]
  const headlines: string[] = []
  for (const arm of arms) {
    if (arm === null) return null
    if ('terms' in arm) terms.push(arm.terms)
    else headlines.push(arm.headline)
  }
  if (arms.length === 0) return null
  return { terms: terms.join(' OR '), headlines: headlines.length === 0 ? null : headlines.join(' OR ') }
}

/** What the indexes can do for a list of the upstream API, or null where only a scan answers it. */
export function selectionNarrowing(selection: Selection, publishersUnder: PublishersUnder): Narrowing | null {
  const instruments = groupsOf([
    instrumentWords(selection, 'isin', selection.isins, publishersUnder),
    instrumentWords(selection, 'symbol', selection.symbols, publishersUnder),
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

type Arm = { terms: string } | { headline: string }

/** The narrowest index for one plain filter: identifiers, else the headline, else categories and kinds. */
function armOf(filter: PlainFilter): Arm | null {
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
  const places: Place[] = filter.match === 'related' ? ['issuer', 'related'] : ['issuer']
  return values.flatMap((value) => places.map((place) => word(place, `${field} ${value}`)))
}

/** The instrument itself, and every company that it is widened to. */
function instrumentWords(
  { match }: Selection,
  field: InstrumentField,
  identifiers: readonly string[] | null,
  publishersUnder: PublishersUnder,
): string[] | undefined {
  if (identifiers === null) return undefined
  // Who never published under an identifier is no issuer of it; only as a related company it may occur.
  const isKnown = (identifier: string): boolean => [...publishersUnder(field, identifier)].length > 0
  const named = match === 'related' ? identifiers : identifiers.filter(isKnown)
  const companies = widened(named, field, match, publishersUnder)
  const values = [...named.map((identifier) => `${field} ${identifier}`), ...companies]
  if (values.length === 0) return [NO_WORD]
  if (values.length > VALUES_LIMIT) return undefined
  const places: Place[] = match === 'related' ? ['issuer', 'related'] : ['issuer']
  return values.flatMap((value) => places.map((place) => word(place, value)))
}

function valueWords(place: Place, values: readonly string[] | undefined): string[] | undefined {
  if (values === undefined || values.length > VALUES_LIMIT) return undefined
  return values.map((value) => word(place, value))
}

function groupsOf(lists: (string[] | undefined)[]): string[] {
  return lists.flatMap((words) => (words === undefined ? [] : `(${words.map(quoted).join(' OR ')})`))
}

function partyWords(place: 'issuer' | 'related', party: Company): string[] {
  return (['isin', 'symbol', 'lei', 'name'] as const).flatMap((field) => {
    const value = party[field]
    return value === undefined ? [] : word(place, `${field} ${value}`)
  })
}

/** Up to seven letters and digits. Two values that share one cost a needless look, never a wrong answer. */
function word(place: Place, value: string): string {
  return crc32(`${place} ${value.toUpperCase()}`).toString(36)
}

/** Every run of three characters, as FTS5 cuts them; none where the text is too short or FTS5 would cut it otherwise. */
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
