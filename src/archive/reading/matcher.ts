/**
 * Compiles an event filter into a function whose cost per event does not grow with the length of the filter's identifier
 * lists. Its result is always that of `matches` in `core/filter/filter.ts`.
 */
import type { Facts, Identifiers } from '../../core/filter/facts.ts'
import type { Filter, PlainFilter } from '../../core/filter/filter.ts'
import { matches } from '../../core/filter/filter.ts'

/** Lists up to this length are searched linearly. */
const SHORT = 16

type Reduce<F extends PlainFilter> = (facts: Facts) => F

/** A function with the result of `matches(filter, facts)`: long identifier lists are looked up in sets. */
export function matcherFor(filter: Filter): (facts: Facts) => boolean {
  if (![filter, filter.exclude, ...(filter.filters ?? [])].some(isLong))
    return (facts) => matches(filter, facts)
  const own = reducerFor(filter)
  const exclude = filter.exclude === undefined ? undefined : reducerFor(filter.exclude)
  const members = filter.filters?.map((member) => reducerFor(member))
  return (facts) => {
    const reduced: Filter = own(facts)
    if (exclude !== undefined) reduced.exclude = exclude(facts)
    if (members !== undefined) reduced.filters = members.map((member) => member(facts))
    return matches(reduced, facts)
  }
}

function isLong(filter: PlainFilter | undefined): boolean {
  return [filter?.isins, filter?.symbols, filter?.leis].some((list) => (list?.length ?? 0) > SHORT)
}

/** Reduces each identifier list to the values that the event has; for that event the filter matches as before. */
function reducerFor<F extends PlainFilter>(filter: F): Reduce<F> {
  const isins = setOf(filter.isins)
  const symbols = setOf(filter.symbols)
  const leis = setOf(filter.leis)
  return (facts) => {
    const parties = [facts.issuer, ...facts.related]
    const reduced = { ...filter }
    if (isins !== null) reduced.isins = present(isins, parties, 'isin')
    if (symbols !== null) reduced.symbols = present(symbols, parties, 'symbol')
    if (leis !== null) reduced.leis = present(leis, parties, 'lei')
    return reduced
  }
}

function setOf(list: readonly string[] | undefined): Set<string> | null {
  return list === undefined ? null : new Set(list)
}

function present(wanted: Set<string>, parties: readonly Identifiers[], field: keyof Identifiers): string[] {
  return parties.flatMap((party) => {
    const value = party[field]
    return value !== undefined && wanted.has(value) ? [value] : []
  })
}
