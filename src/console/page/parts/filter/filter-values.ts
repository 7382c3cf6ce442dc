/** Changes filters and writes them as JSON, as a command and in words. Pure; the bridge alone decides what is valid. */
import type { Filter, PlainFilter } from '../../../../../clients/typescript/src/messages.ts'

/** Fields whose value is a list of texts. */
export const listFields = ['symbols', 'isins', 'leis', 'fcaCategories', 'nativeCategories'] as const
export type ListField = (typeof listFields)[number]

/** Importance, lowest first. */
export const importanceLevels = ['low', 'medium', 'high', 'ultra'] as const

const plainOrder = [
  'symbols',
  'isins',
  'leis',
  'match',
  'fcaCategories',
  'nativeCategories',
  'importance',
  'q',
  'hasSymbol',
  'types',
  'preset',
] as const satisfies readonly (keyof PlainFilter)[]

/** The filter with its fields in one order and without empty ones, so that equal filters have equal texts. */
export function tidyFilter(filter: Filter): Filter {
  const exclude = filter.exclude === undefined ? {} : tidyMember(filter.exclude)
  const members = (filter.filters ?? []).map(tidyMember).filter((member) => !isEmpty(member))
  return {
    ...tidyPlain(filter),
    ...(!isEmpty(exclude) && { exclude }),
    ...(members.length > 0 && { filters: members }),
    ...unknownOf(filter, ['exclude', 'filters']),
  }
}

/** Members that this page does not know stay, nested ones too: the bridge says what is wrong with them. */
function unknownOf(filter: PlainFilter, besides: readonly string[] = []): object {
  const known: readonly string[] = [...plainOrder, ...besides]
  return Object.fromEntries(Object.entries(filter).filter(([name]) => !known.includes(name)))
}

function tidyPlain(filter: PlainFilter): PlainFilter {
  const entries = plainOrder.map((name) => [name, filter[name]] as const)
  return Object.fromEntries(entries.filter(([, value]) => !isBlank(value)))
}

function tidyMember(filter: PlainFilter): PlainFilter {
  return { ...tidyPlain(filter), ...unknownOf(filter) }
}

function isBlank(value: unknown): boolean {
  return value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)
}

function isEmpty(filter: PlainFilter): boolean {
  return Object.entries(filter).every(([name, value]) => name === 'match' || isBlank(value))
}

/** Canonical JSON; empty text for the filter that matches everything. */
export function filterText(filter: Filter): string {
  const text = JSON.stringify(tidyFilter(filter))
  return text === '{}' ? '' : text
}

/** The filter of an address or a text field; null for text that is no filter, so that none is taken for a wider one. */
export function readFilterText(text: string | null): Filter | null {
  if (text === null || text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? readable(value) : null
  } catch {
    return null
  }
}

/** What the form can show of a JSON object; null where a member has another shape, or is empty and would be left out. */
function readable(value: object): Filter | null {
  const { exclude, filters } = value as Filter
  const isObject = (member: unknown): boolean =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
  if (exclude !== undefined && !isObject(exclude)) return null
  if (filters !== undefined && !(Array.isArray(filters) && filters.every(isObject))) return null
  const all = [value, exclude ?? {}, ...(filters ?? [])] as PlainFilter[]
  const isTextList = (list: unknown): boolean =>
    Array.isArray(list) && list.length > 0 && list.every((entry) => typeof entry === 'string')
  const lists: readonly (keyof PlainFilter)[] = [...listFields, 'types']
  const fits = all.every(
    (plain) =>
      lists.every((name) => plain[name] === undefined || isTextList(plain[name])) &&
      (plain.importance === undefined ||
        typeof plain.importance === 'string' ||
        isTextList(plain.importance)) &&
      (plain.q === undefined || (typeof plain.q === 'string' && plain.q !== '')) &&
      (plain.preset === undefined || typeof plain.preset === 'string'),
  )
  return fits ? (value as Filter) : null
}

/** The levels that an importance names, `high+` expanded. */
export function levelsOf(importance: PlainFilter['importance']): readonly string[] {
  if (importance === undefined) return []
  if (typeof importance !== 'string') return importance
  const at = importanceLevels.findIndex((level) => `${level}+` === importance)
  return at < 0 ? [] : importanceLevels.slice(at)
}

