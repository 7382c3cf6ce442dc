/**
 * Parses upstream items (regulatory announcements) tolerantly: unknown fields and values pass, and only an item without
 * identity or time is rejected.
 */
import { createHash } from 'node:crypto'
import { parseTimestamp } from './dates.ts'

/** Deepest nesting accepted in an item; real items have six levels. */
const DEEPEST = 64
/** Longest accepted identity or identifier; a guid has about 50 characters. */
const LONGEST_IDENTIFIER = 512
/** Most characters of a headline that are used; the rest of a longer one is only in the item's text. Real ones have 50. */
const LONGEST_HEADLINE = 4096

/** A company's identifiers; null where the item has none. */
export interface Party {
  name: string | null
  lei: string | null
  isin: string | null
  symbol: string | null
}

/** One category tag of the item. */
export interface Category {
  kind: string
  code: string
  name: string | null
  importance: string | null
}

/** The fields of an item that this program uses; everything else stays in the item's own text. */
export interface Disclosure {
  guid: string
  /** `timestamp` as received. */
  timestamp: string
  timeMs: number
  /** At most 4,096 characters. */
  headline: string
  issuer: Party
  related: Party[]
  categories: Category[]
  /** guid of the announcement this one replaces. */
  replacesGuid: string | null
}

/** The result of reading one item. */
export type ReadDisclosure =
  | { ok: true; disclosure: Disclosure }
  | { ok: false; reason: string; guid: string | null }

/** What is derived from an item once, when it is parsed; it travels with the item's text to the archive. */
export interface ParsedItem {
  disclosure: Disclosure
  /** `contentHash` of the item. */
  hash: string
  /** `yyyy-mm-dd.<rnsId>`, by which the single-item operation names an item too; null where the item has no rnsId. */
  rnsDateId: string | null
}

/** The result of parsing one item. */
export type ParseResult = { ok: true; item: ParsedItem } | { ok: false; reason: string; guid: string | null }

type Fields = Record<string, unknown>

/** Reads one item, given as its JSON text and the value of that, with its hash and second name. */
export function parseItem(value: unknown, text: string): ParseResult {
  const read = readDisclosure(value)
  if (!read.ok) return read
  const { disclosure } = read
  return { ok: true, item: { disclosure, hash: contentHash(value, text), rnsDateId: rnsDateIdOf(value) } }
}

/**
 * Reads one parsed item.
 * @returns the disclosure, or why it has no identity or time, with the guid where there is one
 */
export function readDisclosure(item: unknown): ReadDisclosure {
  const fields = fieldsOf(item)
  if (fields === null) return { ok: false, reason: 'not an object', guid: null }
  const guid = identifier(fields.guid)
  if (guid === null) return { ok: false, reason: 'no guid', guid: null }
  if (!shallowerThan(item, DEEPEST))
    return { ok: false, reason: `nested deeper than ${DEEPEST} levels`, guid }
  if (typeof fields.timestamp !== 'string') return { ok: false, reason: 'no timestamp', guid }
  const timeMs = parseTimestamp(fields.timestamp)
  if (timeMs === null) return { ok: false, reason: 'unreadable timestamp', guid }
  const disclosure: Disclosure = {
    guid,
    timestamp: fields.timestamp,
    timeMs,
    headline: plainText(fields.headline)?.slice(0, LONGEST_HEADLINE).toWellFormed() ?? '',
    issuer: partyOf(fields.issuer),
    related: listOf(fields.related).map(partyOf),
    categories: listOf(fields.category).flatMap(categoryOf),
    replacesGuid: identifier(fieldsOf(fields.replaces)?.guid),
  }
  return { ok: true, disclosure }
}

/** `yyyy-mm-dd.<rnsId>`, by which the single-item operation names an item too; null where the item has no rnsId. */
export function rnsDateIdOf(item: unknown): string | null {
  const { rnsId, timestamp } = fieldsOf(item) ?? {}
  return typeof rnsId === 'string' && typeof timestamp === 'string'
    ? `${timestamp.slice(0, 10)}.${rnsId}`
    : null
}

