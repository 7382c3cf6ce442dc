/**
 * Reads the paging parameters of the upstream API (specification §2.12, §4.1.2) and builds `meta.paging` in the classic
 * and the polling shape.
 */
import type { PlanName } from '../../core/plans.ts'
import { type Read, read, readInteger, readText } from './parameters.ts'
import { largestPage, planForPage } from './plans.ts'
import { badRequest } from './refusal.ts'

/** Items per page. */
export const PAGE_SIZE = { low: 1, high: 200, otherwise: 50 }
const LAST_PAGE_NUMBER = 1_000_000_000

/** The two modes that read a list from its start: by cursor (the first page has none), or by number from 1. */
export type Browsing = { mode: 'cursor'; pageCursor: string | null } | { mode: 'number'; pageNumber: number }

/** One of the three paging modes of specification §4.1.2, with its position. */
export type Paging = Browsing | { mode: 'since'; sinceCursor: string }

/** Reads the paging mode of a request; more than one is refused. */
export function readPaging(params: URLSearchParams): Read<Paging> {
  const single = readSingle(params, ['pageCursor', 'pageNumber', 'sinceCursor'])
  if (!single.ok) return single
  const sinceCursor = readText(params, 'sinceCursor')
  if (!sinceCursor.ok) return sinceCursor
  if (sinceCursor.value !== null) return read({ mode: 'since', sinceCursor: sinceCursor.value })
  return readBrowsing(params)
}

/** Reads the paging mode for a list without polling, which has no `sinceCursor` (specification §4.3). */
export function readBrowsing(params: URLSearchParams): Read<Browsing> {
  const single = readSingle(params, ['pageCursor', 'pageNumber'])
  if (!single.ok) return single
  const pageNumber = readInteger(params, 'pageNumber', { low: 1, high: LAST_PAGE_NUMBER })
  if (!pageNumber.ok) return pageNumber
  if (pageNumber.value !== null) return read({ mode: 'number', pageNumber: pageNumber.value })
  const pageCursor = readText(params, 'pageCursor')
  return pageCursor.ok ? read({ mode: 'cursor', pageCursor: pageCursor.value }) : pageCursor
}

/** Checks that at most one of these parameters is present. */
function readSingle(params: URLSearchParams, names: readonly string[]): Read<null> {
  const used = names.filter((name) => params.has(name))
  if (used.length < 2) return read(null)
  const refusal = badRequest(
    'two_paging_modes',
    `${used.join(' and ')} exclude each other`,
    `Send one of ${names.slice(0, -1).join(', ')} and ${names.at(-1)}.`,
  )
  return { ok: false, refusal }
}

/** Reads the items per page, by default 50. */
export function readPageSize(params: URLSearchParams): Read<number> {
  const pageSize = readInteger(params, 'pageSize', PAGE_SIZE)
  return pageSize.ok ? read(pageSize.value ?? PAGE_SIZE.otherwise) : pageSize
}

/** Checks the page size against the plan's maximum (specification §8). */
export function withinPlan(pageSize: Read<number>, plan: PlanName): Read<number> {
  const ceiling = largestPage(plan)
  if (!pageSize.ok || pageSize.value <= ceiling) return pageSize
  const size = pageSize.value
  const refusal = badRequest(
    'page_size_above_plan',
    `pageSize ${size} is above the ceiling of the plan "${plan}", which is ${ceiling}`,
    `Send pageSize=${ceiling} or less, or use the plan "${planForPage(size)}".`,
  )
  return { ok: false, refusal }
}

/** Builds the classic shape; `latestCursor` is that of the newest item in the response, if any. */
export function classicPaging(
  page: { pageSize: number; pageNumber: number; itemTotal: number },
  latestCursor: string | undefined,
): object {
  const { pageSize, pageNumber, itemTotal } = page
  const pageTotal = Math.ceil(itemTotal / pageSize)
  const totals = { pageSize, pageNumber, pageTotal, itemTotal }
  return latestCursor === undefined ? totals : { ...totals, latestCursor }
}

/** Builds the polling shape; without items it returns the cursor that was sent. */
export function pollingPaging(page: {
  pageSize: number
  sinceCursor: string
  newestCursor: string | undefined
  count: number
  hasMore: boolean
}): object {
  const { pageSize, sinceCursor, newestCursor, count, hasMore } = page
  return { pageSize, latestCursor: newestCursor ?? sinceCursor, count, hasMore }
}
