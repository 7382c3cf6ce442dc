/**
 * Simulates an upstream that keeps no assumption of ours: items at any time, cursors of any order, answers from a cache or
 * from a server that is behind, pages in any order or with items left out. It records what each answer could have shown,
 * for the check of a finished world.
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
  /**
   * `page`: poll cursors by insertion, page cursors count the items before the page. `none`: no poll cursors, page cursors that
   * count.
   */
  cursors: 'time' | 'insertion' | 'page' | 'none'
  order: 'newest first' | 'any' | 'oldest first'
  /** Lists of dates begin with the oldest item: their first page is the last one of others. */
  isRising: boolean
  hasMore: 'true' | 'never' | 'always' | 'absent'
  /** Age at which a poll cursor is refused, and how. */
  expires: { afterMs: number; failure: Failure } | null
  /** Date ranges whose pages always fail; or only those behind the first page. */
  broken: { fromMs: number; toMs: number; failure: Failure; isLaterPagesOnly: boolean } | null
  /** Answers are given again for so long, by their query. */
  cachedMs: number
  /** Share of listed items that a page leaves out. */
  leftOut: number
  /** Half of the answers come from a server whose list is so far behind, ms. */
  behindMs: number
  /** Meanwhile the list stands still. */
  still: Span | null
  /** Meanwhile nothing is listed. */
  emptied: Span | null
  /** Behind poll cursors that were given before nothing is listed from then on. */
  renumberedMs: number | null
  /** Age from which a page cursor is answered with an empty last page. */
  pagesEndAfterMs: number | null
}

/** From one time to before another, ms. */
interface Span {
  fromMs: number
  toMs: number
}

/** Rules of an honest upstream. */
export const HONEST: FreeRules = {
  cursors: 'time',
  order: 'newest first',
  isRising: false,
  hasMore: 'true',
  expires: null,
  broken: null,
  cachedMs: 0,
  leftOut: 0,
  behindMs: 0,
  still: null,
  emptied: null,
  renumberedMs: null,
  pagesEndAfterMs: null,
}

/** An item with its place in the order of cursors. */
export interface Listed {
  item: FreeItem
  text: string
  /** Rises in the order of cursors; contents of one item at the same place share it. */
  rank: number
}

/** A date range that was read from its first page to its end. */
export interface FinishedScan {
  fromMs: number
  toMs: number | undefined
  /** When its first and last page were answered. */
  beganMs: number
  endedMs: number
  /**
   * Listed with the first page and still with the last, and on none of the pages. None where a page was empty that should not
   * have been: whoever reads must doubt that.
   */
  missing: ReadonlySet<Listed>
  /** The list stood still. */
  isStill: boolean
}

/** A date range that is being read. */
interface OpenScan {
  beganMs: number
  listed: readonly Listed[]
  shown: Set<Listed>
  isEmptied: boolean
  isStill: boolean
}

/** A page, its items, and all that its query listed. */
interface Answer {
  page: Page
  shown: readonly Listed[]
  listed: readonly Listed[]
  /** Of a list that stood still, or was empty. */
  isStill: boolean
  isEmptied: boolean
}

/** Upstream's bounds have whole seconds. */
const WHOLE_SECOND_MS = 999

/** That upstream. Asked with times that never go back. */
export class FreeUpstream {
  /** Every item, newest first in the order of cursors. */
  readonly entries: readonly Listed[]
  /** Times of the good answers that were of the present: not from the cache, behind, still or emptied; ascending. */
  readonly answeredMs: number[] = []
  /** Items that such an answer to a poll by cursor had, or cut off in a way that the poller can see, and when the last did. */
  readonly #offeredMs = new Map<Listed, number>()
  /** Items that a page should have had and did not, or cut off without a sign. */
  readonly #withheld = new Set<Listed>()
  /** Date ranges that were read to their end, in order. */
  readonly scans: FinishedScan[] = []
  readonly #rules: FreeRules
  readonly #chance: SeededChance
  readonly #cache = new Map<string, { answer: Answer; untilMs: number }>()
  readonly #values = new Map<string, unknown>()
  readonly #openScans = new Map<string, OpenScan>()

  constructor(items: readonly FreeItem[], rules: Partial<FreeRules>, chance: SeededChance) {
    this.#rules = { ...HONEST, ...rules }
    this.#chance = chance
    const placeOf = ({ timeMs, fromMs }: FreeItem): number => (this.isByTime ? timeMs : fromMs)
    const order = (one: FreeItem, other: FreeItem): number =>
      placeOf(one) - placeOf(other) || compare(one.guid, other.guid)
    let before: Listed | undefined
    this.entries = [...items]
      .sort(order)
      .map((item) => {
        const isSamePlace = before !== undefined && order(before.item, item) === 0
        before = { item, text: freeText(item), rank: (before?.rank ?? 0) + (isSamePlace ? 0 : 1) }
        return before
      })
      .reverse()
    for (const { text } of this.entries) this.#values.set(text, JSON.parse(text))
  }

