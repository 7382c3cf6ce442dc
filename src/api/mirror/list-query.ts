/**
 * Parses and validates the query string of the item list (specification §4.1, §8) into selection, paging and warnings,
 * or a refusal.
 */

import { crc32 } from 'node:zlib'
import { DAY_MS } from '../../core/durations.ts'
import { matchModes } from '../../core/filter/filter.ts'
import { channels, type Selection } from '../../core/filter/selection.ts'
import type { PlanName } from '../../core/plans.ts'
import { type Paging, readPageSize, readPaging, withinPlan } from './paging.ts'
import { type Read, read, readDate, readEnum, readList, readText, unreadable } from './parameters.ts'
import { type EntitledFilter, missingPlan } from './plans.ts'

/** How far back the list reads without `dateFrom` (specification §4.1.1). */
const DEFAULT_RANGE_MS = 30 * DAY_MS

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

export interface ItemListQuery {
  selection: Selection
  pageSize: number
  paging: Paging
  warnings: string[]
  /** Equal for equal filters on any page: a page cursor is valid only for the query that returned it. */
  fingerprint: string
}

/** Parses and validates the parameters of one list request. */
export function readListQuery(params: URLSearchParams, context: ListContext): Read<ItemListQuery> {
  const paging = readPaging(params)
  if (!paging.ok) return paging
  const pageSize = withinPlan(readPageSize(params), context.plan)
  if (!pageSize.ok) return pageSize
  const selected = readSelection(params, paging.value, context)
  if (!selected.ok) return selected
  return read({ ...selected.value, pageSize: pageSize.value, paging: paging.value })
}

function readSelection(
  params: URLSearchParams,
  paging: Paging,
  context: ListContext,
): Read<{ selection: Selection; warnings: string[]; fingerprint: string }> {
  const warnings: string[] = []
  const dateFrom = readDate(params, 'dateFrom')
  if (!dateFrom.ok) return dateFrom
  const dateTo = readDate(params, 'dateTo')
  if (!dateTo.ok) return dateTo
  const match = readEnum(params, 'match', matchModes)
  if (!match.ok) return match
  const hasSymbol = readEnum(params, 'hasSymbol', ['true', 'false'])
  if (!hasSymbol.ok) return hasSymbol
  const lists = readLists(params, context, warnings)
  if (!lists.ok) return lists
  const q = readQ(params, context.plan, warnings)
  if (!q.ok) return q
  const channel = readChannel(params, context, warnings)
  if (!channel.ok) return channel

  const toMs = dateTo.value?.toMs ?? null
  const wholePoll = paging.mode === 'since' && context.pollRange === 'whole' && toMs === null
  const wholeHistory = wholePoll || lists.value.isins !== null || lists.value.symbols !== null
  const defaultFromMs = wholeHistory ? null : (toMs ?? context.nowMs) - DEFAULT_RANGE_MS
  const selection: Selection = {
    fromMs: dateFrom.value?.fromMs ?? defaultFromMs,
    toMs,
    ...lists.value,
    match: match.value ?? 'issuer',
    q: q.value,
    hasSymbol: hasSymbol.value === 'true',
    channel: channel.value,
  }
  // The default start moves with the clock. The fingerprint has only what was sent, so that page cursors stay valid.
  const asked = { ...selection, fromMs: dateFrom.value?.fromMs ?? null }
  return read({ selection, warnings, fingerprint: fingerprintOf(asked) })
}

function fingerprintOf(asked: Selection): string {
  const ordered = Object.entries(asked).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.toSorted() : value,
  ])
  return crc32(JSON.stringify(ordered.sort())).toString(16).padStart(8, '0')
}

type Lists = Pick<Selection, 'isins' | 'symbols' | 'fcaCategories' | 'nativeCategories'>

/** Reads the four list filters in both forms; those that the plan lacks are ignored with a warning. */
function readLists(params: URLSearchParams, context: ListContext, warnings: string[]): Read<Lists> {
  const lists: Lists = { isins: null, symbols: null, fcaCategories: null, nativeCategories: null }
  for (const { filter, plural, singular } of listNames(context.nativeWord)) {
    const list = readList(params, plural, singular)
    if (!list.ok) return list
    if (list.value.values === null) continue
    if (list.value.warning !== null) warnings.push(list.value.warning)
    const missing = missingPlan(context.plan, filter)
    if (missing === null) lists[filter] = list.value.values
    else warnings.push(ignoredByPlan(params.has(plural) ? plural : singular, missing))
  }
  return read(lists)
}

/** Parameter names of the list filters; the native one uses the live service's word. */
function listNames(nativeWord: string): { filter: keyof Lists; plural: string; singular: string }[] {
  return [
    { filter: 'isins', plural: 'isins', singular: 'isin' },
    { filter: 'symbols', plural: 'symbols', singular: 'symbol' },
    { filter: 'fcaCategories', plural: 'fcaCategories', singular: 'fcaCategory' },
    {
      filter: 'nativeCategories',
      plural: `${nativeWord}Categories`,
      singular: `${nativeWord}Category`,
    },
  ]
}

function readQ(params: URLSearchParams, plan: PlanName, warnings: string[]): Read<string | null> {
  const q = readText(params, 'q')
  if (!q.ok || q.value === null) return q
  if (isLacking('q', plan, warnings)) return read(null)
  return q.value === '' ? unreadable('q is empty', 'Leave q out, or send part of a headline.') : q
}

function readChannel(
  params: URLSearchParams,
  context: ListContext,
  warnings: string[],
): Read<Selection['channel']> {
  if (!params.has('channel') || isLacking('channel', context.plan, warnings)) return read(null)
  if (context.channel === 'serve') return readEnum(params, 'channel', channels)
  warnings.push('channel was ignored: no item here carries a distribution channel.')
  return read(null)
}

function isLacking(filter: EntitledFilter, plan: PlanName, warnings: string[]): boolean {
  const missing = missingPlan(plan, filter)
  if (missing !== null) warnings.push(ignoredByPlan(filter, missing))
  return missing !== null
}

function ignoredByPlan(parameter: string, missing: PlanName): string {
  return `${parameter} was ignored: it needs the plan "${missing}" or above.`
}
