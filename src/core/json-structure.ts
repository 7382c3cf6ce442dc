/** Parses JSON strictly: rejects duplicate member names, which `JSON.parse` silently accepts, and excessive nesting. */
import { LONGEST_ECHO, messageOf, textOf } from '../errors.ts'

/** Deepest accepted nesting; a filter needs five levels. */
const DEEPEST = 32

/** Characters of the parser's message that the reason repeats. */
const LONGEST_PARSER_MESSAGE = 120

/** Parses the text. The reason of a failure is a sentence without its subject: `is not JSON: …`, `has "a" twice …`. */
export function readJson(text: string): { ok: true; value: unknown } | { ok: false; reason: string } {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    return { ok: false, reason: `is not JSON: ${messageOf(cause).slice(0, LONGEST_PARSER_MESSAGE)}` }
  }
  const reason = structureFault(text)
  return reason === null ? { ok: true, value } : { ok: false, reason }
}

/** The structural error of well-formed JSON text, as a sentence without its subject; null where there is none. */
export function structureFault(text: string): string | null {
  /** The names in each open object; null for a list. */
  const open: (Set<string> | null)[] = []
  let isName = false
  for (let at = 0; at < text.length; at += 1) {
    switch (text[at]) {
      case '{':
      case '[':
        if (open.length === DEEPEST) return `is nested deeper than ${DEEPEST} levels`
        open.push(text[at] === '{' ? new Set() : null)
        isName = text[at] === '{'
        break
      case '}':
      case ']':
        open.pop()
        break
      case ',':
        isName = open.at(-1) instanceof Set
        break
      case '"': {
        const end = stringEnd(text, at)
        const names = open.at(-1)
        if (isName && names instanceof Set) {
          const name = textOf(JSON.parse(text.slice(at, end + 1)))
          if (names.has(name)) return `has ${JSON.stringify(name.slice(0, LONGEST_ECHO))} twice in one object`
          names.add(name)
        }
        isName = false
        at = end
      }
    }
  }
  return null
}

/** The index of the quote that ends the string which begins at `start`. */
function stringEnd(text: string, start: number): number {
  let end = start + 1
  while (text[end] !== '"') end += text[end] === '\\' ? 2 : 1
  return end
}
