/**
 * Defines the paging of the API's lists: reads `limit` and `after` from the query, and describes `data` and `next` in
 * the response.
 */
import { z } from 'zod'
import type { Query } from './parameters.ts'
import { ranged } from './schemas/json-schema.ts'

const LIMIT = { low: 1, high: 1000, otherwise: 100 }

/**
 * JSON of the entries of a page, bytes, give or take one entry; where entries are large, fewer come. Two hundred clients that
 * read nothing of such a page hold what a node may grow by.
 */
export const PAGE_BYTES = 256 * 1024

/** Said of the limit of a list whose entries may be large. */
export const FEWER_COME = '; where they are large, fewer come.'

/** The JSON of the first of these entries, as many as fit on a page, but at least one. */
export function fittingEntries(entries: readonly object[]): string[] {
  const texts: string[] = []
  let bytes = 0
  for (const entry of entries) {
    const text = JSON.stringify(entry)
    bytes += Buffer.byteLength(text)
    if (texts.length > 0 && bytes > PAGE_BYTES) break
    texts.push(text)
  }
  return texts
}

/** The parameters of a list of `what`; `more` is said of the limit. */
export function pageParameters(what: string, more?: string) {
  return { after: 'The `next` of the page before.', limit: ranged(LIMIT, `Most ${what}`, more) }
}

/** A page of such items. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({
    data: z.array(item),
    next: z.string().describe('The next `after`; null at the end.').nullable(),
  })
}

/** Where a page begins, null at the start, and how long it may be. `place` reads `after`; null: it is no such place. */
export function readPageParameters<Place>(
  query: Query,
  place: (text: string) => Place | null,
): { after: Place | null; limit: number } {
  const text = query.text('after')
  const after = text === null ? null : place(text)
  if (text !== null && after === null) query.refuse('after', 'is not a `next` of this list')
  return { after, limit: query.integer('limit', LIMIT) }
}
