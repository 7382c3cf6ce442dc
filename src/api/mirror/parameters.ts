/**
 * Parses the query parameters of the mirrored upstream API one by one: lists, texts, enums, integers and dates; warns
 * about unknown names. A value that cannot be used throws MirrorRefusal, which is answered with status 400.
 */
import { type DateBound, parseDateBound } from '../../core/dates.ts'
import { didYouMean } from '../../core/near.ts'
import { BridgeError } from '../../errors.ts'
import { MirrorRefusal } from './refusal.ts'

/** The refusal of an invalid parameter. */
export function wrongParameter(message: string, hint: string | null = null): MirrorRefusal {
  return new MirrorRefusal(400, 'parameter_invalid', message, hint)
}

/** Reads a parameter that may be sent once; null where it is absent. */
export function readText(params: URLSearchParams, name: string): string | null {
  const values = params.getAll(name)
  if (values.length > 1) throw wrongParameter(`${name} is given ${values.length} times`, `Send ${name} once.`)
  return values[0] ?? null
}

/** Reads an integer from `low` to `high`; null where it is absent. */
export function readInteger(
  params: URLSearchParams,
  name: string,
  { low, high }: { low: number; high: number },
): number | null {
  const text = readText(params, name)
  if (text === null) return null
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (value >= low && value <= high) return value
  throw wrongParameter(`${name} must be a whole number from ${low} to ${high}, got "${shown(text)}"`)
}

/** Reads one of `members`; null where it is absent. */
export function readEnum<T extends string>(
  params: URLSearchParams,
  name: string,
  members: readonly T[],
): T | null {
  const text = readText(params, name)
  if (text === null) return null
  const member = members.find((candidate) => candidate === text)
  if (member !== undefined) return member
  const near = didYouMean(shown(text), members)
  throw wrongParameter(
    `${name} cannot be "${shown(text)}"${near}`,
    `${name} is one of ${members.join(', ')}.`,
  )
}

/** Reads a date in one of the five forms of specification §4.1.3; null where it is absent. */
export function readDate(params: URLSearchParams, name: string): DateBound | null {
  const text = readText(params, name)
  try {
    return text === null ? null : parseDateBound(text)
  } catch (error) {
    if (error instanceof BridgeError) throw wrongParameter(`${name}: ${error.message}`, error.hint ?? null)
    throw error
  }
}

/**
 * Reads `plural=A,B` or `singular=A&singular=B`; null where it is absent. The plural form wins over the singular, with a
 * warning added to `warnings` (specification §4.1.4).
 */
export function readList(
  params: URLSearchParams,
  plural: string,
  singular: string,
  warnings: string[],
): string[] | null {
  const name = params.has(plural) ? plural : singular
  if (!params.has(name)) return null
  const texts = params.getAll(name).flatMap((text) => (name === plural ? text.split(',') : text))
  const values = [...new Set(texts.map((text) => text.trim()).filter((text) => text !== ''))]
  if (values.length === 0) {
    throw wrongParameter(`${name} is empty`, `Leave ${name} out, or name at least one value.`)
  }
  if (name === plural && params.has(singular)) {
    warnings.push(`${singular} was ignored because ${plural} is present; use one form.`)
  }
  return values
}

/** Builds a warning for each unknown parameter, with the closest known name. */
export function unknownWarnings(params: URLSearchParams, known: readonly string[]): string[] {
  const unknown = [...new Set(params.keys())].filter((name) => !known.includes(name))
  return unknown.map(
    (name) => `${shown(name)} was ignored: there is no such parameter${didYouMean(shown(name), known)}`,
  )
}

function shown(text: string): string {
  return text.slice(0, 40)
}
