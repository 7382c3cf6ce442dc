/**
 * Cuts the JSON texts of items, or of any top-level member, out of a response without changing them: numbers keep their
 * digits, escapes their form. It reads only the structure; what lies between is for JSON.parse to judge.
 */
import { atOnce, type Steps } from '../lifecycle/slices.ts'

/** Where a piece of text begins, and the index after its end. */
export interface Span {
  start: number
  end: number
}

/** A member of an object. */
interface Member {
  /** With its quotes. */
  name: Span
  value: Span
}

/** A list response, taken apart. */
export interface ListParts {
  /** Each element of the last top-level member `data`; null where that is no list. */
  items: Span[] | null
  /** The response as JSON text, with an empty list in the place of the items and without the members of `ignored`. */
  rest: string
  /** The starts of the members that are too long to be read. */
  ignored: string[]
}

/** Most elements of `data`: 25 times the largest page that a plan allows, and more than a day brings. */
const MOST_ITEMS = 5_000
/** Most characters of one other member, and of all of them: cursors, counts and warnings have some hundred. */
const LONGEST_MEMBER = 256 * 1024
const LONGEST_REST = 1024 * 1024
/** Characters of an ignored member that its warning shows. */
const SHOWN_CHARACTERS = 40
/** Characters that are read between two pauses. */
const STEP_CHARACTERS = 64 * 1024

const [QUOTE, BACKSLASH, COMMA, COLON] = ['"', '\\', ',', ':'].map((one) => one.charCodeAt(0))
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = ['[', ']', '{', '}'].map((one) =>
  one.charCodeAt(0),
)
const BLANKS: ReadonlySet<number> = new Set([' ', '\n', '\r', '\t'].map((one) => one.charCodeAt(0)))

/**
 * The parts of a list response, or what it has too much of; null where it is no JSON object. Of several members `data` the
 * last counts, as it does for JSON.parse.
 */
