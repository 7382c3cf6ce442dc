/**
 * Serves the exchange references of the upstream API: the list in two paging modes and the single exchange
 * (specification §4.3). No key is needed.
 */
import { EXCHANGES_PATH } from '../../core/upstream-paths.ts'
import { anyObject } from '../../http/schemas/json-schema.ts'
import { listPage, type MirrorAnswer, refusedAnswer } from './answer.ts'
import { openPageCursor, sealPageCursor } from './page-cursor.ts'
import { classicPaging, readBrowsing, readPageSize } from './paging.ts'
import type { ReferenceExchange, ReferenceStore } from './reference-store.ts'
import type { Refusal } from './refusal.ts'
import type { MirrorRoute } from './route.ts'
import { browsingParameters, pageSchema, singleSchema } from './self-description.ts'

/** Fingerprint of this list's page cursors, so that they are never taken for those of an item list. */
const FINGERPRINT = 'e8c4a9e5'
/** A bridge reads the list within seconds of its first successful poll, and then one detail per second. */
const RETRY_AFTER_SECONDS = 30

/** Builds the routes of the list and of the single exchange over a store. */
export function referenceRoutes(store: ReferenceStore): MirrorRoute[] {
  return [
    {
      path: EXCHANGES_PATH,
      summary: 'The list of exchanges.',
      parameters: browsingParameters,
      schema: pageSchema(anyObject),
      key: 'none',
      answer({ params }) {
        const exchanges = store.exchanges()
        if (exchanges === null) return refusedAnswer(notReadYet)
        return listAnswer(exchanges, params)
      },
    },
    {
      path: `${EXCHANGES_PATH}/:mic`,
      summary: 'One exchange with its segments, by operating MIC.',
      parameters: {},
      schema: singleSchema(anyObject),
      key: 'none',
      answer(request) {
        if (store.exchanges() === null) return refusedAnswer(notReadYet)
        const { detail } = store.exchange(request.segment('mic')) ?? { detail: null }
        if (detail === undefined) return refusedAnswer({ ...notReadYet, message: detailNotReadYet })
        if (detail === null) return refusedAnswer(noSuchExchange)
        return { status: 200, body: `{"data":${detail}}`, violation: null }
      },
    },
  ]
}

/** A page cursor is the MIC of the last exchange returned, so added or removed exchanges do not break paging. */
function listAnswer(exchanges: readonly ReferenceExchange[], params: URLSearchParams): MirrorAnswer {
  const paging = readBrowsing(params)
  if (!paging.ok) return refusedAnswer(paging.refusal)
  const size = readPageSize(params)
  if (!size.ok) return refusedAnswer(size.refusal)
  const pageSize = size.value
  const textsOf = (page: readonly ReferenceExchange[]): string[] => page.map(({ listed }) => listed)
  if (paging.value.mode === 'number') {
    const { pageNumber } = paging.value
    const page = exchanges.slice((pageNumber - 1) * pageSize, pageNumber * pageSize)
    const shape = classicPaging({ pageSize, pageNumber, itemTotal: exchanges.length }, undefined)
    return listPage(textsOf(page), shape)
  }
  const { pageCursor } = paging.value
  const after = pageCursor === null ? null : openPageCursor(pageCursor, FINGERPRINT)
  if (after !== null && !after.ok) return refusedAnswer(after.refusal)
  const left = after === null ? exchanges : exchanges.filter(({ mic }) => mic > after.value)
  const page = left.slice(0, pageSize)
  const last = page.at(-1)
  const nextCursor =
    left.length > pageSize && last !== undefined ? sealPageCursor(last.mic, FINGERPRINT) : null
  return listPage(textsOf(page), { pageSize, nextCursor })
}

const notReadYet: Refusal = {
  status: 503,
  violation: 'unavailable',
  message: 'the exchange references have not been read from upstream yet',
  hint: 'Try again after the seconds in Retry-After.',
  retryAfterSeconds: RETRY_AFTER_SECONDS,
}

const detailNotReadYet = 'this exchange is listed, and its detail has not been read from upstream yet'

const noSuchExchange: Refusal = {
  status: 404,
  violation: 'not_found',
  message: 'there is no exchange with this MIC',
  hint: `Use an operating MIC in upper case, as ${EXCHANGES_PATH} lists them.`,
}
