/**
 * Defines the filter by which consumers choose events, and evaluates it; tests compare every faster implementation with this
 * one. The parsers have normalised each filter: identifiers in upper case, headline text in lower case, `high+` expanded to
 * its levels of importance.
 */
import type { Facts, Identifiers } from './facts.ts'
import type { PresetName } from './presets.ts'
import { presets } from './presets.ts'

/** How identifiers are compared; default `issuer`. */
export const matchModes = ['issuer', 'related', 'exact'] as const
export type MatchMode = (typeof matchModes)[number]

/** Importance of an FCA category, lowest first. */
export const importances = ['low', 'medium', 'high', 'ultra'] as const
export type Importance = (typeof importances)[number]

/** The event kinds that filters distinguish. */
export const eventKinds = ['published', 'amended', 'gap'] as const

/** Notifications about another endpoint of the tenant. They are sent to webhooks only and are in no log. */
export const noticeKinds = ['webhook.disabled', 'webhook.exhausted', 'webhook.recovered'] as const
export type NoticeKind = (typeof noticeKinds)[number]

/** Event kinds for the filters of webhooks. */
export const webhookKinds = [...eventKinds, ...noticeKinds] as const
/** One of them. */
export type WebhookKind = (typeof webhookKinds)[number]

/** Fields that are ANDed; lists match if any member does. An absent field matches everything. Lists are never empty. */
export interface PlainFilter {
  /** 12 characters, upper case. */
  isins?: readonly string[]
  /** Listing symbols, upper case. */
  symbols?: readonly string[]
  /** 20 characters, upper case. */
  leis?: readonly string[]
  match?: MatchMode
  fcaCategories?: readonly string[]
  nativeCategories?: readonly string[]
  importance?: readonly Importance[]
  /** Part of the headline, lower case, 2–200 characters. */
  q?: string
  hasSymbol?: boolean
  /** For a stream or pull reader only members of `eventKinds`. */
  types?: readonly WebhookKind[]
  preset?: PresetName
}

/** A plain filter that may exclude events (`exclude`) and may match any of several filters (`filters`). */
export interface Filter extends PlainFilter {
  exclude?: PlainFilter
  filters?: readonly PlainFilter[]
}

/**
 * True when a stream or pull reader with this filter gets the event. A gap event reaches every reader whatever its
 * filter, so that no reader can pass a gap without receiving it. (A webhook gets gaps only where its `types` names
 * them; the webhooks implement that rule.)
 */
export function matches(filter: Filter, facts: Facts): boolean {
  if (facts.kind === 'gap') return true
  if (!matchesPlain(filter, facts)) return false
  if (filter.exclude !== undefined && matchesPlain(filter.exclude, facts)) return false
  return filter.filters === undefined || filter.filters.some((member) => matchesPlain(member, facts))
}

/**
 * Why `matches` is false: the members of the filter that leave the event out, e.g. `symbols`, `exclude`, `filters[0].q`. Empty
 * where it matches.
 */
export function mismatches(filter: Filter, facts: Facts): string[] {
  if (matches(filter, facts)) return []
  const { exclude, filters, ...own } = filter
  const isExcluded = exclude !== undefined && matchesPlain(exclude, facts)
  const nested = filters?.some((member) => matchesPlain(member, facts)) ? [] : (filters ?? [])
  return [
    ...failingMembers(own, facts),
    ...(isExcluded ? ['exclude'] : []),
    ...nested.flatMap((member, at) => failingMembers(member, facts).map((name) => `filters[${at}].${name}`)),
  ]
}

/** All members that fail by themselves. */
function failingMembers({ match, ...members }: PlainFilter, facts: Facts): string[] {
  const mode = match === undefined ? {} : { match }
  return Object.entries(members).flatMap(
    ([name, wanted]) => failingMember({ [name]: wanted, ...mode }, facts) ?? [],
  )
}

function matchesPlain(filter: PlainFilter, facts: Facts): boolean {
  return failingMember(filter, facts) === null
}

/** The first member of the filter that leaves the event out; null where none does. */
function failingMember(filter: PlainFilter, facts: Facts): keyof PlainFilter | null {
  const parties = filter.match === 'related' ? [facts.issuer, ...facts.related] : [facts.issuer]
  if (!hasIdentifier(filter.isins, parties, 'isin')) return 'isins'
  if (!hasIdentifier(filter.symbols, parties, 'symbol')) return 'symbols'
  if (!hasIdentifier(filter.leis, parties, 'lei')) return 'leis'
  if (!hasAny(filter.fcaCategories, facts.fca)) return 'fcaCategories'
  if (!hasAny(filter.nativeCategories, facts.native)) return 'nativeCategories'
  if (!hasAny(filter.importance, facts.importance)) return 'importance'
  if (!hasAny(filter.types, [facts.kind])) return 'types'
  if (filter.q !== undefined && !facts.headline.includes(filter.q)) return 'q'
  const hasSymbol = facts.issuer.symbol !== undefined
  if (filter.hasSymbol !== undefined && filter.hasSymbol !== hasSymbol) return 'hasSymbol'
  return filter.preset === undefined || matchesPreset(filter.preset, facts) ? null : 'preset'
}

function hasIdentifier(
  wanted: readonly string[] | undefined,
  parties: readonly Identifiers[],
  field: keyof Identifiers,
): boolean {
  return wanted === undefined || parties.some((party) => wanted.includes(party[field] ?? ''))
}

function hasAny(wanted: readonly string[] | undefined, present: readonly string[]): boolean {
  return wanted === undefined || present.some((value) => wanted.includes(value))
}

function matchesPreset(name: PresetName, facts: Facts): boolean {
  const preset = presets[name]
  return hasAny(preset.fcaCategories, facts.fca) === (preset.keeps === 'only')
}
