/**
 * Serves the upstream API's reference data on stock exchanges: the list in two paging modes and the single exchange
 * (specification §4.3). No API key is needed.
 */
import { EXCHANGES_PATH } from '../../core/upstream-paths.ts'
import { anyObject } from '../../http/schemas/json-schema.ts'
import type { ExchangeReference } from '../../upstream/exchange.ts'
import {
  type Browsing,
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

/** Returns exchange references: the sandbox's table or the bridge's copy. Either may throw MirrorRefusal 503. */
export interface ReferenceStore {
  /** Every entry of the list, sorted by MIC. */
  list(): Awaitable<readonly ExchangeReference[]>
  /** JSON text of the detail of the exchange with exactly that MIC; null where there is none. */
  detail(mic: string): Awaitable<string | null>
}

type Awaitable<T> = T | Promise<T>

/** Fingerprint of this list's page cursors, so that they are never taken for those of an item list. */
const FINGERPRINT = 'e8c4a9e5'
/** Why a reference may not be served. */
const refusals = {
  503: 'It was never read and cannot be read from upstream now; `Retry-After` says when to ask again.',
}

/** Builds the routes of the list and of the single exchange over a store. */
export function referenceRoutes(store: ReferenceStore): MirrorRoute[] {
  return [
    {
      path: EXCHANGES_PATH,
      summary: 'The list of exchanges.',
      parameters: browsingParameters,
      schema: pageSchema(anyObject),
      refusals,
      key: 'none',
      async answer({ params }) {
        const { paging, pageSize } = readQuery(params)
        return listAnswer(await store.list(), paging, pageSize)
      },
    },
    {
      path: `${EXCHANGES_PATH}/:mic`,
      summary: 'One exchange with its segments, by operating MIC.',
      parameters: {},
      schema: singleSchema(anyObject),
      refusals,
      key: 'none',
      async answer(request) {
        const detail = await store.detail(request.segment('mic'))
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

function readQuery(params: URLSearchParams): { paging: Browsing; pageSize: number } {
  return { paging: readBrowsing(params), pageSize: readPageSize(params, 'enterprise') }
}

/** A page cursor is the MIC of the last exchange returned, so added or removed exchanges do not break paging. */
function listAnswer(exchanges: readonly ExchangeReference[], paging: Browsing, pageSize: number): string {
  const textsOf = (page: readonly ExchangeReference[]): string[] => page.map(({ text }) => text)
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
