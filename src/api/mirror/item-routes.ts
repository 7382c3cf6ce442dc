/**
 * Serves the upstream API's two paths for announcements: the list and the single announcement (specification §2.12,
 * §4.1, §4.2). Each announcement is sent as the JSON text that was stored, not encoded again.
 */
import { ITEMS_PATH } from '../../core/upstream-paths.ts'
import { isBridgeError } from '../../errors.ts'
import { disclosureSchema } from '../../http/schemas/event-schema.ts'
import type { ItemStore } from './item-store.ts'
import { type ItemListQuery, type ListContext, readListQuery } from './list-query.ts'
import {
  classicPaging,
  listPage,
  openPageCursor,
  refusedPageCursor,
  refusedSinceCursor,
  sealPageCursor,
} from './paging.ts'
import { MirrorRefusal } from './refusal.ts'
import type { MirrorRoute } from './route.ts'
import { listParameters, pageSchema, singleSchema } from './self-description.ts'

/** Length of a date-and-number identifier, `yyyy-mm-dd.<rnsId>` (specification §4.2). */
const RNS_DATE_ID_LENGTH = 16

/** What the item routes need. */
export interface ItemRoutesOptions {
  store: ItemStore
  /** Called before each response; may throw HttpProblem. Default: nothing. */
  check?: () => void
  /** The server's current time, ms since 1970. */
  now: () => number
  /** The word that replaces `native` in parameter names; default `native`. */
  nativeWord?: string
  /** Default `serve`. */
  channel?: ListContext['channel']
  /** Default `default`. */
  pollRange?: ListContext['pollRange']
  /** Warnings about what the store cannot answer of a query; default none. */
  caveats?: (query: ItemListQuery) => string[]
}

/** Builds the routes of the list and of the single item over a store. */
export function itemRoutes(options: ItemRoutesOptions): MirrorRoute[] {
  const { store, check, now, nativeWord = 'native' } = options
  const { channel = 'serve', pollRange = 'default' } = options
  return [
    {
      path: ITEMS_PATH,
      summary: 'The list of announcements, newest first.',
      parameters: listParameters(nativeWord),
      schema: pageSchema(disclosureSchema),
      key: 'required',
      answer({ params, gone }, { plan, id }) {
        check?.()
        const query = readListQuery(params, { plan, nowMs: now(), nativeWord, channel, pollRange })
        query.warnings.push(...(options.caveats?.(query) ?? []))
        return listAnswer(store, query, gone, id)
      },
    },
    {
      path: `${ITEMS_PATH}/:identifier`,
      summary: 'One announcement, by guid or by `yyyy-mm-dd.<rnsId>`.',
      parameters: {},
      schema: singleSchema(disclosureSchema),
      key: 'required',
      answer(request) {
        check?.()
        return itemAnswer(store, request.segment('identifier'))
      },
    },
  ]
}

/** Builds one page of the list in the shape of the requested paging mode. */
async function listAnswer(...asked: Parameters<typeof pageAnswer>): Promise<string> {
  const [, query] = asked
  try {
    return await pageAnswer(...asked)
  } catch (error) {
    if (!isBridgeError(error, 'cursor_invalid')) throw error
    throw query.paging.mode === 'since' ? refusedSinceCursor() : refusedPageCursor()
  }
}

async function pageAnswer(
  store: ItemStore,
  { selection, pageSize, paging, fingerprint, warnings }: ItemListQuery,
  gone: AbortSignal,
  caller?: string,
): Promise<string> {
  const page = (items: readonly { raw: string }[], shape: object): string =>
    listPage(
      items.map(({ raw }) => raw),
      shape,
      warnings,
    )
  if (paging.mode === 'since') {
    const { items, more } = await store.newestSince(selection, paging.sinceCursor, pageSize, gone, caller)
    const latestCursor = items[0]?.cursor ?? paging.sinceCursor
    return page(items, { pageSize, latestCursor, count: items.length, hasMore: more })
  }
  if (paging.mode === 'number') {
    const { pageNumber } = paging
    const { items, total } = await store.pageAt(
      selection,
      (pageNumber - 1) * pageSize,
      pageSize,
      gone,
      caller,
    )
    return page(items, classicPaging({ pageSize, pageNumber, itemTotal: total }, items[0]?.cursor))
  }
  const before = paging.pageCursor === null ? null : openPageCursor(paging.pageCursor, fingerprint)
  const { items, next } = await store.pageBefore(selection, before, pageSize, gone, caller)
  const nextCursor = next === null ? null : sealPageCursor(next, fingerprint)
  const newest = items[0]
  return page(items, { pageSize, nextCursor, ...(newest && { latestCursor: newest.cursor }) })
}

/** Builds the response with the latest revision of one item. 16 characters are an rnsDateId, anything else a guid. */
async function itemAnswer(store: ItemStore, identifier: string): Promise<string> {
  const isDateId = identifier.length === RNS_DATE_ID_LENGTH
  const raw = await (isDateId ? store.byRnsDateId(identifier) : store.byGuid(identifier))
  if (raw !== null) return `{"data":${raw}}`
  throw new MirrorRefusal(
    404,
    'not_found',
    'there is no item with this identifier',
    'Use a guid, or yyyy-mm-dd.<rnsId> with exactly 16 characters.',
  )
}
