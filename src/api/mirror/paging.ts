/**
 * Implements the paging of the upstream API (specification §2.12, §4.1.2): reads the query parameters, encodes page
 * cursors, and builds result pages with `meta.paging`.
 */
import { type PlanName, planNames, plans } from '../../core/plans.ts'
import { readInteger, readText } from './parameters.ts'
import { MirrorRefusal } from './refusal.ts'

/** Items per page. */
export const PAGE_SIZE = { low: 1, high: 200, otherwise: 50 }
const LAST_PAGE_NUMBER = 1_000_000_000

/** The two modes that read a list from its start: by cursor (the first page has none), or by number from 1. */
export type Browsing = { mode: 'cursor'; pageCursor: string | null } | { mode: 'number'; pageNumber: number }

/** One of the three paging modes of specification §4.1.2, with its position. */
export type Paging = Browsing | { mode: 'since'; sinceCursor: string }

/** Reads the paging mode of a request; more than one is refused. */
export function readPaging(params: URLSearchParams): Paging {
  refuseTwo(params, ['pageCursor', 'pageNumber', 'sinceCursor'])
  const sinceCursor = readText(params, 'sinceCursor')
  return sinceCursor === null ? readBrowsing(params) : { mode: 'since', sinceCursor }
}

/** Reads the paging mode for a list without polling, which has no `sinceCursor` (specification §4.3). */
export function readBrowsing(params: URLSearchParams): Browsing {
  refuseTwo(params, ['pageCursor', 'pageNumber'])
  const pageNumber = readInteger(params, 'pageNumber', { low: 1, high: LAST_PAGE_NUMBER })
  if (pageNumber !== null) return { mode: 'number', pageNumber }
  return { mode: 'cursor', pageCursor: readText(params, 'pageCursor') }
}

function refuseTwo(params: URLSearchParams, names: readonly string[]): void {
  const used = names.filter((name) => params.has(name))
  if (used.length < 2) return
  throw new MirrorRefusal(
    400,
    'two_paging_modes',
    `${used.join(' and ')} exclude each other`,
    `Send one of ${names.slice(0, -1).join(', ')} and ${names.at(-1)}.`,
  )
}

/** Reads the items per page, by default 50, at most what the plan allows (specification §8). */
export function readPageSize(params: URLSearchParams, plan: PlanName): number {
  const pageSize = readInteger(params, 'pageSize', PAGE_SIZE) ?? PAGE_SIZE.otherwise
  const ceiling = plans[plan].pageSize
  if (pageSize <= ceiling) return pageSize
  const larger = planNames.find((name) => plans[name].pageSize >= pageSize)
  throw new MirrorRefusal(
    400,
    'page_size_above_plan',
    `pageSize ${pageSize} is above the ceiling of the plan "${plan}", which is ${ceiling}`,
    `Send pageSize=${ceiling} or less, or use the plan "${larger}".`,
  )
}

const PAGE_CURSOR = /^p1([0-9a-f]{8})(.+)$/s

/**
 * Encodes a position in a store as an opaque page cursor. `fingerprint`: eight hex digits, equal for equal filters on any
 * page.
 */
export function sealPageCursor(place: string, fingerprint: string): string {
  return Buffer.from(`p1${fingerprint}${place}`).toString('base64url')
}

/** Decodes the position from a page cursor; refuses a cursor of another query. */
export function openPageCursor(text: string, fingerprint: string): string {
  const [, sealed, place] = PAGE_CURSOR.exec(Buffer.from(text, 'base64url').toString()) ?? []
  if (sealed === undefined || place === undefined || sealPageCursor(place, sealed) !== text) {
    throw refusedPageCursor()
  }
  if (sealed === fingerprint) return place
  throw new MirrorRefusal(
    400,
    'page_cursor_of_other_query',
    'pageCursor belongs to another query',
    'Send the path and filters of the first request with every page, or start the walk again without pageCursor.',
  )
}

/** The refusal of an invalid page cursor. */
export function refusedPageCursor(): MirrorRefusal {
  return new MirrorRefusal(
    400,
    'cursor_refused',
    'pageCursor is not a cursor of this service',
    'Take meta.paging.nextCursor of the page before; to start again, leave pageCursor out.',
  )
}

/** The refusal of an invalid `sinceCursor`. */
export function refusedSinceCursor(): MirrorRefusal {
  return new MirrorRefusal(
    400,
    'cursor_refused',
    'sinceCursor is not a cursor of this service',
    'Take meta.paging.latestCursor of a list response; to start again, list without a cursor.',
  )
}

/** Builds a page of a list from the JSON texts of its items, `meta.paging` and any warnings. */
export function listPage(texts: readonly string[], paging: object, warnings: readonly string[] = []): string {
  const last = warnings.length === 0 ? '' : `,"warnings":${JSON.stringify(warnings)}`
  return `{"data":[${texts.join(',')}],"meta":${JSON.stringify({ paging })}${last}}`
}

/** Builds `meta.paging` in the classic shape; `latestCursor` is that of the newest item in the response, if any. */
export function classicPaging(
  page: { pageSize: number; pageNumber: number; itemTotal: number },
  latestCursor?: string,
): object {
  const { pageSize, pageNumber, itemTotal } = page
  const pageTotal = Math.ceil(itemTotal / pageSize)
  return { pageSize, pageNumber, pageTotal, itemTotal, ...(latestCursor !== undefined && { latestCursor }) }
}
