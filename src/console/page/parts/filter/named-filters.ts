/** Reads and changes the filters that somebody keeps in this browser under names. Pure. */
import { filterText, readFilterText } from './filter-values.ts'

/** A filter with its name. */
export interface NamedFilter {
  name: string
  /** Its canonical JSON. */
  text: string
}

/** Longest name, in characters. */
export const LONGEST_NAME = 60
/** Most filters that are kept; a further one takes the place of none. */
export const MOST_NAMED = 50

/** The filters of a stored text, by name. What is none, such as the text of another version, is left out. */
export function readNamed(stored: string): readonly NamedFilter[] {
  const found = Object.entries(objectOf(stored)).flatMap(([name, filter]): NamedFilter[] => {
    const read = readFilterText(JSON.stringify(filter))
    return read === null || name === '' || name.length > LONGEST_NAME
      ? []
      : [{ name, text: filterText(read) }]
  })
  return found.sort((one, other) => one.name.localeCompare(other.name, 'en')).slice(0, MOST_NAMED)
}

/** The stored text with this filter too, in the place of one of the same name. */
export function withNamed(stored: string, { name, text }: NamedFilter): string {
  return JSON.stringify(
    Object.fromEntries([...others(stored, name), [name, text === '' ? {} : JSON.parse(text)]]),
  )
}

/** The stored text without the filter of this name. */
export function withoutNamed(stored: string, name: string): string {
  return JSON.stringify(Object.fromEntries(others(stored, name)))
}

/** Every other entry as it is stored, also what only another version can read. */
function others(stored: string, name: string): [string, unknown][] {
  return Object.entries(objectOf(stored)).filter(([other]) => other !== name)
}

function objectOf(stored: string): object {
  try {
    const value: unknown = JSON.parse(stored === '' ? '{}' : stored)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
  } catch {
    return {}
  }
}