export function* listParts(text: string): Steps<ListParts | { excess: string } | null> {
  const kept: string[] = []
  const ignored: string[] = []
  const found: { list: Span | null } = { list: null }
  let restLength = 0
  const end = yield* eachMember(text, ({ name, value }) => {
    const isData = isNamed(text, name, 'data')
    const isList = isData && text.charCodeAt(value.start) === OPEN_LIST
    if (isData) found.list = isList ? value : null
    const member = isList ? '"data":[]' : text.slice(name.start, value.end)
    if (member.length <= LONGEST_MEMBER) kept.push(member)
    else ignored.push(member.slice(0, SHOWN_CHARACTERS))
    restLength += Math.min(member.length, LONGEST_MEMBER)
    return restLength <= LONGEST_REST
  })
  if (restLength > LONGEST_REST) return { excess: `${LONGEST_REST} characters besides its items` }
  if (end === null || (yield* skipBlanks(text, end)) < text.length) return null
  const rest = `{${kept.join(',')}}`
  if (found.list === null) return { items: null, rest, ignored }
  const items = yield* elementsOf(text, found.list.start)
  if (items === null) return null
  return items.length > MOST_ITEMS ? { excess: `${MOST_ITEMS} items` } : { items, rest, ignored }
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
export function findMember(text: string, name: string): Span | null {
  return atOnce(memberOf(text, name))
}

/** As `findMember`, among the first `most` members; null also where the text is no object. */
export function* memberOf(text: string, name: string, most = Number.POSITIVE_INFINITY): Steps<Span | null> {
  const found: { value: Span | null } = { value: null }
  let count = 0
  yield* eachMember(text, (member) => {
    if (isNamed(text, member.name, name)) found.value = member.value
    count += 1
    return count < most
  })
  return found.value
}

/** The text with blanks for line breaks, which JSON has only between tokens. */
export function onOneLine(text: string): string {
  return text.replace(/[\r\n]/g, ' ')
}

/**
 * Visits each member of the object in the text, until `visit` returns false.
 * @returns the index after the object; null where it is none, or was not read to its end
 */
function* eachMember(text: string, visit: (member: Member) => boolean): Steps<number | null> {
  let at = yield* skipBlanks(text, 0)
  if (text.charCodeAt(at) !== OPEN_OBJECT) return null
  at = yield* skipBlanks(text, at + 1)
  if (text.charCodeAt(at) === CLOSE_OBJECT) return at + 1
  for (;;) {
    const member = yield* memberAt(text, at)
    if (member === null || !visit(member)) return null
    const next = yield* skipBlanks(text, member.value.end)
    if (text.charCodeAt(next) === CLOSE_OBJECT) return next + 1
    if (text.charCodeAt(next) !== COMMA) return null
    at = yield* skipBlanks(text, next + 1)
    yield
  }
}

function* memberAt(text: string, at: number): Steps<Member | null> {
  if (text.charCodeAt(at) !== QUOTE) return null
  const nameEnd = yield* skipValue(text, at)
  if (nameEnd === null) return null
  const colon = yield* skipBlanks(text, nameEnd)
  if (text.charCodeAt(colon) !== COLON) return null
  const start = yield* skipBlanks(text, colon + 1)
  const end = yield* skipValue(text, start)
  return end === null ? null : { name: { start: at, end: nameEnd }, value: { start, end } }
}

/** Where each element of the list that begins at `start` is, at most one more than MOST_ITEMS; null where it is no JSON. */
function* elementsOf(text: string, start: number): Steps<Span[] | null> {
  const elements: Span[] = []
  let at = yield* skipBlanks(text, start + 1)
  if (text.charCodeAt(at) === CLOSE_LIST) return elements
  while (elements.length <= MOST_ITEMS) {
    const end = yield* skipValue(text, at)
    if (end === null) return null
    elements.push({ start: at, end })
    const next = yield* skipBlanks(text, end)
    if (text.charCodeAt(next) === CLOSE_LIST) return elements
    if (text.charCodeAt(next) !== COMMA) return null
    at = yield* skipBlanks(text, next + 1)
    yield
  }
  return elements
}

/** Whether the member has that name. A name that is longer than the name with every character escaped is not parsed. */
function isNamed(text: string, { start, end }: Span, name: string): boolean {
  if (end - start > name.length * 6 + 2) return false
  try {
    return JSON.parse(text.slice(start, end)) === name
  } catch {
    return false
  }
}

function skipBlanks(text: string, at: number): Steps<number> {
  return skipUntil(text, at, isNoBlank)
}

function isNoBlank(code: number): boolean {
  return !BLANKS.has(code)
}

/** The index after the value that begins at `start`; null where there is none, or the text ends before it does. */
function* skipValue(text: string, start: number): Steps<number | null> {
  const first = text.charCodeAt(start)
  if (first !== QUOTE && first !== OPEN_OBJECT && first !== OPEN_LIST) {
    const end = yield* skipUntil(text, start, endsScalar)
    return end === start ? null : end
  }
  let depth = 0
  let isInString = false
  let at = start
  let pauseAt = start + STEP_CHARACTERS
  do {
    if (at >= pauseAt) {
      yield
      pauseAt = at + STEP_CHARACTERS
    }
    if (isInString) {
      const quote = text.indexOf('"', at)
      if (quote < 0) return null
      // The quote is part of the string where an odd number of backslashes stands before it.
      let run = quote
      while (text.charCodeAt(run - 1) === BACKSLASH) {
        run -= 1
        if ((quote - run) % STEP_CHARACTERS === 0) yield
      }
      isInString = (quote - run) % 2 === 1
      at = quote + 1
    } else {
      if (at >= text.length) return null
      const code = text.charCodeAt(at)
      if (code === QUOTE) isInString = true
      else if (code === OPEN_OBJECT || code === OPEN_LIST) depth += 1
      else if (code === CLOSE_OBJECT || code === CLOSE_LIST) depth -= 1
      at += 1
    }
  } while (isInString || depth > 0)
  return at
}

/** The first index from `start` on where `stops` accepts the character's code, which is NaN after the text. */
function* skipUntil(text: string, start: number, stops: (code: number) => boolean): Steps<number> {
  let at = start
  while (!stops(text.charCodeAt(at))) {
    at += 1
    if ((at - start) % STEP_CHARACTERS === 0) yield
  }
  return at
}

function endsScalar(code: number): boolean {
  return (
    Number.isNaN(code) || code === COMMA || code === CLOSE_LIST || code === CLOSE_OBJECT || BLANKS.has(code)
  )
}
