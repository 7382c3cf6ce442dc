/**
 * Stores the filter of an endpoint so that the build before can read it too: event kinds that it does not know are kept
 * beside the filter, and put back when a row is read.
 */
import type { Filter, PlainFilter, WebhookKind } from '../core/filter/filter.ts'

/** Kinds that the build before refuses. */
const LATER: readonly WebhookKind[] = ['webhook.exhausted', 'webhook.recovered']
/** Stands in for them where nothing else is left, because no list is empty. */
const STAND_IN: readonly WebhookKind[] = ['webhook.disabled']

/** `types` of the parts of a filter that name later kinds, by the place of the part. */
export type LaterTypes = Readonly<Record<string, readonly WebhookKind[]>>

/** The filter as the build before can read it, and what it leaves out; null: nothing. */
export function forOlderBuilds(filter: Filter): { filter: Filter; laterTypes: LaterTypes | null } {
  const later = partsOf(filter).filter(([, { types }]) => types?.some((kind) => LATER.includes(kind)))
  if (later.length === 0) return { filter, laterTypes: null }
  const laterTypes = Object.fromEntries(later.map(([place, { types = [] }]) => [place, types]))
  return { filter: withTypes(filter, laterTypes, olderKinds), laterTypes }
}

/** The filter of a row as it was given. */
export function withLaterTypes(filter: Filter, laterTypes: LaterTypes): Filter {
  return withTypes(filter, laterTypes, (types) => types)
}

function olderKinds(types: readonly WebhookKind[]): readonly WebhookKind[] {
  const known = types.filter((kind) => !LATER.includes(kind))
  return known.length > 0 ? known : STAND_IN
}

function partsOf(filter: Filter): [place: string, part: PlainFilter][] {
  const { exclude, filters = [] } = filter
  const members = filters.map((member, at): [string, PlainFilter] => [`filters.${at}`, member])
  return [
    ['', filter],
    ...(exclude === undefined ? [] : [['exclude', exclude] as [string, PlainFilter]]),
    ...members,
  ]
}

function withTypes(
  filter: Filter,
  places: LaterTypes,
  change: (types: readonly WebhookKind[]) => readonly WebhookKind[],
): Filter {
  const changed = <Part extends PlainFilter>(place: string, part: Part): Part => {
    const types = places[place]
    return types === undefined ? part : { ...part, types: change(types) }
  }
  const { exclude, filters } = filter
  return {
    ...changed('', filter),
    ...(exclude !== undefined && { exclude: changed('exclude', exclude) }),
    ...(filters !== undefined && { filters: filters.map((member, at) => changed(`filters.${at}`, member)) }),
  }
}
