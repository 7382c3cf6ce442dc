/**
 * Cuts the JSON texts of items, or of any top-level member, out of a response without changing them: numbers keep their
 * digits, escapes their form. The response must be valid JSON.
 */

/**
 * The texts of the elements of the top-level member `data`, each on one line (line breaks between tokens become
 * blanks); none where that is no array. `text` must be valid JSON; of several such members the last counts, as it does
 * for JSON.parse.
 */
export function splitItems(text: string): string[] {
  const data = findMember(text, 'data')
  return data === null ? [] : elementsOf(text, data.start)
}

/** The text of the top-level member `data`, on one line, whatever it is; null where there is none. `text` must be valid JSON. */
export function dataText(text: string): string | null {
  const data = findMember(text, 'data')
  return data === null ? null : onOneLine(text.slice(data.start, data.end))
}

/**
 * Where the value of a top-level member begins and ends; null where there is none. `text` must be valid JSON; of several
 * such members the last counts.
 */
export function findMember(text: string, name: string): { start: number; end: number } | null {
  let found: { start: number; end: number } | null = null
  const start = skipBlanks(text, 0)
  if (text[start] !== '{') return null
  let at = skipBlanks(text, start + 1)
  while (text[at] !== '}') {
    const nameEnd = skipString(text, at)
    const valueStart = skipBlanks(text, skipBlanks(text, nameEnd) + 1)
    const valueEnd = skipValue(text, valueStart)
    if (JSON.parse(text.slice(at, nameEnd)) === name) found = { start: valueStart, end: valueEnd }
    at = skipComma(text, valueEnd)
  }
  return found
}

function onOneLine(text: string): string {
  return text.replace(/[\r\n]/g, ' ')
}

function elementsOf(text: string, arrayStart: number): string[] {
  const elements: string[] = []
  if (text[arrayStart] !== '[') return elements
  let at = skipBlanks(text, arrayStart + 1)
  while (text[at] !== ']') {
    const end = skipValue(text, at)
    elements.push(onOneLine(text.slice(at, end)))
    at = skipComma(text, end)
  }
  return elements
}

function skipComma(text: string, at: number): number {
  const next = skipBlanks(text, at)
  return text[next] === ',' ? skipBlanks(text, next + 1) : next
}

function skipBlanks(text: string, at: number): number {
  let next = at
  while (text[next] === ' ' || text[next] === '\n' || text[next] === '\r' || text[next] === '\t') next++
  return next
}

/** The index after the string that begins at `at`. */
function skipString(text: string, at: number): number {
  let next = at + 1
  while (text[next] !== '"') next += text[next] === '\\' ? 2 : 1
  return next + 1
}

/** The index after the value that begins at `at`. */
function skipValue(text: string, at: number): number {
  const first = text[at]
  if (first === '"') return skipString(text, at)
  if (first !== '{' && first !== '[') {
    let next = at
    while (next < text.length && !',]} \n\r\t'.includes(text[next] as string)) next++
    return next
  }
  let depth = 0
  let next = at
  do {
    const character = text[next]
    if (character === '"') {
      next = skipString(text, next)
      continue
    }
    if (character === '{' || character === '[') depth++
    if (character === '}' || character === ']') depth--
    next++
  } while (depth > 0)
  return next
}
