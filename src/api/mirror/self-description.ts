/**
 * What the upstream API says of its parameters and pages (specification §4), for its document and for warnings about
 * unknown names. Owns names, meanings and forms. Refuses to read a request: `list-query.ts` and `paging.ts` do.
 */
import { channels, matches } from '../../core/filter/selection.ts'
import type { Described } from '../../http/route.ts'
import { type JsonSchema, list, object, ranged, text } from '../../http/schemas/json-schema.ts'
import { PAGE_SIZE } from './paging.ts'

type Parameters = Readonly<Record<string, Described>>

const pageSize: Described = {
  meaning: `Items a page, ${PAGE_SIZE.low}–${PAGE_SIZE.high}, default ${PAGE_SIZE.otherwise}.`,
  schema: ranged(PAGE_SIZE),
}
const pageNumber: Described = {
  meaning: 'The page of that number, from 1; new items shift the pages.',
  schema: { type: 'integer', minimum: 1 },
}
const pageCursor = 'The `nextCursor` of the page before.'
const sinceCursor = 'Only what came after this `latestCursor`, newest first.'
const dates = {
  dateFrom: 'Not before this moment: `YYYY`, `YYYY-MM`, `YYYY-MM-DD`, `YYYY-MM-DDTHH:MM` or a time in UTC.',
  dateTo: 'Not after this moment; a part of a date stands for its end.',
}
const commas = { schema: { type: 'string' } } as const
const repeated = { schema: list({ type: 'string' }) }
const isins = { meaning: 'ISINs, separated by commas.', ...commas }

/** Of a list that is browsed by cursor or number. */
export const browsingParameters: Parameters = { pageSize, pageCursor, pageNumber }

/** Of the latest NAVs. */
export const navsParameters: Parameters = {
  isins,
  isin: { meaning: 'The same, repeated.', ...repeated },
  pageSize,
  pageNumber,
  sinceCursor,
}

/** Of what one instrument has had. */
export const historyParameters: Parameters = { ...dates, pageSize, pageNumber }

/** Of the list of announcements. `nativeWord` stands in the place of `native`. */
export function listParameters(nativeWord: string): Parameters {
  return {
    ...dates,
    isins,
    isin: { meaning: 'The same, repeated; ignored beside `isins`.', ...repeated },
    symbols: { meaning: 'Listing symbols, separated by commas.', ...commas },
    symbol: { meaning: 'The same, repeated; ignored beside `symbols`.', ...repeated },
    match: {
      meaning: 'How instruments and symbols are compared; `issuer` where it is left out.',
      schema: { type: 'string', enum: matches },
    },
    fcaCategories: { meaning: 'FCA category codes, separated by commas.', ...commas },
    fcaCategory: { meaning: 'The same, repeated; ignored beside `fcaCategories`.', ...repeated },
    [`${nativeWord}Categories`]: {
      meaning: "Codes of the service's own categories, separated by commas.",
      ...commas,
    },
    [`${nativeWord}Category`]: {
      meaning: `The same, repeated; ignored beside \`${nativeWord}Categories\`.`,
      ...repeated,
    },
    q: 'Part of the headline, without case.',
    pageSize,
    pageCursor,
    pageNumber,
    sinceCursor,
    hasSymbol: {
      meaning: 'With `true` only items whose issuer has a listing symbol.',
      schema: { type: 'boolean' },
    },
    channel: { meaning: 'A distribution channel.', schema: { type: 'string', enum: channels } },
  }
}

const warnings = list(text('What was ignored, and why.'))

/** One resource: `data`, and `warnings` where there are any. */
export function singleSchema(data: JsonSchema): JsonSchema {
  return object({ data, warnings }, ['warnings'])
}

/** A page: `data`, `meta.paging` in the shape of its mode, and `warnings` where there are any. */
export function pageSchema(item: JsonSchema): JsonSchema {
  return object(
    {
      data: list(item),
      meta: object({
        paging: {
          type: 'object',
          description: 'In the shape of the way of paging that was asked for.',
          properties: {
            pageSize: { type: 'integer' },
            nextCursor: { type: ['string', 'null'] },
            latestCursor: { type: 'string' },
            pageNumber: { type: 'integer' },
            pageTotal: { type: 'integer' },
            itemTotal: { type: 'integer' },
            count: { type: 'integer' },
            hasMore: { type: 'boolean' },
          },
          required: ['pageSize'],
        },
      }),
      warnings,
    },
    ['warnings'],
  )
}
