/**
 * Encodes and decodes the page cursors of the upstream API: a position in a store, bound to the fingerprint of its query.
 */
import { type Read, read } from './parameters.ts'
import { badRequest, type Refusal } from './refusal.ts'

const PAGE_CURSOR = /^p1([0-9a-f]{8})(.+)$/s

/** Encodes a position as an opaque text. `fingerprint`: eight hex digits, equal for equal filters on any page. */
export function sealPageCursor(place: string, fingerprint: string): string {
  return Buffer.from(`p1${fingerprint}${place}`).toString('base64url')
}

/** Decodes the position from a page cursor; refuses a cursor of another query. */
export function openPageCursor(text: string, fingerprint: string): Read<string> {
  const [, sealed, place] = PAGE_CURSOR.exec(Buffer.from(text, 'base64url').toString()) ?? []
  if (sealed === undefined || place === undefined || sealPageCursor(place, sealed) !== text) {
    return { ok: false, refusal: refusedPageCursor() }
  }
  if (sealed === fingerprint) return read(place)
  const refusal = badRequest(
    'page_cursor_of_other_query',
    'pageCursor belongs to another query',
    'Send the path and filters of the first request with every page, or start the walk again without pageCursor.',
  )
  return { ok: false, refusal }
}

/** The refusal of an invalid page cursor. */
export function refusedPageCursor(): Refusal {
  return badRequest(
    'cursor_refused',
    'pageCursor is not a cursor of this service',
    'Take meta.paging.nextCursor of the page before; to start again, leave pageCursor out.',
  )
}
