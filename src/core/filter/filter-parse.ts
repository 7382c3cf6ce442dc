/**
 * Parses an event filter from JSON: validates every field, checks the limits of the whole filter and rejects filters that
 * can never match.
 */
import { BridgeError, echo, type FieldError, MOST_ERRORS } from '../../errors.ts'
import { ISIN_SHAPE } from '../check-digits.ts'
import { AMENDED, PUBLISHED } from '../event.ts'
import { didYouMean } from '../near.ts'
import { knownFcaCodes, knownNativeCodes } from './categories.ts'
import {
  eventKinds,
  type Filter,
  type Importance,
  importances,
  matchModes,
  noticeKinds,
  type PlainFilter,
  type WebhookKind,
} from './filter.ts'
import { presetNames } from './presets.ts'

/** The names of the plain fields, in the order in which the reference lists them. */
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
const nestingNames: readonly string[] = ['exclude', 'filters']
const fieldNames: readonly string[] = [...plainFieldNames, ...nestingNames]

/** Most identifiers in one filter, `exclude` and `filters` included. */
export const IDENTIFIER_LIMIT = 10_000
/** Most category codes in one filter, `exclude` and `filters` included; those of presets do not count. */
export const CODE_LIMIT = 200
/** Most members of `filters`. */
export const MEMBER_LIMIT = 32
/** Shortest and longest `q`, in characters; a surrogate pair counts as one. */
export const Q_LENGTHS = [2, 200] as const

const ISIN = {
  shape: ISIN_SHAPE,
  rule: 'an ISIN: two letters, nine letters or digits, a digit',
}
const SYMBOL = {
  shape: /^[^\s,\p{C}]{1,32}$/u,
  rule: 'a listing symbol: 1 to 32 characters without blank or comma',
}
const LEI = { shape: /^[A-Z0-9]{18}[0-9]{2}$/, rule: 'an LEI: 18 letters or digits, two digits' }
/** Not the types of gaps: a filter does not tell their states apart. */
const KIND_OF_TYPE: ReadonlyMap<unknown, WebhookKind> = new Map<unknown, WebhookKind>([
  [PUBLISHED, 'published'],
  [AMENDED, 'amended'],
  ...noticeKinds.map((kind): [unknown, WebhookKind] => [`${kind}.v1`, kind]),
])
const CODE = /^[A-Za-z0-9_-]{1,16}$/

/**
 * Reads a filter's JSON form.
 * @param at name of the field that holds it, put before the names in errors, e.g. `filter`; empty for none
 * @param kinds event kinds allowed in `types`: more for a webhook (`webhookKinds`) than for readers of the log
 * @throws BridgeError `filter_invalid` with each wrong field (at most 20 of them)
 */
