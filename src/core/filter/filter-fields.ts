/**
 * Parses and validates the plain fields of a filter from JSON values, with the limits of each field.
 * `filter-parse.ts` checks where the fields may appear.
 */

import type { FieldError } from '../../errors.ts'
import { LONGEST_ECHO, MOST_ERRORS } from '../../errors.ts'
import { didYouMean } from '../near.ts'
import { knownFcaCodes, knownNativeCodes } from './categories.ts'
import type { Importance, PlainFilter, WebhookKind } from './filter.ts'
import { importances, matchModes } from './filter.ts'
import { presetNames } from './presets.ts'

/** The names of the plain fields, in the order of contract §5. */
export const plainFieldNames = [
  'isins',
  'symbols',
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

/** State of parsing one filter, `exclude` and `filters` included. */
export interface Reading {
  /** Event kinds allowed in `types`. */
  kinds: readonly WebhookKind[]
  errors: FieldError[]
  identifiers: number
  codes: number
}

/** A JSON object whose members are not read yet. */
export type JsonFields = Readonly<Record<string, unknown>>

/** Shortest and longest `q`, in characters; a surrogate pair counts as one. */
export const Q_LENGTHS = [2, 200] as const

const identifierRules = {
  isins: {
    shape: /^[A-Z]{2}[A-Z0-9]{9}[0-9]$/,
    rule: 'an ISIN: two letters, nine letters or digits, a digit',
  },
  symbols: {
    shape: /^[^\s,\p{C}]{1,32}$/u,
    rule: 'a listing symbol: 1 to 32 characters without blank or comma',
  },
  leis: { shape: /^[A-Z0-9]{18}[0-9]{2}$/, rule: 'an LEI: 18 letters or digits, two digits' },
}
const CODE = /^[A-Za-z0-9_-]{1,16}$/
const knownCodes = { fcaCategories: knownFcaCodes, nativeCategories: knownNativeCodes }

/** Adds one error. */
export function refuse(reading: Reading, field: string, message: string): void {
  reading.errors.push({ field, message })
}

/** The name of a member inside the field `at`. */
export function fieldName(at: string, name: string): string {
  return at === '' ? name : `${at}.${name}`
}

/** An untrusted value, shortened for an error message. */
function echo(value: string): string {
  return JSON.stringify(value.length > LONGEST_ECHO ? `${value.slice(0, LONGEST_ECHO)}…` : value)
}

/** Parses the plain fields among `fields`; ignores other names. Invalid ones are left out of the result. */
export function readPlainFields(fields: JsonFields, at: string, reading: Reading): PlainFilter {
  const filter: PlainFilter = {}
  for (const name of plainFieldNames) {
    if (Object.hasOwn(fields, name)) readField(filter, name, fields[name], fieldName(at, name), reading)
  }
  refuseContradiction(filter, filter, at || 'filter', reading)
  return filter
}

/** Adds an error where no item can match both fields, e.g. a listing symbol of the issuer, and none. */
export function refuseContradiction(
  asking: PlainFilter,
  forbidding: PlainFilter,
  at: string,
  reading: Reading,
): void {
  if (forbidding.hasSymbol === false && asking.symbols !== undefined && asking.match !== 'related') {
    refuse(reading, at, 'can never match: symbols beside hasSymbol false')
  }
}

function readField(
  filter: PlainFilter,
  name: keyof PlainFilter,
  value: unknown,
  at: string,
  reading: Reading,
): void {
  switch (name) {
    case 'isins':
    case 'symbols':
    case 'leis':
      filter[name] = readIdentifiers(value, at, name, reading)
      return
    case 'fcaCategories':
    case 'nativeCategories':
      filter[name] = readCodes(value, at, name, reading)
      return
    case 'importance':
      filter.importance = readImportance(value, at, reading)
      return
    case 'types':
      filter.types = readList(value, at, reading, (member, place) =>
        readWord(member, place, reading.kinds, reading),
      )
      return
    case 'match': {
      const match = readWord(value, at, matchModes, reading)
      if (match !== null) filter.match = match
      return
    }
    case 'preset': {
      const preset = readWord(value, at, presetNames, reading)
      if (preset !== null) filter.preset = preset
      return
    }
    case 'hasSymbol':
      if (typeof value === 'boolean') filter.hasSymbol = value
      else refuse(reading, at, 'must be true or false')
      return
    case 'q': {
      const q = readHeadlinePart(value, at, reading)
      if (q !== null) filter.q = q
    }
  }
}

/** Every member that `readMember` accepts, each once. Stops at the limit of reported errors. */
function readList<T>(
  value: unknown,
  at: string,
  reading: Reading,
  readMember: (member: unknown, at: string) => T | null,
): T[] {
  if (!Array.isArray(value)) {
    refuse(reading, at, 'must be a list')
    return []
  }
  if (value.length === 0) refuse(reading, at, 'is empty; name at least one value or leave the field out')
  const members = new Set<T>()
  for (const [index, member] of value.entries()) {
    if (reading.errors.length >= MOST_ERRORS) break
    const accepted = readMember(member, `${at}[${index}]`)
    if (accepted !== null) members.add(accepted)
  }
  return [...members]
}

function readText(value: unknown, at: string, reading: Reading): string | null {
  if (typeof value === 'string') return value
  refuse(reading, at, 'must be text')
  return null
}

function readWord<W extends string>(
  value: unknown,
  at: string,
  words: readonly W[],
  reading: Reading,
): W | null {
  const text = readText(value, at, reading)
  if (text === null) return null
  const word = words.find((candidate) => candidate === text)
  if (word !== undefined) return word
  refuse(reading, at, `${echo(text)} is not one of ${words.join(', ')}${didYouMean(text, words)}`)
  return null
}

function readIdentifiers(
  value: unknown,
  at: string,
  name: keyof typeof identifierRules,
  reading: Reading,
): string[] {
  const { shape, rule } = identifierRules[name]
  if (Array.isArray(value)) reading.identifiers += value.length
  return readList(value, at, reading, (member, place) => {
    const text = readText(member, place, reading)?.toUpperCase() ?? null
    if (text === null || shape.test(text)) return text
    refuse(reading, place, `${echo(text)} is not ${rule}`)
    return null
  })
}

function readCodes(value: unknown, at: string, name: keyof typeof knownCodes, reading: Reading): string[] {
  if (Array.isArray(value)) reading.codes += value.length
  return readList(value, at, reading, (member, place) => {
    const text = readText(member, place, reading)
    if (text === null) return null
    if (!CODE.test(text)) {
      refuse(
        reading,
        place,
        `${echo(text)} is not a code: 1 to 16 letters, digits, "_" or "-"${didYouMean(text, knownCodes[name])}`,
      )
      return null
    }
    const known = knownCodes[name].find((code) => code === text.toUpperCase())
    if (known === undefined || known === text) return text
    refuse(reading, place, `${echo(text)} is no code – did you mean "${known}"? Case counts`)
    return null
  })
}

/** A list of levels, or one text `<level>+` for that level and those above. */
function readImportance(value: unknown, at: string, reading: Reading): Importance[] {
  if (typeof value !== 'string') {
    return readList(value, at, reading, (member, place) => readWord(member, place, importances, reading))
  }
  const level = value.endsWith('+') ? readWord(value.slice(0, -1), at, importances, reading) : null
  if (level !== null) return importances.slice(importances.indexOf(level))
  if (!value.endsWith('+')) {
    refuse(reading, at, 'must be a list of levels, or one text such as "high+" for that level and above')
  }
  return []
}

function readHeadlinePart(value: unknown, at: string, reading: Reading): string | null {
  const text = readText(value, at, reading)
  if (text === null) return null
  const [shortest, longest] = Q_LENGTHS
  const length = [...text].length
  if (text.trim() === '' || length < shortest || length > longest) {
    refuse(reading, at, `must have ${shortest} to ${longest} characters, not all of them blank`)
    return null
  }
  if (!text.isWellFormed() || text.includes('\0')) {
    refuse(reading, at, 'must be plain text: half a character or NUL is in no headline')
    return null
  }
  return text.toLowerCase()
}
