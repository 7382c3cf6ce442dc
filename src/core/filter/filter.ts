/**
 * The filter of contract §5: its fields, and the plain evaluator that every faster path is proven against.
 * Owns the meaning. Refuses text: `filter-parse.ts` and `filter-query.ts` make a Filter from the outside, and every
 * Filter is one of theirs, with identifiers in upper case, `q` in lower case and `<level>+` written out.
 */
import type { Facts, Identifiers } from './facts.ts'
import type { PresetName } from './presets.ts'
import { presets } from './presets.ts'

/** How identifiers are compared; `issuer` where a filter does not say. */
export const matchModes = ['issuer', 'related', 'exact'] as const
export type MatchMode = (typeof matchModes)[number]

/** Importance of an FCA category, lowest first. */
export const importances = ['low', 'medium', 'high', 'ultra'] as const
export type Importance = (typeof importances)[number]

/** What an event is to a filter. */
export const eventKinds = ['published', 'amended', 'gap'] as const

/** What the filter of a webhook may name besides: an event that is sent to webhooks alone, and is of no log. */
export const webhookKinds = [...eventKinds, 'webhook.disabled'] as const
/** One of them. */
export type WebhookKind = (typeof webhookKinds)[number]

/** Fields that are ANDed; inside a list, any member does. A field left out asks nothing. Lists are never empty. */
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
  /** Of a stream or pull reader never more than `eventKinds`. */
  types?: readonly WebhookKind[]
  preset?: PresetName
}

/** A plain filter that may leave things out (`exclude`) and may ask for any of several (`filters`). */
export interface Filter extends PlainFilter {
  exclude?: PlainFilter
  filters?: readonly PlainFilter[]
}

/**
 * True when a stream or pull reader with this filter gets the event. A gap event reaches every reader whatever its
 * filter says, so that nobody can pass a gap without seeing it. (A webhook gets gaps only where its `types` names
 * them: that rule belongs to the webhooks, not here.)
 */
export function matches(filter: Filter, facts: Facts): boolean {
  if (facts.kind === 'gap') return true
  if (!matchesPlain(filter, facts)) return false
  if (filter.exclude !== undefined && matchesPlain(filter.exclude, facts)) return false
  return filter.filters === undefined || filter.filters.some((member) => matchesPlain(member, facts))
}

function matchesPlain(filter: PlainFilter, facts: Facts): boolean {
  const parties = filter.match === 'related' ? [facts.issuer, ...facts.related] : [facts.issuer]
  return (
    hasIdentifier(filter.isins, parties, 'isin') &&
    hasIdentifier(filter.symbols, parties, 'symbol') &&
    hasIdentifier(filter.leis, parties, 'lei') &&
    hasAny(filter.fcaCategories, facts.fca) &&
    hasAny(filter.nativeCategories, facts.native) &&
    hasAny(filter.importance, facts.importance) &&
    hasAny(filter.types, [facts.kind]) &&
    (filter.q === undefined || facts.headline.includes(filter.q)) &&
    (filter.hasSymbol === undefined || filter.hasSymbol === (facts.issuer.symbol !== undefined)) &&
    (filter.preset === undefined || matchesPreset(filter.preset, facts))
  )
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