/** The issuer key: `lei`, else `isin`, else listing symbol, else the name in lower case. */
export function issuerKey(issuer: Party): string {
  return issuer.lei ?? issuer.isin ?? issuer.symbol ?? issuer.name?.toLowerCase() ?? 'unknown'
}

/**
 * SHA-256 (first 32 hex digits) of the item's canonical JSON: equal exactly when the content is, whatever the order of members.
 * `text` is the JSON text that the value was parsed from: a number in it with more digits than a double has counts with all of
 * them.
 */
export function contentHash(item: unknown, text = ''): string {
  return createHash('sha256')
    .update(canonicalJson(MAYBE_INEXACT.test(text) ? withExactNumbers(text) : item))
    .digest('hex')
    .slice(0, 32)
}

function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (value instanceof ExactNumber) return value.decimal
  const fields = fieldsOf(value)
  if (fields === null) return JSON.stringify(value)
  const members = Object.keys(fields)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonicalJson(fields[name])}`)
  return `{${members.join(',')}}`
}

/** Matches every text with a number that a double cannot hold: 15 digits and usual exponents always fit. */
const MAYBE_INEXACT = /[\d.]{16}|\d[eE][+-]?\d{3}/

/** A number that a double does not hold, as its digits and a power of ten. */
class ExactNumber {
  readonly decimal: string

  constructor(decimal: string) {
    this.decimal = decimal
  }
}

/** The value of the JSON text, with an `ExactNumber` in place of each number that lost digits when it was parsed. */
function withExactNumbers(text: string): unknown {
  const keepDigits = (_name: string, value: unknown, { source = '' }: { source?: string } = {}): unknown => {
    if (typeof value !== 'number' || !MAYBE_INEXACT.test(source)) return value
    const exact = decimalOf(source)
    return exact === decimalOf(value.toString()) ? value : new ExactNumber(exact)
  }
  return JSON.parse(text, keepDigits)
}

/**
 * The same text for every way to write a number: its digits without zeros at the ends, and the power of ten of the last. One
 * with an exponent of more than 15 digits stays as it is written.
 */
function decimalOf(text: string): string {
  const [, sign, whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]\+?(-?\d{1,15}))?$/.exec(text) ?? []
  if (whole === '') return text
  const digits = `${whole}${fraction}`.replace(/^0+/, '')
  // Not by a regular expression: the zeros of a long number would be read over and over.
  let end = digits.length
  while (digits[end - 1] === '0') end -= 1
  if (end === 0) return '0'
  return `${sign}${digits.slice(0, end)}e${Number(exponent) - fraction.length + digits.length - end}`
}

function shallowerThan(value: unknown, levels: number): boolean {
  if (value === null || typeof value !== 'object') return true
  if (levels === 0) return false
  return Object.values(value).every((member) => shallowerThan(member, levels - 1))
}

function fieldsOf(value: unknown): Fields | null {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Fields) : null
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

/** The text if all stores and indexes can hold it: no lone surrogate, no NUL. */
function plainText(value: unknown): string | null {
  return typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '\ufffd') : null
}

function identifier(value: unknown): string | null {
  const text = plainText(value)?.trim()
  return text === undefined || text === '' || text.length > LONGEST_IDENTIFIER ? null : text
}

function partyOf(value: unknown): Party {
  const company = fieldsOf(value)
  const instrument = fieldsOf(company?.instrument)
  return {
    name: identifier(company?.name),
    lei: identifier(company?.lei),
    isin: identifier(instrument?.isin),
    symbol: identifier(fieldsOf(instrument?.symbol)?.mnemonic),
  }
}

function categoryOf(value: unknown): Category[] {
  const fields = fieldsOf(value)
  const kind = identifier(fields?.kind)
  const code = identifier(fields?.code)
  if (kind === null || code === null) return []
  return [{ kind, code, name: identifier(fields?.name), importance: identifier(fields?.importance) }]
}