export function parseFilter(value: unknown, at = '', kinds: readonly WebhookKind[] = eventKinds): Filter {
  const reader = new FilterReader(kinds)
  const filter = reader.read(value, at)
  if (reader.errors.length > 0) throw filterError(reader.errors)
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

/** A JSON object whose members are not read yet. */
type JsonFields = Readonly<Record<string, unknown>>

/** Reads the value of one field, named `at` in errors; null where it is invalid. */
type FieldReader<T> = (value: unknown, at: string) => T | null

/** Reads one filter and collects what is wrong with it; stops inside a list at the limit of reported errors. */
class FilterReader {
  readonly errors: FieldError[] = []
  readonly #fields: { [Name in keyof PlainFilter]-?: FieldReader<NonNullable<PlainFilter[Name]>> }
  #identifiers = 0
  #codes = 0

  constructor(kinds: readonly WebhookKind[]) {
    this.#fields = {
      isins: this.#identifiersOf(ISIN),
      symbols: this.#identifiersOf(SYMBOL),
      leis: this.#identifiersOf(LEI),
      match: this.#word(matchModes),
      fcaCategories: this.#codesOf(knownFcaCodes),
      nativeCategories: this.#codesOf(knownNativeCodes),
      importance: (value, at) => this.#importance(value, at),
      q: (value, at) => this.#headlinePart(value, at),
      hasSymbol: (value, at) =>
        typeof value === 'boolean' ? value : this.#refuse(at, 'must be true or false'),
      types: this.#list(this.#kind(kinds)),
      preset: this.#word(presetNames),
    }
  }

  /** The filter, without its invalid fields. */
  read(value: unknown, at: string): Filter {
    const fields = this.#object(value, at || 'filter')
    if (fields === null) return {}
    const filter: Filter = this.#plainFields(fields, at)
    if (Object.hasOwn(fields, 'exclude')) {
      filter.exclude = this.#inner(fields.exclude, fieldName(at, 'exclude'))
    }
    if (Object.hasOwn(fields, 'filters')) {
      filter.filters = this.#members(fields.filters, fieldName(at, 'filters'))
    }
    filter.filters?.forEach((member, index) => {
      const place = `${fieldName(at, 'filters')}[${index}]`
      this.#refuseContradiction(filter, member, place)
      this.#refuseContradiction(member, filter, place)
    })
    this.#refuseTooMany(this.#identifiers, IDENTIFIER_LIMIT, 'identifiers', at)
    this.#refuseTooMany(this.#codes, CODE_LIMIT, 'category codes', at)
    return filter
  }

  #plainFields(fields: JsonFields, at: string): PlainFilter {
    for (const name of Object.keys(fields).filter((present) => !fieldNames.includes(present))) {
      if (this.errors.length >= MOST_ERRORS) break
      const near = didYouMean(name, fieldNames)
      this.#refuse(fieldName(at, name.slice(0, 64)), `is not a field of a filter${near}`)
    }
    const values = plainFieldNames
      .filter((name) => Object.hasOwn(fields, name))
      .map((name) => [name, this.#fields[name](fields[name], fieldName(at, name))])
    const filter: PlainFilter = Object.fromEntries(values.filter(([, value]) => value !== null))
    this.#refuseContradiction(filter, filter, at || 'filter')
    return filter
  }

  #members(value: unknown, at: string): PlainFilter[] {
    if (!Array.isArray(value)) this.#refuse(at, 'must be a list of objects')
    else if (value.length === 0) this.#refuse(at, 'is empty; name at least one filter or leave it out')
    else if (value.length > MEMBER_LIMIT) this.#refuseTooMany(value.length, MEMBER_LIMIT, 'members', at)
    else return value.map((member, index) => this.#inner(member, `${at}[${index}]`))
    return []
  }

  /** A plain filter inside `exclude` or `filters`; it must have at least one field. */
  #inner(value: unknown, at: string): PlainFilter {
    const fields = this.#object(value, at)
    if (fields === null) return {}
    const names = Object.keys(fields)
    if (names.every((name) => name === 'match')) {
      this.#refuse(at, 'is empty; name at least one field or leave it out')
    }
    for (const name of nestingNames.filter((nesting) => names.includes(nesting))) {
      this.#refuse(fieldName(at, name), 'is allowed only at the top of a filter')
    }
    return this.#plainFields(fields, at)
  }

  #object(value: unknown, at: string): JsonFields | null {
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value as JsonFields
    return this.#refuse(at, 'must be a JSON object')
  }

  /** Every member that `read` accepts, each once. */
  #list<T>(read: FieldReader<T>): FieldReader<T[]> {
    return (value, at) => {
      if (!Array.isArray(value)) return this.#refuse(at, 'must be a list')
      if (value.length === 0) this.#refuse(at, 'is empty; name at least one value or leave the field out')
      const members = new Set<T>()
      for (const [index, member] of value.entries()) {
        if (this.errors.length >= MOST_ERRORS) break
        const accepted = read(member, `${at}[${index}]`)
        if (accepted !== null) members.add(accepted)
      }
      return [...members]
    }
  }

  #text(value: unknown, at: string): string | null {
    return typeof value === 'string' ? value : this.#refuse(at, 'must be text')
  }

  #word<W extends string>(words: readonly W[]): FieldReader<W> {
    return (value, at) => {
      const text = this.#text(value, at)
      if (text === null) return null
      const word = words.find((candidate) => candidate === text)
      if (word !== undefined) return word
      return this.#refuse(at, `${echo(text)} is not one of ${words.join(', ')}${didYouMean(text, words)}`)
    }
  }

  /** Also takes the CloudEvents type where one kind is exactly that. */
  #kind(kinds: readonly WebhookKind[]): FieldReader<WebhookKind> {
    const kind = this.#word(kinds)
    return (value, at) => kind(KIND_OF_TYPE.get(value) ?? value, at)
  }

  #identifiersOf({ shape, rule }: typeof ISIN): FieldReader<string[]> {
    const list = this.#list((member, at) => {
      const text = this.#text(member, at)?.toUpperCase() ?? null
      return text === null || shape.test(text) ? text : this.#refuse(at, `${echo(text)} is not ${rule}`)
    })
    return (value, at) => {
      if (Array.isArray(value)) this.#identifiers += value.length
      return list(value, at)
    }
  }

  #codesOf(knownCodes: readonly string[]): FieldReader<string[]> {
    const list = this.#list((member, at) => {
      const text = this.#text(member, at)
      if (text === null) return null
      if (!CODE.test(text)) {
        const near = didYouMean(text, knownCodes)
        return this.#refuse(at, `${echo(text)} is not a code: 1 to 16 letters, digits, "_" or "-"${near}`)
      }
      const known = knownCodes.find((code) => code === text.toUpperCase())
      if (known === undefined || known === text) return text
      return this.#refuse(at, `${echo(text)} is no code – did you mean "${known}"? Case counts`)
    })
    return (value, at) => {
      if (Array.isArray(value)) this.#codes += value.length
      return list(value, at)
    }
  }

  /** A list of levels, or one text `<level>+` for that level and those above. */
  #importance(value: unknown, at: string): readonly Importance[] | null {
    const level = this.#word(importances)
    if (typeof value !== 'string') return this.#list(level)(value, at)
    if (!value.endsWith('+')) {
      return this.#refuse(
        at,
        'must be a list of levels, or one text such as "high+" for that level and above',
      )
    }
    const least = level(value.slice(0, -1), at)
    return least === null ? null : importances.slice(importances.indexOf(least))
  }

  #headlinePart(value: unknown, at: string): string | null {
    const text = this.#text(value, at)
    if (text === null) return null
    const [shortest, longest] = Q_LENGTHS
    const length = [...text].length
    if (text.trim() === '' || length < shortest || length > longest) {
      return this.#refuse(at, `must have ${shortest} to ${longest} characters, not all of them blank`)
    }
    if (!text.isWellFormed() || text.includes('\0')) {
      return this.#refuse(at, 'must be plain text: half a character or NUL is in no headline')
    }
    return text.toLowerCase()
  }

  /** Adds an error where no item can match both filters: one asks for a listing symbol, the other for none. */
  #refuseContradiction(asking: PlainFilter, forbidding: PlainFilter, at: string): void {
    if (forbidding.hasSymbol === false && asking.symbols !== undefined && asking.match !== 'related') {
      this.#refuse(at, 'can never match: symbols beside hasSymbol false')
    }
  }

  #refuseTooMany(count: number, most: number, what: string, at: string): void {
    if (count > most) this.#refuse(at || 'filter', `has ${count} ${what}; the most is ${most}`)
  }

  /** Adds one error. */
  #refuse(field: string, message: string): null {
    this.errors.push({ field, message })
    return null
  }
}

/** The name of a member inside the field `at`. */
function fieldName(at: string, name: string): string {
  return at === '' ? name : `${at}.${name}`
}