/** The shortest form of some levels: `high+` for a level and all above; undefined for none. */
export function importanceOf(levels: readonly string[]): PlainFilter['importance'] {
  const chosen = importanceLevels.filter((level) => levels.includes(level))
  const [lowest] = chosen
  if (lowest === undefined) return undefined
  const above = importanceLevels.slice(importanceLevels.indexOf(lowest))
  return chosen.length > 1 && chosen.length === above.length ? `${lowest}+` : chosen
}

/** Which list an identifier belongs in, by its shape. */
export function identifierField(text: string): ListField {
  if (/^[A-Z]{2}[A-Z0-9]{9}[0-9]$/i.test(text)) return 'isins'
  return /^[A-Z0-9]{18}[0-9]{2}$/i.test(text) ? 'leis' : 'symbols'
}

/** The filter that also asks for this value. */
export function onlyThis(filter: Filter, field: ListField, value: string): Filter {
  const values = filter[field] ?? []
  return tidyFilter({ ...filter, [field]: values.includes(value) ? values : [...values, value] })
}

/**
 * The filter that also leaves out this value; null where the grammar has no such filter, because what is left out must match
 * all fields of `exclude`.
 */
export function notThis(filter: Filter, field: ListField, value: string): Filter | null {
  const exclude = tidyFilter(filter).exclude ?? {}
  if (Object.keys(exclude).some((name) => name !== field)) return null
  const values = exclude[field] ?? []
  return tidyFilter({ ...filter, exclude: { [field]: values.includes(value) ? values : [...values, value] } })
}

/** The filter in a few words each, e.g. "importance high and above"; none for the filter that matches everything. */
export function filterWords(filter: Filter): string[] {
  const { exclude, filters } = tidyFilter(filter)
  return [
    ...plainWords(filter),
    ...(exclude === undefined ? [] : [`without ${plainWords(exclude).join(' and ')}`]),
    ...(filters === undefined
      ? []
      : [`any of: ${filters.map((one) => plainWords(one).join(' and ')).join('; or ')}`]),
  ]
}

function plainWords(filter: PlainFilter): string[] {
  const list = (values: readonly string[] | undefined): string =>
    (values ?? []).length > 4
      ? `${values?.slice(0, 3).join(', ')} and ${(values?.length ?? 0) - 3} more`
      : (values ?? []).join(', ')
  const words: [boolean, string][] = [
    [filter.preset !== undefined, `preset ${filter.preset}`],
    [filter.symbols !== undefined, `symbol ${list(filter.symbols)}`],
    [filter.isins !== undefined, `ISIN ${list(filter.isins)}`],
    [filter.leis !== undefined, `LEI ${list(filter.leis)}`],
    [filter.match === 'related', 'or related to them'],
    [filter.match === 'exact', 'exactly that instrument'],
    [filter.fcaCategories !== undefined, `category ${list(filter.fcaCategories)}`],
    [filter.nativeCategories !== undefined, `group ${list(filter.nativeCategories)}`],
    [filter.importance !== undefined, `importance ${importanceWords(filter.importance)}`],
    [filter.q !== undefined, `headline with “${filter.q}”`],
    [filter.hasSymbol === true, 'with a listing symbol'],
    [filter.hasSymbol === false, 'without a listing symbol'],
    [filter.types !== undefined, `${list(filter.types)} only`],
    ...Object.keys(unknownOf(filter, ['exclude', 'filters'])).map((name): [boolean, string] => [
      true,
      `“${name}”, which is no field of a filter`,
    ]),
  ]
  return words.filter(([isThere]) => isThere).map(([, text]) => text)
}

function importanceWords(importance: PlainFilter['importance']): string {
  return typeof importance === 'string'
    ? importance.replace('+', ' and above')
    : (importance ?? []).join(', ')
}

/** The command that follows the stream with this filter, in two forms; `bridge`: how the command line is called. */
export function commandsOf(filter: Filter, origin: string, bridge: string): { curl: string; tail: string } {
  const text = filterText(filter)
  const given = text === '' ? '' : ` --data-urlencode ${quoted(`filter=${text}`)}`
  return {
    curl: `curl -sN -G -H "Authorization: Bearer $BRIDGE_ADMIN_TOKEN"${given} ${origin}/v1/events`,
    tail: `${bridge} tail${text === '' ? '' : ` --filter ${quoted(text)}`}`,
  }
}

/** One word of a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
