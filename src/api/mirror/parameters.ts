/**
 * Parses single query parameters by name: lists in two forms, texts, enums, integers and dates; warns about unknown names.
 */
import { type DateBound, parseDateBound } from '../../core/dates.ts'
import { didYouMean } from '../../core/near.ts'
import { BridgeError } from '../../errors.ts'
import { badRequest, type Refusal } from './refusal.ts'

/** A parsed value, or the refusal of an invalid one. */
export type Read<T> = { ok: true; value: T } | { ok: false; refusal: Refusal }

/** Wraps a parsed value. */
export function read<T>(value: T): Read<T> {
  return { ok: true, value }
}

/** Refuses an invalid parameter. */
export function unreadable(message: string, hint: string | null = null): { ok: false; refusal: Refusal } {
  return { ok: false, refusal: badRequest('parameter_invalid', message, hint) }
}

/** Reads a parameter that may be sent once; null where it is absent. */
export function readText(params: URLSearchParams, name: string): Read<string | null> {
  const values = params.getAll(name)
  if (values.length > 1) return unreadable(`${name} is given ${values.length} times`, `Send ${name} once.`)
  return read(values[0] ?? null)
}

/** Reads an integer from `low` to `high`; null where it is absent. */
export function readInteger(
  params: URLSearchParams,
  name: string,
  range: { low: number; high: number },
): Read<number | null> {
  const text = readText(params, name)
  if (!text.ok || text.value === null) return text as Read<null>
  const value = /^\d{1,15}$/.test(text.value) ? Number(text.value) : Number.NaN
  if (value >= range.low && value <= range.high) return read(value)
  return unreadable(
    `${name} must be a whole number from ${range.low} to ${range.high}, got "${shown(text.value)}"`,
  )
}

/** Reads one of `members`; null where it is absent. */
export function readEnum<T extends string>(
  params: URLSearchParams,
  name: string,
  members: readonly T[],
): Read<T | null> {
  const text = readText(params, name)
  if (!text.ok || text.value === null) return text as Read<null>
  const member = members.find((candidate) => candidate === text.value)
  if (member !== undefined) return read(member)
  const near = didYouMean(text.value.slice(0, 40), members)
  return unreadable(
    `${name} cannot be "${shown(text.value)}"${near}`,
    `${name} is one of ${members.join(', ')}.`,
  )
}

/** Reads a date in one of the five forms of specification §4.1.3; null where it is absent. */
export function readDate(params: URLSearchParams, name: string): Read<DateBound | null> {
  const text = readText(params, name)
  if (!text.ok || text.value === null) return text as Read<null>
  try {
    return read(parseDateBound(text.value))
  } catch (error) {
    if (error instanceof BridgeError) return unreadable(`${name}: ${error.message}`, error.hint ?? null)
    throw error
  }
}

/** A list in either form, null where it is absent, and a warning where both forms were sent. */
export interface ReadList {
  values: string[] | null
  warning: string | null
}

/** Reads `plural=A,B` or `singular=A&singular=B`; the plural form wins over the singular (specification §4.1.4). */
export function readList(params: URLSearchParams, plural: string, singular: string): Read<ReadList> {
  const usesPlural = params.has(plural)
  if (!usesPlural && !params.has(singular)) return read({ values: null, warning: null })
  const texts = usesPlural
    ? params.getAll(plural).flatMap((text) => text.split(','))
    : params.getAll(singular)
  const values = [...new Set(texts.map((text) => text.trim()).filter((text) => text !== ''))]
  if (values.length === 0) {
    const name = usesPlural ? plural : singular
    return unreadable(`${name} is empty`, `Leave ${name} out, or name at least one value.`)
  }
  const both = usesPlural && params.has(singular)
  const warning = both ? `${singular} was ignored because ${plural} is present; use one form.` : null
  return read({ values, warning })
}

/** Builds a warning for each unknown parameter, with the closest known name. */
export function unknownWarnings(params: URLSearchParams, known: readonly string[]): string[] {
  const unknown = [...new Set(params.keys())].filter((name) => !known.includes(name))
  return unknown.map((name) => {
    const short = name.slice(0, 40)
    return `${short} was ignored: there is no such parameter${didYouMean(short, known)}`
  })
}

function shown(text: string): string {
  return text.slice(0, 40)
}
