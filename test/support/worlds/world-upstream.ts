/** Simulates a correct upstream with time-keyed cursors: its items and the pages it serves; and the failures of an incorrect one. */
import { isoSeconds } from '../../../src/core/dates.ts'
import type { UpstreamListQuery } from '../../../src/upstream/list-parameters.ts'
import type { Failure } from '../../../src/upstream/outcome.ts'
import type { Page } from '../../../src/upstream/page.ts'

/** What a request may fail with. */
export const FAILURES: Failure[] = [
  { kind: 'server_error', status: 500 },
  { kind: 'timeout', phase: 'body' },
  { kind: 'invalid', reason: 'the body is not JSON' },
  { kind: 'network', message: 'ECONNRESET' },
  { kind: 'too_many', retryAfter: null },
  { kind: 'too_many', retryAfter: '-1' },
]

export interface WorldItem {
  guid: string
  timeMs: number
  /** From when upstream shows it. */
  visibleMs: number
  content: string
  /** Codes of FCA categories that it has. */
  codes?: readonly string[]
  /** An item that cannot be read: its text has no timestamp. */
  malformed?: boolean
}

/** An item with its place in the order of cursors. */
interface PlacedItem {
  item: WorldItem
  key: string
}

/** Serves pages of a world's items as an honest upstream would. Asked with times that never go back. */
export class HonestUpstream {
  /** Not yet visible; the next one to become visible last. */
  readonly #hidden: PlacedItem[]
  /** Visible, in the order of cursors, newest first. */
  readonly #visible: PlacedItem[] = []
  readonly #stableCursors: boolean
  #nowMs = Number.NEGATIVE_INFINITY

  /** `stableCursors`: a poll cursor is the same whenever it is given. */
  constructor(items: readonly WorldItem[], stableCursors: boolean) {
    this.#hidden = items
      .map((item) => ({ item, key: keyOf(item) }))
      .sort((one, other) => other.item.visibleMs - one.item.visibleMs)
    this.#stableCursors = stableCursors
  }

  /** The response to a request that arrives at `nowMs`. */
  page(query: UpstreamListQuery, nowMs: number): Page {
    this.#show(nowMs)
    const {
      sinceCursor,
      pageCursor,
      pageNumber,
      pageSize,
      fromMs = 0,
      toMs = Number.POSITIVE_INFINITY,
    } = query
    const visible = this.#visible
    const since = sinceCursor === undefined ? '' : keyIn(sinceCursor)
    const end = firstIndex(visible, ({ key, item }) => key <= since || item.timeMs < fromMs - 999)
    const first = firstIndex(
      visible,
      ({ key, item }) => item.timeMs <= toMs + 999 && (pageCursor === undefined || key < pageCursor),
    )
    const start = first + ((pageNumber ?? 1) - 1) * pageSize
    const chosen = visible.slice(start, Math.max(start, Math.min(end, start + pageSize)))
    const more = end > start + pageSize
    const newest = chosen[0]
    const last = chosen.at(-1)
    const cursorAt = (key: string): string => `${key}@${this.#stableCursors ? 0 : nowMs}`
    return {
      items: chosen.map(({ item }) => {
        const text = textOf(item)
        return { text, value: JSON.parse(text) as unknown }
      }),
      ...(pageNumber !== undefined && { pageNumber, itemTotal: Math.max(0, end - first) }),
      nextCursor:
        (sinceCursor ?? pageNumber) === undefined
          ? more && last !== undefined
            ? last.key
            : null
          : undefined,
      latestCursor: newest === undefined ? (sinceCursor ?? null) : cursorAt(newest.key),
      hasMore: sinceCursor === undefined ? undefined : more,
      warnings: [],
    }
  }

  #show(nowMs: number): void {
    if (nowMs < this.#nowMs) throw new RangeError('the time of a world never goes back')
    this.#nowMs = nowMs
    for (let next = this.#hidden.at(-1); next !== undefined && next.item.visibleMs <= nowMs; ) {
      const { key } = next
      this.#visible.splice(
        firstIndex(this.#visible, (placed) => placed.key < key),
        0,
        next,
      )
      this.#hidden.pop()
      next = this.#hidden.at(-1)
    }
  }
}

/** The first index from which on the condition holds, in a list where it holds for all that follow. */
function firstIndex(list: readonly PlacedItem[], holds: (placed: PlacedItem) => boolean): number {
  let low = 0
  let high = list.length
  while (low < high) {
    const middle = (low + high) >> 1
    const placed = list[middle]
    if (placed !== undefined && holds(placed)) high = middle
    else low = middle + 1
  }
  return low
}

function keyOf(item: WorldItem): string {
  return `${String(item.timeMs).padStart(15, '0')}/${item.guid}`
}

/** The place inside a poll cursor: everything before the moment it was given. */
function keyIn(cursor: string): string {
  return cursor.split('@')[0] ?? ''
}

/** The item as upstream sends it. */
export function textOf(item: WorldItem): string {
  const time = item.malformed ? {} : { timestamp: isoSeconds(item.timeMs) }
  return JSON.stringify({
    guid: item.guid,
    ...time,
    headline: item.content,
    issuer: { name: 'A' },
    category: (item.codes ?? []).map((code) => ({ kind: 'FCA', code, name: code })),
  })
}

/** A morning: `count` items in each of the given bursts, with an even trickle between them. */
export function burst(prefix: string, startMs: number, durationMs: number, count: number): WorldItem[] {
  return Array.from({ length: count }, (_, index) => {
    const timeMs = startMs + Math.floor((index * durationMs) / count / 1000) * 1000
    return {
      guid: `${prefix}-${String(index).padStart(5, '0')}`,
      timeMs,
      visibleMs: timeMs + 200,
      content: `${prefix} ${index}`,
    }
  })
}
