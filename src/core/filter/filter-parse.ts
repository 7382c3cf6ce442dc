/**
 * Parses a filter from JSON (contract §5), checks the limits of the whole filter and rejects filters that can never
 * match.
 */
import type { FieldError } from '../../errors.ts'
import { BridgeError, MOST_ERRORS } from '../../errors.ts'
import { didYouMean } from '../near.ts'
import type { Filter, PlainFilter, WebhookKind } from './filter.ts'
import { eventKinds } from './filter.ts'
import type { JsonFields, Reading } from './filter-fields.ts'
import { fieldName, plainFieldNames, readPlainFields, refuse, refuseContradiction } from './filter-fields.ts'

/** Most identifiers in one filter, `exclude` and `filters` included. */
export const IDENTIFIER_LIMIT = 10_000
/** Most category codes in one filter, `exclude` and `filters` included; those of presets do not count. */
export const CODE_LIMIT = 200
/** Most members of `filters`. */
export const MEMBER_LIMIT = 32

const nestingNames: readonly string[] = ['exclude', 'filters']

/**
 * Reads a filter's JSON form.
 * @param at name of the field that holds it, put before the names in errors, e.g. `filter`; empty for none
 * @param kinds event kinds allowed in `types`: more for a webhook (`webhookKinds`) than for readers of the log
 * @throws BridgeError `filter_invalid` with each wrong field (at most 20 of them)
 */
export function parseFilter(value: unknown, at = '', kinds: readonly WebhookKind[] = eventKinds): Filter {
  const reading: Reading = { kinds, errors: [], identifiers: 0, codes: 0 }
  const filter = readFilter(value, at, reading)
  refuseTooMany(reading.identifiers, IDENTIFIER_LIMIT, 'identifiers', at, reading)
  refuseTooMany(reading.codes, CODE_LIMIT, 'category codes', at, reading)
  if (reading.errors.length > 0) throw filterError(reading.errors)
  return filter
}

/** The error for a filter with these invalid fields (at least one). */
export function filterError(errors: readonly FieldError[]): BridgeError {
  const sentences = errors.map(({ field, message }) => `${field} ${message}`)
  return new BridgeError('filter_invalid', `the filter is refused: ${sentences[0]}`, {
    hint: 'Correct the named fields; docs/use/filters.md lists every field and limit.',
    errors: errors.slice(0, MOST_ERRORS),
  })
}

function readFilter(value: unknown, at: string, reading: Reading): Filter {
  const fields = readObject(value, at || 'filter', reading)
  if (fields === null) return {}
  refuseUnknown(fields, at, [...plainFieldNames, ...nestingNames], reading)
  const filter: Filter = readPlainFields(fields, at, reading)
  if (Object.hasOwn(fields, 'exclude')) {
    filter.exclude = readInner(fields.exclude, fieldName(at, 'exclude'), reading)
  }
  if (Object.hasOwn(fields, 'filters')) {
    filter.filters = readMembers(fields.filters, fieldName(at, 'filters'), reading)
  }
  filter.filters?.forEach((member, index) => {
    const place = `${fieldName(at, 'filters')}[${index}]`
    refuseContradiction(filter, member, place, reading)
    refuseContradiction(member, filter, place, reading)
  })
  return filter
}

function readMembers(value: unknown, at: string, reading: Reading): PlainFilter[] {
  if (!Array.isArray(value)) refuse(reading, at, 'must be a list of objects')
  else if (value.length === 0) refuse(reading, at, 'is empty; name at least one filter or leave it out')
  else if (value.length > MEMBER_LIMIT) refuseTooMany(value.length, MEMBER_LIMIT, 'members', at, reading)
  else return value.map((member, index) => readInner(member, `${at}[${index}]`, reading))
  return []
}

/** A plain filter inside `exclude` or `filters`; it must have at least one field. */
function readInner(value: unknown, at: string, reading: Reading): PlainFilter {
  const fields = readObject(value, at, reading)
  if (fields === null) return {}
  const names = Object.keys(fields)
  if (names.every((name) => name === 'match'))
    refuse(reading, at, 'is empty; name at least one field or leave it out')
  for (const name of nestingNames.filter((nesting) => names.includes(nesting))) {
    refuse(reading, fieldName(at, name), 'is allowed only at the top of a filter')
  }
  refuseUnknown(fields, at, [...plainFieldNames, ...nestingNames], reading)
  return readPlainFields(fields, at, reading)
}

function readObject(value: unknown, at: string, reading: Reading): JsonFields | null {
  if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value as JsonFields
  refuse(reading, at, 'must be a JSON object')
  return null
}

function refuseUnknown(fields: JsonFields, at: string, known: readonly string[], reading: Reading): void {
  for (const name of Object.keys(fields).filter((present) => !known.includes(present))) {
    if (reading.errors.length >= MOST_ERRORS) return
    refuse(reading, fieldName(at, name.slice(0, 64)), `is not a field of a filter${didYouMean(name, known)}`)
  }
}

function refuseTooMany(count: number, most: number, what: string, at: string, reading: Reading): void {
  if (count > most) refuse(reading, at || 'filter', `has ${count} ${what}; the most is ${most}`)
}