  /** True where cursors follow item time. */
  get isByTime(): boolean {
    return this.#rules.cursors === 'time' || this.#rules.cursors === 'none'
  }

  /** When its cursors begin anew, ms; null for never. */
  get renumberedMs(): number | null {
    return this.#rules.renumberedMs
  }

  /** True where the list stands still or is empty within that time. */
  hidesItems({ fromMs, toMs }: Span): boolean {
    const { still, emptied } = this.#rules
    return [still, emptied].some((span) => span !== null && span.fromMs < toMs && fromMs < span.toMs)
  }

  /** How far the list of its slower server is behind, ms. */
  get behindMs(): number {
    return this.#rules.behindMs
  }

  /** True where a poll by cursor had the item, or cut it off in a way that the poller can see. */
  isOffered(entry: Listed): boolean {
    return this.#offeredMs.has(entry)
  }

  /**
   * Items that some answer hid, so that nobody can be blamed for missing them. A list that stood still hides only what no poll
   * by cursor offered afterwards.
   */
  hidden(): ReadonlySet<Listed> {
    const hidden = new Set(this.#withheld)
    for (const { missing, isStill, endedMs } of this.scans) {
      for (const entry of missing) {
        if (!isStill || (this.#offeredMs.get(entry) ?? 0) <= endedMs) hidden.add(entry)
      }
    }
    return hidden
  }

  get #isCounted(): boolean {
    return this.#rules.cursors === 'page' || this.#rules.cursors === 'none'
  }

  /** How it refuses this query; undefined where it does not. */
  refusal(
    { sinceCursor, pageCursor, fromMs, toMs = Number.POSITIVE_INFINITY }: UpstreamListQuery,
    nowMs: number,
  ): Failure | undefined {
    const { expires, broken } = this.#rules
    if (expires !== null && sinceCursor !== undefined && nowMs - givenMs(sinceCursor) >= expires.afterMs) {
      return expires.failure
    }
    if (broken === null || (broken.isLaterPagesOnly && pageCursor === undefined)) return undefined
    return fromMs !== undefined && fromMs < broken.toMs && toMs > broken.fromMs ? broken.failure : undefined
  }

  /** Its answer. */
  page(query: UpstreamListQuery, nowMs: number): Page {
    const { cachedMs, behindMs } = this.#rules
    const key = cachedMs > 0 ? JSON.stringify(query) : ''
    const cached = this.#cache.get(key)
    const isCached = cached !== undefined && nowMs < cached.untilMs
    const isBehind = behindMs > 0 && this.#chance.yes(0.5)
    const answer = isCached ? cached.answer : this.#answer(query, isBehind ? nowMs - behindMs : nowMs, nowMs)
    if (cachedMs > 0 && !isCached) this.#cache.set(key, { answer, untilMs: nowMs + cachedMs })
    const isPresent = !isCached && !isBehind && !answer.isStill && !answer.isEmptied
    if (isPresent) this.answeredMs.push(nowMs)
    if (query.fromMs !== undefined && query.pageNumber === undefined) this.#follow(query, answer, nowMs)
    if (query.sinceCursor !== undefined && isPresent) this.#offer(query, answer, nowMs)
    return answer.page
  }

  /** True where nothing is listed although something is: for a while, behind older cursors, or behind a page that has waited. */
  #isEmptied({ sinceCursor, pageCursor }: UpstreamListQuery, nowMs: number): boolean {
    const { emptied, renumberedMs, pagesEndAfterMs } = this.#rules
    if (isDuring(emptied, nowMs)) return true
    if (renumberedMs !== null && sinceCursor !== undefined && nowMs >= renumberedMs) {
      return givenMs(sinceCursor) < renumberedMs
    }
    return (
      pagesEndAfterMs !== null && pageCursor !== undefined && nowMs - givenMs(pageCursor) >= pagesEndAfterMs
    )
  }

  /** Items of a query as of that time, newest first. */
  #listed({ sinceCursor, fromMs, toMs }: UpstreamListQuery, atMs: number): Listed[] {
    const after = sinceCursor === undefined ? -1 : rankIn(sinceCursor)
    const leastMs = fromMs === undefined ? Number.NEGATIVE_INFINITY : fromMs - WHOLE_SECOND_MS
    const mostMs = toMs === undefined ? Number.POSITIVE_INFINITY : toMs + WHOLE_SECOND_MS
    const listed: Listed[] = []
    for (const entry of this.entries) {
      if (entry.rank <= after) break
      const { item } = entry
      if (item.fromMs > atMs || atMs >= item.toMs || item.timeMs < leastMs || item.timeMs > mostMs) continue
      listed.push(entry)
    }
    return listed
  }

