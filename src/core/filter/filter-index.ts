/**
 * Finds which of many filters match an event, by an inverted index of the filters' identifiers and category codes. A filter
 * that is a single list matches as soon as one entry does; `matches` in `filter.ts` tests every other candidate.
 */
import type { Facts, Identifiers } from './facts.ts'
import type { Filter, PlainFilter } from './filter.ts'
import { matches } from './filter.ts'
import { presets } from './presets.ts'

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

/** An index of filters by the id of their subscriber. */
export class FilterIndex<Id> {
  readonly #filters = new Map<Id, Filter>()
  /** Filters that match every event with the key: testing a list of 10,000 identifiers takes 0.1 ms an event. */
  readonly #decided = new KeyedIds<Id>()
  /** Filters that need one of their keys; `matches` tests the rest. */
  readonly #candidates = new KeyedIds<Id>()
  /** Filters without keys: `matches` tests them on every event. */
  readonly #unkeyed = new Set<Id>()

  /** Filters registered. */
  get size(): number {
    return this.#filters.size
  }

  /** Adds a filter; replaces the present one of the same id. */
  add(id: Id, filter: Filter): void {
    if (this.#filters.get(id) === filter) return
    this.remove(id)
    this.#filters.set(id, filter)
    const keys = keysOfFilter(filter)
    if (keys === null) this.#unkeyed.add(id)
    else (isOneList(filter) ? this.#decided : this.#candidates).add(id, keys)
  }

  /** Removes a filter; an unknown id is no error. */
  remove(id: Id): void {
    const filter = this.#filters.get(id)
    if (filter === undefined) return
    const keyed = isOneList(filter) ? this.#decided : this.#candidates
    keyed.remove(id, keysOfFilter(filter) ?? [])
    this.#unkeyed.delete(id)
    this.#filters.delete(id)
  }

  /** Exactly the ids whose filter matches, each once, in no promised order. */
  match(facts: Facts): Id[] {
    if (facts.kind === 'gap') return [...this.#filters.keys()]
    const candidates = [...union(this.#candidates.of(facts)), ...this.#unkeyed]
    const wanting = candidates.filter((id) => {
      const filter = this.#filters.get(id)
      return filter !== undefined && matches(filter, facts)
    })
    return [...union(this.#decided.of(facts)), ...wanting]
  }
}

/**
 * Ids by key. One map per kind: unused kinds cost nothing, and no combined key has to be built. The id of a key that one
 * filter has is held without a set, which would take 200 bytes for each of its 10,000 identifiers.
 */
class KeyedIds<Id> {
  readonly #byKind = new Map<KeyKind, Map<string, Id | Set<Id>>>()

  add(id: Id, keys: readonly Key[]): void {
    for (const { kind, value } of keys) {
      const idsByValue = this.#byKind.get(kind) ?? new Map<string, Id | Set<Id>>()
      this.#byKind.set(kind, idsByValue)
      const held = idsByValue.get(value)
      if (held instanceof Set) held.add(id)
      else idsByValue.set(value, held === undefined || held === id ? id : new Set([held, id]))
    }
  }

  remove(id: Id, keys: readonly Key[]): void {
    for (const { kind, value } of keys) {
      const idsByValue = this.#byKind.get(kind)
      const held = idsByValue?.get(value)
      const isLast = held instanceof Set ? held.delete(id) && held.size === 0 : held === id
      if (isLast) idsByValue?.delete(value)
      if (idsByValue?.size === 0) this.#byKind.delete(kind)
    }
  }

  /** The sets of ids for the keys of the event. */
  of(facts: Facts): ReadonlySet<Id>[] {
    return [...this.#byKind].flatMap(([kind, idsByValue]) =>
      valuesOf[kind](facts).flatMap((value) => {
        const held = idsByValue.get(value)
        if (held === undefined) return []
        return held instanceof Set ? held : new Set([held])
      }),
    )
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
