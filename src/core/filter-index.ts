/**
 * An inverted index over many filters: which of them want an event, without asking each. Owns the candidates; the
 * verdict on every candidate is `matches`, so the index can never disagree with it. Refuses to know who holds a filter.
 */
import type { Facts, Identifiers } from './facts.ts'
import type { Filter, PlainFilter } from './filter.ts'
import { matches } from './filter.ts'
import { presets } from './presets.ts'

/** Filters by the id of whoever holds them. */
export interface FilterIndex<Id> {
  /** Registers a filter; an id that is known gets the new one. */
  add(id: Id, filter: Filter): void
  /** Forgets it; an unknown id is no error. */
  remove(id: Id): void
  /** Exactly the ids whose filter matches, each once, in no promised order. */
  match(facts: Facts): Id[]
  /** Filters registered. */
  readonly size: number
}

const identifierFields = { isin: 'isins', symbol: 'symbols', lei: 'leis' } as const

/** An empty index. */
export function createFilterIndex<Id>(): FilterIndex<Id> {
  const filters = new Map<Id, Filter>()
  const idsByKey = new Map<string, Set<Id>>()
  /** Those that have to be asked about every event. */
  const unkeyed = new Set<Id>()

  const remove = (id: Id): void => {
    const filter = filters.get(id)
    if (filter === undefined) return
    for (const key of keysOfFilter(filter) ?? []) {
      const ids = idsByKey.get(key)
      ids?.delete(id)
      if (ids?.size === 0) idsByKey.delete(key)
    }
    unkeyed.delete(id)
    filters.delete(id)
  }

  return {
    get size() {
      return filters.size
    },
    add(id, filter) {
      if (filters.get(id) === filter) return
      remove(id)
      filters.set(id, filter)
      const keys = keysOfFilter(filter)
      if (keys === null) unkeyed.add(id)
      for (const key of keys ?? []) {
        const ids = idsByKey.get(key) ?? new Set()
        idsByKey.set(key, ids.add(id))
      }
    },
    remove,
    match(facts) {
      if (facts.kind === 'gap') return [...filters.keys()]
      const candidates = new Set(unkeyed)
      for (const key of keysOfFacts(facts)) {
        for (const id of idsByKey.get(key) ?? []) candidates.add(id)
      }
      return [...candidates].filter((id) => {
        const filter = filters.get(id)
        return filter !== undefined && matches(filter, facts)
      })
    },
  }
}

/** Keys of which every event that the filter matches has at least one, or null where no field gives such keys. */
function keysOfFilter(filter: Filter): string[] | null {
  const own = keysOfPlain(filter)
  if (own !== null || filter.filters === undefined) return own
  const keysOfMembers = filter.filters.map(keysOfPlain)
  const complete = keysOfMembers.filter((keys) => keys !== null)
  return complete.length < keysOfMembers.length ? null : [...new Set(complete.flat())]
}

/** The keys of one field: an identifier before a code, since fewer events have it. */
function keysOfPlain(filter: PlainFilter): string[] | null {
  const reach = filter.match === 'related' ? 'related' : 'issuer'
  for (const [kind, field] of Object.entries(identifierFields)) {
    const wanted = filter[field]
    if (wanted !== undefined) return wanted.map((value) => `${reach} ${kind} ${value}`)
  }
  if (filter.fcaCategories !== undefined) return filter.fcaCategories.map(fcaKey)
  if (filter.nativeCategories !== undefined) return filter.nativeCategories.map(nativeKey)
  const preset = filter.preset === undefined ? null : presets[filter.preset]
  return preset?.keeps === 'only' ? preset.fcaCategories.map(fcaKey) : null
}

function keysOfFacts(facts: Facts): Set<string> {
  return new Set([
    ...keysOfParty(facts.issuer, 'issuer'),
    ...[facts.issuer, ...facts.related].flatMap((party) => keysOfParty(party, 'related')),
    ...facts.fca.map(fcaKey),
    ...facts.native.map(nativeKey),
  ])
}

function keysOfParty(party: Identifiers, reach: 'issuer' | 'related'): string[] {
  return Object.entries(party).map(([kind, value]) => `${reach} ${kind} ${value}`)
}

function fcaKey(code: string): string {
  return `fca ${code}`
}

function nativeKey(code: string): string {
  return `native ${code}`
}
