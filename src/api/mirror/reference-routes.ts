/**
 * Serves the upstream API's reference data on stock exchanges: the list in two paging modes and the single exchange
 * (specification §4.3). No API key is needed.
 */
import type { ExchangeReplica, StoredExchange } from '../../archive/exchanges.ts'
import { EXCHANGES_PATH } from '../../core/upstream-paths.ts'
import { anyObject } from '../../http/schemas/json-schema.ts'
import {
  classicPaging,
  listPage,
  openPageCursor,
  readBrowsing,
  readPageSize,
  sealPageCursor,
} from './paging.ts'
import { MirrorRefusal } from './refusal.ts'
import type { MirrorRoute } from './route.ts'
import { browsingParameters, pageSchema, singleSchema } from './self-description.ts'

/** Returns the exchanges that have been read so far: the sandbox's table or the bridge's replica. */
export type ReferenceStore = Pick<ExchangeReplica, 'exchanges' | 'exchange'>

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
      answer: ({ params }) => listAnswer(exchangesOf(store), params),
    },
    {
      path: `${EXCHANGES_PATH}/:mic`,
      summary: 'One exchange with its segments, by operating MIC.',
      parameters: {},
      schema: singleSchema(anyObject),
      key: 'none',
      answer(request) {
        exchangesOf(store)
        const { detail } = store.exchange(request.segment('mic')) ?? { detail: null }
        if (detail === undefined) {
          throw notReadYet('this exchange is listed, and its detail has not been read from upstream yet')
        }
        if (detail !== null) return `{"data":${detail}}`
        throw new MirrorRefusal(
          404,
          'not_found',
          'there is no exchange with this MIC',
          `Use an operating MIC in upper case, as ${EXCHANGES_PATH} lists them.`,
        )
      },
    },
  ]
}

/** @throws MirrorRefusal 503 until a complete list has been read */
function exchangesOf(store: ReferenceStore): readonly StoredExchange[] {
  const exchanges = store.exchanges()
  if (exchanges === null) throw notReadYet('the exchange references have not been read from upstream yet')
  return exchanges
}

/** A page cursor is the MIC of the last exchange returned, so added or removed exchanges do not break paging. */
function listAnswer(exchanges: readonly StoredExchange[], params: URLSearchParams): string {
  const paging = readBrowsing(params)
  const pageSize = readPageSize(params, 'enterprise')
  const textsOf = (page: readonly StoredExchange[]): string[] => page.map(({ listed }) => listed)
  if (paging.mode === 'number') {
    const { pageNumber } = paging
    const page = exchanges.slice((pageNumber - 1) * pageSize, pageNumber * pageSize)
    return listPage(textsOf(page), classicPaging({ pageSize, pageNumber, itemTotal: exchanges.length }))
  }
  const after = paging.pageCursor === null ? '' : openPageCursor(paging.pageCursor, FINGERPRINT)
  const left = exchanges.filter(({ mic }) => mic > after)
  const page = left.slice(0, pageSize)
  const last = page.at(-1)
  const nextCursor =
    left.length > pageSize && last !== undefined ? sealPageCursor(last.mic, FINGERPRINT) : null
  return listPage(textsOf(page), { pageSize, nextCursor })
}

function notReadYet(message: string): MirrorRefusal {
  const hint = 'Try again after the seconds in Retry-After.'
  return new MirrorRefusal(503, 'unavailable', message, hint, RETRY_AFTER_SECONDS)
}
