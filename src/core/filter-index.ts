/**
 * An inverted index over many filters: which of them want an event, without asking each. Owns the candidates. A filter that
 * asks for one list of identifiers or codes and nothing else is decided by being found; on every other candidate `matches`
 * has the verdict, and a test holds a million pairs to it. Refuses to know who holds a filter.
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
/** Members of a filter that keys say everything about. */
const listFields = new Set<string>([...Object.values(identifierFields), 'fcaCategories', 'nativeCategories'])

/** An empty index. */
export function createFilterIndex<Id>(): FilterIndex<Id> {
  const filters = new Map<Id, Filter>()
  /** Those that want every event with the key. */
  const decided = createKeyed<Id>()
  /** Those that want nothing without one of their keys, and are asked about the rest. */
  const asked = createKeyed<Id>()
  /** Those that have to be asked about every event. */
  const unkeyed = new Set<Id>()

  const remove = (id: Id): void => {
    const filter = filters.get(id)
    if (filter === undefined) return
    const keyed = isOneList(filter) ? decided : asked
    keyed.remove(id, keysOfFilter(filter) ?? [])
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
      else (isOneList(filter) ? decided : asked).add(id, keys)
    },
    remove,
    match(facts) {
      if (facts.kind === 'gap') return [...filters.keys()]
      const found = new Set<Id>()
      const candidates = new Set(unkeyed)
      for (const key of keysOfFacts(facts)) {
        for (const id of decided.of(key)) found.add(id)
        for (const id of asked.of(key)) candidates.add(id)
      }
      for (const id of candidates) {
        const filter = filters.get(id)
        if (filter !== undefined && matches(filter, facts)) found.add(id)
      }
      return [...found]
    },
  }
}

/** Ids by key; keys with none take no memory. */
interface Keyed<Id> {
  add(id: Id, keys: readonly string[]): void
  remove(id: Id, keys: readonly string[]): void
  of(key: string): Iterable<Id>
}

function createKeyed<Id>(): Keyed<Id> {
  const idsByKey = new Map<string, Set<Id>>()
  return {
    add(id, keys) {
      for (const key of keys) {
        const ids = idsByKey.get(key) ?? new Set()
        idsByKey.set(key, ids.add(id))
      }
    },
    remove(id, keys) {
      for (const key of keys) {
        const ids = idsByKey.get(key)
        ids?.delete(id)
        if (ids?.size === 0) idsByKey.delete(key)
      }
    },
    of: (key) => idsByKey.get(key) ?? [],
  }
}

/** Whether an event that has one of its keys is all that this filter asks for. */
function isOneList(filter: Filter): boolean {
  const { match: _, ...asks } = filter
  const [only, ...more] = Object.entries(asks).filter(([, wanted]) => wanted !== undefined)
  return only !== undefined && more.length === 0 && listFields.has(only[0])
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
