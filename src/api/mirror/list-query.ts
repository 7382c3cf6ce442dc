/**
 * Parses and validates the query string of the announcement list (specification §4.1, §8) into filters, paging mode and
 * warnings for the client.
 */
import { crc32 } from 'node:zlib'
import { DAY_MS } from '../../core/durations.ts'
import { matchModes } from '../../core/filter/filter.ts'
import { channels, type Selection } from '../../core/filter/selection.ts'
import { type PlanName, planIncludes } from '../../core/plans.ts'
import { type Paging, readPageSize, readPaging } from './paging.ts'
import { readDate, readEnum, readList, readText, wrongParameter } from './parameters.ts'

/** How far back the list reads without `dateFrom` (specification §4.1.1). */
const DEFAULT_RANGE_MS = 30 * DAY_MS

/** Filters that a plan may lack, each with the smallest plan that has it (specification §8). */
const minimumPlans = {
  isins: 'lite',
  symbols: 'lite',
  fcaCategories: 'advanced',
  nativeCategories: 'advanced',
  q: 'advanced',
  channel: 'enterprise',
} as const satisfies Record<string, PlanName>

/** What parsing depends on besides the query string. */
export interface ListContext {
  plan: PlanName
  /** The server's current time, ms since 1970. */
  nowMs: number
  /** The word that replaces `native` in parameter names. */
  nativeWord: string
  /** `ignore`: no stored item has a channel, so the filter is ignored with a warning. */
  channel: 'serve' | 'ignore'
  /**
   * Range of a poll without dates: `default` as the upstream does, `whole` for everything after its cursor. `whole` suits
   * a store that is not ordered by time, where a new entry may be an old item.
   */
  pollRange: 'default' | 'whole'
}

/** What one list request asks for. */
export interface ItemListQuery {
  selection: Selection
  pageSize: number
  paging: Paging
  warnings: string[]
  /** Equal for equal filters on any page: a page cursor is valid only for the query that returned it. */
  fingerprint: string
}

/**
 * Parses and validates the parameters of one list request.
 * @throws MirrorRefusal 400 for the first parameter that is wrong
 */
export function readListQuery(params: URLSearchParams, context: ListContext): ItemListQuery {
  const paging = readPaging(params)
  const pageSize = readPageSize(params, context.plan)
  const warnings: string[] = []
  const sentFromMs = readDate(params, 'dateFrom')?.fromMs ?? null
  const toMs = readDate(params, 'dateTo')?.toMs ?? null
  const match = readEnum(params, 'match', matchModes) ?? 'issuer'
  const hasSymbol = readEnum(params, 'hasSymbol', ['true', 'false']) === 'true'
  const lists = readLists(params, context, warnings)
  const q = readQ(params, context.plan, warnings)
  const channel = readChannel(params, context, warnings)

  const wholePoll = paging.mode === 'since' && context.pollRange === 'whole' && toMs === null
  const wholeHistory = wholePoll || lists.isins !== null || lists.symbols !== null
  const defaultFromMs = wholeHistory ? null : (toMs ?? context.nowMs) - DEFAULT_RANGE_MS
  // The default start moves with the clock. The fingerprint has only what was sent, so that page cursors stay valid.
  const sent = { fromMs: sentFromMs, toMs, ...lists, match, q, hasSymbol, channel }
  const selection = { ...sent, fromMs: sentFromMs ?? defaultFromMs }
  return { selection, pageSize, paging, warnings, fingerprint: fingerprintOf(sent) }
}

function fingerprintOf(sent: Selection): string {
  const ordered = Object.entries(sent).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.toSorted() : value,
  ])
  return crc32(JSON.stringify(ordered.sort())).toString(16).padStart(8, '0')
}

type Lists = Pick<Selection, 'isins' | 'symbols' | 'fcaCategories' | 'nativeCategories'>

/** Reads the four list filters in both forms; those that the plan lacks are ignored with a warning. */
function readLists(params: URLSearchParams, { plan, nativeWord }: ListContext, warnings: string[]): Lists {
  const read = (filter: keyof Lists, plural: string, singular: string): string[] | null => {
    const name = [plural, singular].find((sent) => params.has(sent))
    if (name === undefined || isLacking(filter, plan, warnings, name)) return null
    return readList(params, plural, singular, warnings)
  }
  return {
    isins: read('isins', 'isins', 'isin'),
    symbols: read('symbols', 'symbols', 'symbol'),
    fcaCategories: read('fcaCategories', 'fcaCategories', 'fcaCategory'),
    nativeCategories: read('nativeCategories', `${nativeWord}Categories`, `${nativeWord}Category`),
  }
}

function readQ(params: URLSearchParams, plan: PlanName, warnings: string[]): string | null {
  const q = readText(params, 'q')
  if (q === null || isLacking('q', plan, warnings)) return null
  if (q === '') throw wrongParameter('q is empty', 'Leave q out, or send part of a headline.')
  return q
}

function readChannel(
  params: URLSearchParams,
  context: ListContext,
  warnings: string[],
): Selection['channel'] {
  if (!params.has('channel') || isLacking('channel', context.plan, warnings)) return null
  if (context.channel === 'serve') return readEnum(params, 'channel', channels)
  warnings.push('channel was ignored: no item here carries a distribution channel.')
  return null
}

/** True, with a warning, where the plan lacks this filter; `name`: the parameter that was sent. */
function isLacking(
  filter: keyof typeof minimumPlans,
  plan: PlanName,
  warnings: string[],
  name: string = filter,
): boolean {
  const minimum = minimumPlans[filter]
  if (planIncludes(plan, minimum)) return false
  warnings.push(`${name} was ignored: it needs the plan "${minimum}" or above.`)
  return true
}
