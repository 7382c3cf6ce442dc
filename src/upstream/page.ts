/**
 * A list answer of upstream, read tolerantly. Owns the shape of the answer and of its paging. Refuses to judge single
 * items: one unreadable item never costs the page.
 */
import { splitItems } from './split-items.ts'

/** Longest warning that is kept, in characters. */
const LONGEST_WARNING = 500

/** One element of `data`: its text as it came (on one line) and its parsed value. */
export interface RawItem {
  text: string
  value: unknown
}

export interface Page {
  /** In the order upstream sent them. */
  items: RawItem[]
  /** Cursor of the next page of a walk; null at its end; undefined where the answer does not say. */
  nextCursor: string | null | undefined
  /** Where polling goes on; null where the answer does not say. */
  latestCursor: string | null
  /** True when new items were left out for good; undefined where the answer does not say. */
  hasMore: boolean | undefined
  warnings: string[]
}

/** The page in the body of a 200, or why it is none. */
export function readPage(body: string): { ok: true; page: Page } | { ok: false; reason: string } {
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
  const paging = fieldsOf(fieldsOf(fields.meta)?.paging) ?? {}
  const page: Page = {
    items: values.map((value, index) => ({ text: texts[index] ?? JSON.stringify(value), value })),
    nextCursor: paging.nextCursor === null ? null : cursorText(paging.nextCursor),
    latestCursor: cursorText(paging.latestCursor) ?? null,
    hasMore: typeof paging.hasMore === 'boolean' ? paging.hasMore : undefined,
    warnings: Array.isArray(fields.warnings) ? fields.warnings.map(warningText) : [],
  }
  return { ok: true, page }
}

/** A warning as text, whatever it is; one too deep to be written is only said to be there. */
function warningText(warning: unknown): string {
  try {
    return (typeof warning === 'string' ? warning : JSON.stringify(warning)).slice(0, LONGEST_WARNING)
  } catch {
    return 'a warning that cannot be written'
  }
}

function cursorText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function fieldsOf(value: unknown): Record<string, unknown> | null {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null
}
