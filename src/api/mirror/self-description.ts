/**
 * Describes the query parameters and response bodies of the upstream API (specification §4), for the OpenAPI document
 * and for warnings about unknown parameter names.
 */
import { z } from 'zod'
import { matchModes } from '../../core/filter/filter.ts'
import { channels } from '../../core/filter/selection.ts'
import type { Described } from '../../http/route.ts'
import { ranged } from '../../http/schemas/json-schema.ts'
import { PAGE_SIZE } from './paging.ts'

type Parameters = Readonly<Record<string, Described>>

const pageSize = ranged(PAGE_SIZE, 'Items a page')
const pageNumber = z.number().meta({
  type: 'integer',
  minimum: 1,
  description: 'The page of that number, from 1; new items shift the pages.',
})
const pageCursor = 'The `nextCursor` of the page before.'
const sinceCursor = 'Only what came after this `latestCursor`, newest first.'
const dates = {
  dateFrom: 'Not before this moment: `YYYY`, `YYYY-MM`, `YYYY-MM-DD`, `YYYY-MM-DDTHH:MM` or a time in UTC.',
  dateTo: 'Not after this moment; a partial date means its end.',
}
const isins = 'ISINs, separated by commas.'

/** A list that is sent by repeating the name. */
function repeated(description: string) {
  return z.array(z.string()).describe(description)
}

/** Parameters of a list that is paged by cursor or number. */
export const browsingParameters: Parameters = { pageSize, pageCursor, pageNumber }

/** Parameters of the latest NAVs. */
export const navsParameters: Parameters = {
  isins,
  isin: repeated('The same, repeated.'),
  pageSize,
  pageNumber,
  sinceCursor,
}

/** Parameters of the history of one instrument. */
export const historyParameters: Parameters = { ...dates, pageSize, pageNumber }

/** Parameters of the list of announcements. `nativeWord` replaces `native`. */
export function listParameters(nativeWord: string): Parameters {
  return {
    ...dates,
    isins,
    isin: repeated('The same, repeated; ignored beside `isins`.'),
    symbols: 'Listing symbols, separated by commas.',
    symbol: repeated('The same, repeated; ignored beside `symbols`.'),
    match: z
      .enum(matchModes)
      .describe('How instruments and symbols are compared; `issuer` where it is left out.'),
    fcaCategories: 'FCA category codes, separated by commas.',
    fcaCategory: repeated('The same, repeated; ignored beside `fcaCategories`.'),
    [`${nativeWord}Categories`]: "Codes of the service's own categories, separated by commas.",
    [`${nativeWord}Category`]: repeated(`The same, repeated; ignored beside \`${nativeWord}Categories\`.`),
    q: 'Part of the headline, without case.',
    pageSize,
    pageCursor,
    pageNumber,
    sinceCursor,
    hasSymbol: z.boolean().describe('With `true` only items whose issuer has a listing symbol.'),
    channel: z.enum(channels).describe('A distribution channel.'),
  }
}

const warnings = z.array(z.string().describe('What was ignored, and why.')).optional()

/** Schema of a response with one resource: `data`, and `warnings` if there are any. */
export function singleSchema(data: z.ZodType) {
  return z.object({ data, warnings })
}

/** Schema of a page: `data`, `meta.paging` in the shape of its mode, and `warnings` if there are any. */
export function pageSchema(item: z.ZodType) {
  const paging = z.object({
    pageSize: z.int(),
    nextCursor: z.string().nullable().optional(),
    latestCursor: z.string().optional(),
    pageNumber: z.int().optional(),
    pageTotal: z.int().optional(),
    itemTotal: z.int().optional(),
    count: z.int().optional(),
    hasMore: z.boolean().optional(),
  })
  return z.object({
    data: z.array(item),
    meta: z.object({ paging: paging.describe('In the shape of the way of paging that was asked for.') }),
    warnings,
  })
}
