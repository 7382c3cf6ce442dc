/**
 * A filter made ready for many events. Owns only the speed: long identifier lists are looked up in a set instead of
 * being walked for each event. Refuses to have a meaning of its own: `matches` of core/filter/filter.ts decides.
 */
import type { Facts, Identifiers } from '../../core/filter/facts.ts'
import type { Filter, PlainFilter } from '../../core/filter/filter.ts'
import { matches } from '../../core/filter/filter.ts'

/** Lists up to this long are walked as they are. */
const SHORT = 16

type Cut<F extends PlainFilter> = (facts: Facts) => F

/** A function that says the same as `matches(filter, facts)`, at a cost that does not grow with the filter's lists. */
export function matcherFor(filter: Filter): (facts: Facts) => boolean {
  if (![filter, filter.exclude, ...(filter.filters ?? [])].some(isLong))
    return (facts) => matches(filter, facts)
  const own = cutterFor(filter)
  const exclude = filter.exclude === undefined ? undefined : cutterFor(filter.exclude)
  const members = filter.filters?.map((member) => cutterFor(member))
  return (facts) => {
    const cut: Filter = own(facts)
    if (exclude !== undefined) cut.exclude = exclude(facts)
    if (members !== undefined) cut.filters = members.map((member) => member(facts))
    return matches(cut, facts)
  }
}

function isLong(filter: PlainFilter | undefined): boolean {
  return [filter?.isins, filter?.symbols, filter?.leis].some((list) => (list?.length ?? 0) > SHORT)
}

/** Cuts each identifier list down to what this event has of it: to this event the filter stays the same. */
function cutterFor<F extends PlainFilter>(filter: F): Cut<F> {
  const isins = setOf(filter.isins)
  const symbols = setOf(filter.symbols)
  const leis = setOf(filter.leis)
  return (facts) => {
    const parties = [facts.issuer, ...facts.related]
    const cut = { ...filter }
    if (isins !== null) cut.isins = present(isins, parties, 'isin')
    if (symbols !== null) cut.symbols = present(symbols, parties, 'symbol')
    if (leis !== null) cut.leis = present(leis, parties, 'lei')
    return cut
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
