/**
 * Builds the responses of the upstream API for lists and single items (specification §2.12, §4.1, §4.2). Items are not
 * re-encoded: their JSON text is sent as stored.
 */
import { isBridgeError } from '../../errors.ts'
import type { ItemStore, StoredItem } from './item-store.ts'
import type { ItemListQuery } from './list-query.ts'
import { openPageCursor, refusedPageCursor, sealPageCursor } from './page-cursor.ts'
import { classicPaging, pollingPaging } from './paging.ts'
import { badRequest, errorBody, type Refusal, type Violation } from './refusal.ts'

/** An HTTP answer whose body is JSON text. */
export interface MirrorAnswer {
  status: number
  body: string
  /** The rule that the request broke; null where it was answered. */
  violation: Violation | null
  /** Value of the Retry-After header; absent: the header is not sent. */
  retryAfterSeconds?: number
}

/** Length of a date-and-number identifier, `yyyy-mm-dd.<rnsId>` (specification §4.2). */
const RNS_DATE_ID_LENGTH = 16

/** Builds the response of a refused request. */
export function refusedAnswer(refusal: Refusal): MirrorAnswer {
  return {
    status: refusal.status,
    body: errorBody(refusal.message, refusal.hint),
    violation: refusal.violation,
    ...(refusal.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: refusal.retryAfterSeconds }),
  }
}

/** Builds one page of the list in the shape of the requested paging mode. An invalid cursor answers 400. */
export async function listAnswer(
  store: ItemStore,
  query: ItemListQuery,
  gone: AbortSignal,
): Promise<MirrorAnswer> {
  try {
    return await pageAnswer(store, query, gone)
  } catch (error) {
    if (isBridgeError(error, 'cursor_invalid'))
      return refusedAnswer(query.paging.mode === 'since' ? refusedSinceCursor() : refusedPageCursor())
    throw error
  }
}

/** Builds the response with the latest revision of one item. 16 characters are an rnsDateId, anything else a guid. */
export async function itemAnswer(store: ItemStore, identifier: string): Promise<MirrorAnswer> {
  const raw =
    identifier.length === RNS_DATE_ID_LENGTH
      ? await store.byRnsDateId(identifier)
      : await store.byGuid(identifier)
  if (raw !== null) return { status: 200, body: `{"data":${raw}}`, violation: null }
  return refusedAnswer({
    status: 404,
    violation: 'not_found',
    message: 'there is no item with this identifier',
    hint: 'Use a guid, or yyyy-mm-dd.<rnsId> with exactly 16 characters.',
  })
}

async function pageAnswer(store: ItemStore, query: ItemListQuery, gone: AbortSignal): Promise<MirrorAnswer> {
  const { selection, pageSize, paging } = query
  if (paging.mode === 'since') {
    const { items, more } = await store.newestSince(selection, paging.sinceCursor, pageSize, gone)
    const { sinceCursor } = paging
    const newestCursor = items[0]?.cursor
    return okAnswer(
      query,
      items,
      pollingPaging({ pageSize, sinceCursor, newestCursor, count: items.length, hasMore: more }),
    )
  }
  if (paging.mode === 'number') {
    const { pageNumber } = paging
    const { items, total } = await store.pageAt(selection, (pageNumber - 1) * pageSize, pageSize, gone)
    return okAnswer(query, items, classicPaging({ pageSize, pageNumber, itemTotal: total }, items[0]?.cursor))
  }
  const before = paging.pageCursor === null ? null : openPageCursor(paging.pageCursor, query.fingerprint)
  if (before !== null && !before.ok) return refusedAnswer(before.refusal)
  const { items, next } = await store.pageBefore(selection, before?.value ?? null, pageSize, gone)
  const nextCursor = next === null ? null : sealPageCursor(next, query.fingerprint)
  return okAnswer(query, items, { pageSize, nextCursor, ...latestOf(items) })
}

/** Builds a page of a list from the JSON texts of its items, `meta.paging` and any warnings. */
export function listPage(
  texts: readonly string[],
  paging: object,
  warnings: readonly string[] = [],
): MirrorAnswer {
  const told = warnings.length === 0 ? '' : `,"warnings":${JSON.stringify(warnings)}`
  const meta = JSON.stringify({ paging })
  return { status: 200, body: `{"data":[${texts.join(',')}],"meta":${meta}${told}}`, violation: null }
}

function okAnswer(query: ItemListQuery, items: readonly StoredItem[], paging: object): MirrorAnswer {
  return listPage(
    items.map((item) => item.raw),
    paging,
    query.warnings,
  )
}

/** `latestCursor` of the newest item in this response; absent if there are no items. */
function latestOf(items: readonly StoredItem[]): { latestCursor?: string } {
  const newest = items[0]
  return newest === undefined ? {} : { latestCursor: newest.cursor }
}

/** The refusal of an invalid `sinceCursor`. */
export function refusedSinceCursor(): Refusal {
  return badRequest(
    'cursor_refused',
    'sinceCursor is not a cursor of this service',
    'Take meta.paging.latestCursor of a list response; to start again, list without a cursor.',
  )
}
