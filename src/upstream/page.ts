/**
 * Parses a response of upstream tolerantly: the items of a list with its paging and warnings, or a single item. An unreadable
 * item does not make the page unreadable, and each part has a limit, so that no response can stop the process.
 */
import type { Steps } from '../lifecycle/slices.ts'
import { LONGEST_CURSOR, type PagingFigures, pagingSchema } from './schemas.ts'
import { dataText, listParts, memberOf, onOneLine, type Span } from './split-items.ts'

/** Largest item that is parsed. A broker rejects batches above 1 MiB; an item is at most half of that. */
const LARGEST_ITEM_BYTES = 512 * 1024
/** Longest guid that is looked for in a larger item, every character escaped. */
const LONGEST_GUID = 512 * 6 + 2
/** Members of such an item that are looked through for its guid. */
const MEMBERS_SEARCHED = 1000
/** Longest warning that is kept, in characters, and most of them. */
const LONGEST_WARNING = 500
const MOST_WARNINGS = 20
/** Texts of a longer response are copied, because a part of a text keeps all of it in memory. */
const LONGEST_SHARED = 1024 * 1024

/** One element of `data`: its text as received (on one line) and its parsed value. */
export interface RawItem {
  text: string
  /** Of an item with a fault, at most its guid. */
  value: unknown
  /** Why the item was not parsed; absent where it was. */
  fault?: string
}

/** A list response, with the figures of its paging. */
export interface Page extends PagingFigures {
  /** In the order upstream sent them. */
  items: RawItem[]
  /** Cursor of the next page of a scan; null at its end; undefined where the response has none of a usable length. */
  nextCursor: string | null | undefined
  /** Cursor of the next poll; null where the response has none of a usable length. */
  latestCursor: string | null
  /** True when new items were left out; undefined where the response does not contain it. */
  hasMore: boolean | undefined
  /** Upstream's, and ours about parts that were ignored. */
  warnings: string[]
}

/** What was read, or why it could not be. */
export type Result<T> = { ok: true; value: T } | { ok: false; reason: string }

const NOT_JSON: Result<never> = { ok: false, reason: 'the body is not a JSON object' }
const NO_LIST: Result<never> = { ok: false, reason: 'the answer has no list `data`' }

/** The item in the body of a 200, or why it cannot be read. */
export function readSingle(body: string): Result<RawItem> {
  const value = fieldsOf(parsed(body)?.value)?.data
  return fieldsOf(value) === null
    ? { ok: false, reason: 'the answer has no object `data`' }
    : { ok: true, value: { text: dataText(body) ?? JSON.stringify(value), value } }
}

/** The page in the body of a 200, or why it cannot be read. */
export function* readPage(body: string): Steps<Result<Page>> {
  const parts = yield* listParts(body)
  if (parts === null) return NOT_JSON
  if ('excess' in parts) return { ok: false, reason: `the answer has more than ${parts.excess}` }
  const rest = parsed(parts.rest)
  if (rest === undefined) return NOT_JSON
  if (parts.items === null) return NO_LIST
  const items: RawItem[] = []
  for (const span of parts.items) {
    const item = yield* itemAt(body, span)
    if (item === null) return NOT_JSON
    items.push(item)
    yield
  }
  const fields = fieldsOf(rest.value)
  const given = fieldsOf(fieldsOf(fields?.meta)?.paging) ?? {}
  const { nextCursor, latestCursor = null, hasMore, ...figures } = pagingSchema.parse(given)
  const warnings = Array.isArray(fields?.warnings)
    ? fields.warnings.slice(0, MOST_WARNINGS).map(warningText)
    : []
  const page: Page = {
    items,
    ...figures,
    nextCursor,
    latestCursor,
    hasMore,
    warnings: [...warnings, ...ignoredParts(given, parts.ignored)],
  }
  return { ok: true, value: page }
}

/** The item at a place of the response; null where it is not JSON. */
function* itemAt(body: string, span: Span): Steps<RawItem | null> {
  const cut = body.slice(span.start, span.end)
  if (cut.length > LARGEST_ITEM_BYTES || Buffer.byteLength(cut) > LARGEST_ITEM_BYTES) {
    const guid = yield* memberOf(cut, 'guid', MEMBERS_SEARCHED)
    const isReadable = guid !== null && guid.end - guid.start <= LONGEST_GUID
    const value = isReadable ? { guid: parsed(cut.slice(guid.start, guid.end))?.value } : null
    return { text: cut, value, fault: `larger than ${LARGEST_ITEM_BYTES} bytes` }
  }
  const read = parsed(cut)
  if (read === undefined) return null
  const own = body.length > LONGEST_SHARED ? Buffer.from(cut).toString() : cut
  return { text: onOneLine(own), value: read.value }
}

/** Warnings of our own about what the page contains and is not used. */
function ignoredParts(paging: Record<string, unknown>, members: readonly string[]): string[] {
  const cursors = (['nextCursor', 'latestCursor'] as const).flatMap((name) => {
    const cursor = paging[name]
    return typeof cursor === 'string' && cursor.length > LONGEST_CURSOR
      ? `\`${name}\` has ${cursor.length} characters, more than ${LONGEST_CURSOR}, and is ignored`
      : []
  })
  return [
    ...cursors,
    ...members.map((start) => `a member of the answer is too long and is ignored: ${start}`),
  ]
}

/** The value of a JSON text; undefined where it is none. */
function parsed(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

/** A warning as text, whatever its shape. */
function warningText(warning: unknown): string {
  try {
    return (typeof warning === 'string' ? warning : JSON.stringify(warning)).slice(0, LONGEST_WARNING)
  } catch {
    return 'a warning that is nested too deeply to show'
  }
}

function fieldsOf(value: unknown): Record<string, unknown> | null {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null
}
