/**
 * Parses an event filter from query parameters: the same names as in JSON, lists comma-separated or repeated.
 * `filter-parse.ts` validates the fields.
 */
import type { FieldError } from '../../errors.ts'
import { readJson } from '../json-structure.ts'
import type { Filter } from './filter.ts'
import { filterError, parseFilter, plainFieldNames } from './filter-parse.ts'

/** Fields that have no query-string form; each gets an error that says where it belongs. */
const jsonOnly: readonly string[] = ['exclude', 'filters']

/** Every query parameter that `parseFilterQuery` reads, so that callers can separate their own. */
export const FILTER_PARAMETERS: readonly string[] = [...plainFieldNames, 'filter', ...jsonOnly]

const singleFields: readonly string[] = ['match', 'q', 'hasSymbol', 'preset']
const flags: Readonly<Record<string, boolean>> = { true: true, false: false }

/**
 * Reads the filter among query parameters; ignores other parameters.
 * @returns null where no parameter belongs to a filter
 * @throws BridgeError `filter_invalid` as `parseFilter`
 */
export function parseFilterQuery(params: URLSearchParams): Filter | null {
  const value = filterValue(params)
  return value === undefined ? null : parseFilter(value, params.has('filter') ? 'filter' : '')
}

/**
 * The JSON form of the filter among query parameters, not validated yet; undefined where no parameter belongs to one.
 * @throws BridgeError `filter_invalid` where the parameters exclude each other, or `filter` is not JSON or names a member twice
 */
export function filterValue(params: URLSearchParams): unknown {
  const names = FILTER_PARAMETERS.filter((name) => params.has(name))
  const misplaced = names.filter((name) => jsonOnly.includes(name))
  if (misplaced.length > 0) refuseAll(misplaced, 'exists only inside filter=<JSON>')
  if (names.length === 0) return undefined
  if (!names.includes('filter')) return jsonForm(names, params)
  const others = names.filter((name) => name !== 'filter')
  if (others.length > 0) refuseAll(others, 'does not go together with filter=<JSON>; move it inside')
  return parsedJson(single(params, 'filter'))
}

function refuseAll(names: readonly string[], message: string): never {
  throw filterError(names.map((field): FieldError => ({ field, message })))
}

function single(params: URLSearchParams, name: string): string {
  const [value = '', ...more] = params.getAll(name)
  return more.length === 0 ? value : refuseAll([name], 'is given more than once; it takes one value')
}

function parsedJson(text: string): unknown {
  const read = readJson(text)
  return read.ok ? read.value : refuseAll(['filter'], read.reason)
}

/** The JSON form of the same filter, not validated yet. */
function jsonForm(names: readonly string[], params: URLSearchParams): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, jsonValue(name, params)]))
}

function jsonValue(name: string, params: URLSearchParams): unknown {
  if (singleFields.includes(name)) {
    const text = single(params, name)
    return name === 'hasSymbol' && Object.hasOwn(flags, text) ? flags[text] : text
  }
  const values = params.getAll(name).flatMap((text) => text.split(','))
  const [only = ''] = values
  if (values.length > 1) return values
  if (name === 'importance' && /[+ ]$/.test(only)) return `${only.slice(0, -1)}+`
  return only === '' ? [] : values
}
