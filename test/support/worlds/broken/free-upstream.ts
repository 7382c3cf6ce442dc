/**
 * Simulates an upstream that keeps no assumption of ours: items at any time, cursors of any order, answers from a cache,
 * pages in any order or with items left out. It records when each content was listed, for the check of a finished world.
 */
import type { SeededChance } from '../../../../src/core/chance.ts'
import { isoSeconds } from '../../../../src/core/dates.ts'
import type { UpstreamListQuery } from '../../../../src/upstream/list-parameters.ts'
import type { Failure } from '../../../../src/upstream/outcome.ts'
import type { Page } from '../../../../src/upstream/page.ts'

/** One content of an item, and while it is listed; ms since 1970. */
export interface FreeItem {
  guid: string
  timeMs: number
  content: string
  fromMs: number
  toMs: number
}

/** What is untrue of this upstream. The honest one has the first value of each. */
export interface FreeRules {
  cursors: 'time' | 'insertion'
  order: 'newest first' | 'any' | 'oldest first'
  hasMore: 'true' | 'never' | 'always' | 'absent'
  /** Age at which a poll cursor is refused, and how. */
  expires: { afterMs: number; failure: Failure } | null
  /** Date ranges whose pages always fail. */
  broken: { fromMs: number; toMs: number; failure: Failure } | null
  /** Answers are given again for so long, by their query. */
  cachedMs: number
  /** Share of listed items that a page leaves out. */
  leftOut: number
}

/** Rules of an honest upstream. */
export const HONEST: FreeRules = {
  cursors: 'time',
  order: 'newest first',
  hasMore: 'true',
  expires: null,
  broken: null,
  cachedMs: 0,
  leftOut: 0,
}

/** Far enough to sort times before 1970. */
const ZERO_MS = 1e14

/** That upstream. Asked with times that never go back. */
export class FreeUpstream {
  readonly #items: readonly FreeItem[]
  readonly #rules: FreeRules
  readonly #chance: SeededChance
  readonly #cache = new Map<string, { page: Page; untilMs: number }>()
  /** Times of its good answers. */
  readonly answeredMs: number[] = []
  /** Texts that a page by date should have had and left out. */
  readonly leftOut = new Set<string>()

  constructor(items: readonly FreeItem[], rules: Partial<FreeRules>, chance: SeededChance) {
    this.#items = items
    this.#rules = { ...HONEST, ...rules }
    this.#chance = chance
  }

  /** How it refuses this query; undefined where it does not. */
  refusal(
    { sinceCursor, fromMs, toMs = Number.POSITIVE_INFINITY }: UpstreamListQuery,
    nowMs: number,
  ): Failure | undefined {
    const { expires, broken } = this.#rules
    if (expires !== null && sinceCursor !== undefined && nowMs - givenMs(sinceCursor) >= expires.afterMs) {
      return expires.failure
    }
    const meets = broken !== null && fromMs !== undefined && fromMs < broken.toMs && toMs > broken.fromMs
    return meets ? broken.failure : undefined
  }

  /** Its answer. */
  page(query: UpstreamListQuery, nowMs: number): Page {
    const key = JSON.stringify(query)
    const cached = this.#cache.get(key)
    if (cached !== undefined && nowMs < cached.untilMs) return cached.page
    this.answeredMs.push(nowMs)
    const page = this.#page(query, nowMs)
    if (this.#rules.cachedMs > 0) this.#cache.set(key, { page, untilMs: nowMs + this.#rules.cachedMs })
    return page
  }

  #page({ sinceCursor, pageCursor, pageSize, fromMs, toMs }: UpstreamListQuery, nowMs: number): Page {
    const { order, hasMore, leftOut } = this.#rules
    const after = sinceCursor === undefined ? '' : keyIn(sinceCursor)
    const listed = this.#items
      .filter((item) => item.fromMs <= nowMs && nowMs < item.toMs)
      .filter(({ timeMs }) => fromMs === undefined || timeMs >= fromMs - 999)
      .filter(({ timeMs }) => toMs === undefined || timeMs <= toMs + 999)
      .map((item) => ({ item, key: this.#keyOf(item) }))
      .filter(({ key }) => key > after && (pageCursor === undefined || key < pageCursor))
      .sort((one, other) => (one.key < other.key ? 1 : -1))
    const chosen = listed.slice(0, pageSize)
    const more = listed.length > pageSize
    const missing = chosen.filter(() => this.#chance.yes(leftOut))
    const shown = chosen.filter((one) => !missing.includes(one))
    if (fromMs !== undefined) for (const { item } of missing) this.leftOut.add(freeText(item))
    if (order === 'oldest first') shown.reverse()
    if (order === 'any') shown.sort(() => this.#chance.next() - 0.5)
    const newest = chosen[0]
    const last = chosen.at(-1)
    const stated = { true: more, never: false, always: true, absent: undefined }[hasMore]
    return {
      items: shown.map(({ item }) => {
        const text = freeText(item)
        return { text, value: JSON.parse(text) as unknown }
      }),
      nextCursor: sinceCursor !== undefined ? undefined : more && last !== undefined ? last.key : null,
      latestCursor: newest === undefined ? (sinceCursor ?? null) : `${newest.key}@${nowMs}`,
      hasMore: sinceCursor === undefined ? undefined : stated,
      warnings: [],
    }
  }

  #keyOf({ guid, timeMs, fromMs }: FreeItem): string {
    const ms = this.#rules.cursors === 'time' ? timeMs : fromMs
    return `${String(ZERO_MS + ms).padStart(18, '0')}/${guid}`
  }
}

/** The item as it is sent. */
export function freeText({ guid, timeMs, content }: FreeItem): string {
  return JSON.stringify({
    guid,
    timestamp: isoSeconds(timeMs),
    headline: content,
    issuer: { name: 'A' },
    category: [],
  })
}

function keyIn(cursor: string): string {
  return cursor.split('@')[0] ?? ''
}

function givenMs(cursor: string): number {
  return Number(cursor.split('@')[1])
}
