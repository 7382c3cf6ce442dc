/**
 * Finds which of many filters match an event, by an inverted index of identifiers and category codes.
 * A filter with a single list of keys matches as soon as one key does; `matches` tests every other candidate.
 */
import type { Facts, Identifiers } from './facts.ts'
import type { Filter, PlainFilter } from './filter.ts'
import { matches } from './filter.ts'
import { presets } from './presets.ts'

/** An index of filters by the id of their subscriber. */
export interface FilterIndex<Id> {
  /** Adds a filter; replaces the present one of the same id. */
  add(id: Id, filter: Filter): void
  /** Removes a filter; an unknown id is no error. */
  remove(id: Id): void
  /** Exactly the ids whose filter matches, each once, in no promised order. */
  match(facts: Facts): Id[]
  /** Filters registered. */
  readonly size: number
}

const identifierFields = { isin: 'isins', symbol: 'symbols', lei: 'leis' } as const
const identifierKinds = Object.keys(identifierFields) as (keyof typeof identifierFields)[]
/** Filter fields that the index decides completely. */
const listFields = new Set<string>([...Object.values(identifierFields), 'fcaCategories', 'nativeCategories'])

/** Kind of a key: an identifier of the issuer or of any party, or a category code. */
type KeyKind = `${'issuer' | 'related'} ${keyof Identifiers}` | 'fca' | 'native'
interface Key {
  kind: KeyKind
  value: string
}

/** An empty index. */
export function createFilterIndex<Id>(): FilterIndex<Id> {
  const filters = new Map<Id, Filter>()
  /** Filters that match every event with the key. */
  const decided = createKeyed<Id>()
  /** Filters that need one of their keys; `matches` tests the rest. */
  const asked = createKeyed<Id>()
  /** Filters without keys: `matches` tests them on every event. */
  const unkeyed = new Set<Id>()

  const remove = (id: Id): void => {
    const filter = filters.get(id)
    if (filter === undefined) return
    const keyed = isOneList(filter) ? decided : asked
    keyed.remove(id, keysOfFilter(filter) ?? [])
    unkeyed.delete(id)
    filters.delete(id)
  }
  const wants = (id: Id, facts: Facts): boolean => {
    const filter = filters.get(id)
    return filter !== undefined && matches(filter, facts)
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
      const found = union(decided.of(facts))
      const candidates = union(asked.of(facts))
      for (const id of candidates) if (wants(id, facts)) found.push(id)
      for (const id of unkeyed) if (wants(id, facts)) found.push(id)
      return found
    },
  }
}

/** Ids by key; keys without ids take no memory. */
interface Keyed<Id> {
  add(id: Id, keys: readonly Key[]): void
  remove(id: Id, keys: readonly Key[]): void
  /** The sets of ids for the keys of the event. */
  of(facts: Facts): ReadonlySet<Id>[]
}

/** One map per kind: unused kinds cost nothing, and no combined key has to be built. */
function createKeyed<Id>(): Keyed<Id> {
  const idsByKind = new Map<KeyKind, Map<string, Set<Id>>>()
  return {
    add(id, keys) {
      for (const { kind, value } of keys) {
        const idsByValue = idsByKind.get(kind) ?? new Map<string, Set<Id>>()
        idsByKind.set(kind, idsByValue)
        const ids = idsByValue.get(value) ?? new Set()
        idsByValue.set(value, ids.add(id))
      }
    },
    remove(id, keys) {
      for (const { kind, value } of keys) {
        const idsByValue = idsByKind.get(kind)
        const ids = idsByValue?.get(value)
        ids?.delete(id)
        if (ids?.size === 0) idsByValue?.delete(value)
        if (idsByValue?.size === 0) idsByKind.delete(kind)
      }
    },
    of(facts) {
      const found: Set<Id>[] = []
      for (const [kind, idsByValue] of idsByKind) {
        for (const value of valuesOf[kind](facts)) {
          const ids = idsByValue.get(value)
          if (ids !== undefined) found.push(ids)
        }
      }
      return found
    },
  }
}

/** Each id once. */
function union<Id>(sets: readonly ReadonlySet<Id>[]): Id[] {
  const [first, ...more] = sets
  if (first === undefined) return []
  if (more.length === 0) return [...first]
  const all = new Set(first)
  for (const set of more) for (const id of set) all.add(id)
  return [...all]
}

/** True where any event with one of its keys matches this filter. */
function isOneList(filter: Filter): boolean {
  const { match: _, ...asks } = filter
  const [only, ...more] = Object.entries(asks).filter(([, wanted]) => wanted !== undefined)
  return only !== undefined && more.length === 0 && listFields.has(only[0])
}

/** Keys of which every matching event has at least one; null where no field gives such keys. */
function keysOfFilter(filter: Filter): Key[] | null {
  const own = keysOfPlain(filter)
  if (own !== null || filter.filters === undefined) return own
  const keysOfMembers = filter.filters.map(keysOfPlain)
  const complete = keysOfMembers.filter((keys) => keys !== null)
  return complete.length < keysOfMembers.length ? null : complete.flat()
}

/** The keys of one field: identifiers before codes, since fewer events have them. */
function keysOfPlain(filter: PlainFilter): Key[] | null {
  const reach = filter.match === 'related' ? 'related' : 'issuer'
  for (const field of identifierKinds) {
    const wanted = filter[identifierFields[field]]
    if (wanted !== undefined) return keysOf(`${reach} ${field}`, wanted)
  }
  if (filter.fcaCategories !== undefined) return keysOf('fca', filter.fcaCategories)
  if (filter.nativeCategories !== undefined) return keysOf('native', filter.nativeCategories)
  const preset = filter.preset === undefined ? null : presets[filter.preset]
  return preset?.keeps === 'only' ? keysOf('fca', preset.fcaCategories) : null
}

function keysOf(kind: KeyKind, values: readonly string[]): Key[] {
  return values.map((value) => ({ kind, value }))
}

/** The values of an event for the keys of a kind; one may come twice. */
const valuesOf: Readonly<Record<KeyKind, (facts: Facts) => readonly string[]>> = {
  'issuer isin': ({ issuer }) => identifiersOf([issuer], 'isin'),
  'issuer symbol': ({ issuer }) => identifiersOf([issuer], 'symbol'),
  'issuer lei': ({ issuer }) => identifiersOf([issuer], 'lei'),
  'related isin': ({ issuer, related }) => identifiersOf([issuer, ...related], 'isin'),
  'related symbol': ({ issuer, related }) => identifiersOf([issuer, ...related], 'symbol'),
  'related lei': ({ issuer, related }) => identifiersOf([issuer, ...related], 'lei'),
  fca: ({ fca }) => fca,
  native: ({ native }) => native,
}

function identifiersOf(parties: readonly Identifiers[], field: keyof Identifiers): string[] {
  return parties.flatMap((party) => party[field] ?? [])
}