  #answer(query: UpstreamListQuery, asOfMs: number, nowMs: number): Answer {
    const { sinceCursor, pageCursor, pageNumber, pageSize } = query
    const { cursors, order, isRising, hasMore, leftOut, still, pagesEndAfterMs } = this.#rules
    const isStill = isDuring(still, nowMs)
    const isEmptied = this.#isEmptied(query, nowMs)
    const falling = isEmptied ? [] : this.#listed(query, isStill ? (still?.fromMs ?? 0) : asOfMs)
    const listed = isRising && sinceCursor === undefined ? falling.toReversed() : falling
    const numbered = ((pageNumber ?? 1) - 1) * pageSize
    const start = pageCursor === undefined ? numbered : this.#startOf(pageCursor, listed)
    const chosen = listed.slice(start, start + pageSize)
    const more = listed.length > start + pageSize
    const shown = leftOut === 0 ? chosen : chosen.filter((entry) => !this.#withholds(entry, leftOut))
    // The specification: the cursor of the newest item in the response.
    const [newest] = shown
    const last = chosen.at(-1)
    const place = this.#isCounted ? start + pageSize : last?.rank
    // Where page cursors do not age, the same page has the same one: a cache knows it.
    const next = `${place}@${pagesEndAfterMs === null ? 0 : nowMs}`
    const latest = newest === undefined ? (sinceCursor ?? null) : `${newest.rank}@${nowMs}`
    const stated = { true: more, never: false, always: true, absent: undefined }[hasMore]
    return {
      shown,
      listed,
      isStill,
      isEmptied,
      page: {
        items: this.#inOrder(shown, order).map(({ text }) => ({ text, value: this.#values.get(text) })),
        ...(pageNumber !== undefined && { pageNumber, itemTotal: listed.length }),
        nextCursor: (sinceCursor ?? pageNumber) !== undefined ? undefined : more ? next : null,
        latestCursor: cursors === 'none' ? null : latest,
        hasMore: sinceCursor === undefined ? undefined : stated,
        warnings: [],
      },
    }
  }

  #startOf(pageCursor: string, listed: readonly Listed[]): number {
    const place = rankIn(pageCursor)
    if (this.#isCounted) return place
    const start = listed.findIndex(({ rank }) => rank < place)
    return start === -1 ? listed.length : start
  }

  #withholds(entry: Listed, share: number): boolean {
    if (!this.#chance.yes(share)) return false
    this.#withheld.add(entry)
    return true
  }

  #inOrder(shown: readonly Listed[], order: FreeRules['order']): readonly Listed[] {
    // The pages of a rising list are so already.
    if (order === 'newest first' || (order === 'oldest first' && this.#rules.isRising)) return shown
    if (order === 'oldest first') return [...shown].reverse()
    return shown
      .map((entry) => ({ entry, place: this.#chance.next() }))
      .sort((one, other) => one.place - other.place)
      .map(({ entry }) => entry)
  }

  /** Notes what a poll by cursor could have shown; what it cuts off counts where the poller can see that. */
  #offer({ pageSize }: UpstreamListQuery, { page, shown, listed }: Answer, nowMs: number): void {
    const isCutVisible = page.hasMore === true || shown.length >= pageSize
    const known = new Set(shown)
    for (const entry of listed) {
      if (known.has(entry) || isCutVisible) this.#offeredMs.set(entry, nowMs)
      else this.#withheld.add(entry)
    }
  }

  /** Follows the reading of a date range from its first page to its last one. */
  #follow({ fromMs, toMs, pageCursor, pageSize }: UpstreamListQuery, answer: Answer, nowMs: number): void {
    if (fromMs === undefined) return
    const range = { pageSize, fromMs, ...(toMs !== undefined && { toMs }) }
    const key = `${fromMs}/${toMs}`
    if (pageCursor === undefined) {
      const listed = this.#listed(range, nowMs)
      const isUntrue = { isStill: false, isEmptied: false }
      this.#openScans.set(key, { beganMs: nowMs, listed, shown: new Set(), ...isUntrue })
    }
    const scan = this.#openScans.get(key)
    if (scan === undefined) return
    for (const entry of answer.shown) scan.shown.add(entry)
    scan.isStill ||= answer.isStill
    scan.isEmptied ||= answer.isEmptied
    if (answer.page.nextCursor !== null) return
    this.#openScans.delete(key)
    const { beganMs, isStill, isEmptied } = scan
    const isMissing = (entry: Listed): boolean => entry.item.toMs > nowMs && !scan.shown.has(entry)
    const missing = new Set(isEmptied ? [] : scan.listed.filter(isMissing))
    this.scans.push({ fromMs, toMs, beganMs, endedMs: nowMs, missing, isStill })
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

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}

/** A cursor is the rank of an item, or a number of items, and the moment when it was given. */
function rankIn(cursor: string): number {
  return Number(cursor.split('@')[0])
}

function isDuring(span: Span | null, ms: number): boolean {
  return span !== null && span.fromMs <= ms && ms < span.toMs
}

function givenMs(cursor: string): number {
  return Number(cursor.split('@')[1])
}
