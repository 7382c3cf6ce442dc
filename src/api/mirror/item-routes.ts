/**
 * Serves the list of announcements and the single one as the upstream API does (specification §4.1, §4.2).
 */
import { ITEMS_PATH } from '../../core/upstream-paths.ts'
import { disclosureSchema } from '../../http/schemas/event-schema.ts'
import { itemAnswer, listAnswer, refusedAnswer } from './answer.ts'
import type { ItemStore } from './item-store.ts'
import { type ItemListQuery, type ListContext, readListQuery } from './list-query.ts'
import type { MirrorRoute } from './route.ts'
import { listParameters, pageSchema, singleSchema } from './self-description.ts'

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
  const { store, check = () => undefined, now, nativeWord = 'native' } = options
  const { channel = 'serve', pollRange = 'default' } = options
  return [
    {
      path: ITEMS_PATH,
      summary: 'The list of announcements, newest first.',
      parameters: listParameters(nativeWord),
      schema: pageSchema(disclosureSchema),
      key: 'required',
      answer({ params, gone }, { plan }) {
        check()
        const context = { plan, nowMs: now(), nativeWord, channel, pollRange }
        const query = readListQuery(params, context)
        if (!query.ok) return refusedAnswer(query.refusal)
        const warnings = [...query.value.warnings, ...(options.caveats?.(query.value) ?? [])]
        return listAnswer(store, { ...query.value, warnings }, gone)
      },
    },
    {
      path: `${ITEMS_PATH}/:identifier`,
      summary: 'One announcement, by guid or by `yyyy-mm-dd.<rnsId>`.',
      parameters: {},
      schema: singleSchema(disclosureSchema),
      key: 'required',
      answer(request) {
        check()
        return itemAnswer(store, request.segment('identifier'))
      },
    },
  ]
}
