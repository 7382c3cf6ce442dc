/**
 * Parses a response of upstream tolerantly: the items of a list with its paging and warnings, or a single item. An unreadable
 * item does not make the page unreadable.
 */
import { type PagingFigures, pagingSchema } from './schemas.ts'
import { dataText, splitItems } from './split-items.ts'

/** Longest warning that is kept, in characters. */
const LONGEST_WARNING = 500

/** One element of `data`: its text as received (on one line) and its parsed value. */
export interface RawItem {
  text: string
  value: unknown
}

/** A list response, with the figures of its paging. */
export interface Page extends PagingFigures {
  /** In the order upstream sent them. */
  items: RawItem[]
  /** Cursor of the next page of a scan; null at its end; undefined where the response has none. */
  nextCursor: string | null | undefined
  /** Cursor of the next poll; null where the response has none. */
  latestCursor: string | null
  /** True when new items were left out; undefined where the response does not contain it. */
  hasMore: boolean | undefined
  warnings: string[]
}

type Result<T> = { ok: true; value: T } | { ok: false; reason: string }

/** The item in the body of a 200, or why it cannot be read. */
export function readSingle(body: string): Result<RawItem> {
  let value: unknown
  try {
    value = fieldsOf(JSON.parse(body))?.data
  } catch {
    return { ok: false, reason: 'the body is not JSON' }
  }
  return fieldsOf(value) === null
    ? { ok: false, reason: 'the answer has no object `data`' }
    : { ok: true, value: { text: dataText(body) ?? JSON.stringify(value), value } }
}

/** The page in the body of a 200, or why it cannot be read. */
export function readPage(body: string): Result<Page> {
  let answer: unknown
  try {
    answer = JSON.parse(body)
  } catch {
    return { ok: false, reason: 'the body is not JSON' }
  }
  const fields = fieldsOf(answer)
  if (fields === null || !Array.isArray(fields.data))
    return { ok: false, reason: 'the answer has no list `data`' }
  const values: unknown[] = fields.data
  const texts = splitItems(body)
  const paging = pagingSchema.parse(fieldsOf(fieldsOf(fields.meta)?.paging) ?? {})
  const { nextCursor, latestCursor = null, hasMore, ...figures } = paging
  const page: Page = {
    items: values.map((value, index) => ({ text: texts[index] ?? JSON.stringify(value), value })),
    ...figures,
    nextCursor,
    latestCursor,
    hasMore,
    warnings: Array.isArray(fields.warnings) ? fields.warnings.map(warningText) : [],
  }
  return { ok: true, value: page }
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
