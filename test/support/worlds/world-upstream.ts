/**
 * The upstream of a simulated world: its items, and the pages that an honest service with time-keyed cursors would give.
 * Owns cursors and texts of items. Refuses to fail: the world does that (`ingest-world.ts`).
 */
import { isoSeconds } from '../../../src/core/dates.ts'
import type { UpstreamListQuery } from '../../../src/upstream/client.ts'
import type { Page } from '../../../src/upstream/page.ts'

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
export interface PlacedItem {
  item: WorldItem
  key: string
}

/** Items in the order of their cursors, newest first. */
export function newestFirst(items: readonly WorldItem[]): readonly PlacedItem[] {
  return items
    .map((item) => ({ item, key: keyOf(item) }))
    .sort((one, other) => (one.key < other.key ? 1 : -1))
}

/**
 * The page as an honest upstream would give it at `nowMs`, of items in the order of their cursors. `stableCursors`: a poll
 * cursor is the same whenever it is given.
 */
export function honestPage(
  items: readonly PlacedItem[],
  query: UpstreamListQuery,
  nowMs: number,
  stableCursors: boolean,
): Page {
  const { sinceCursor, pageCursor, pageSize } = query
  const since = sinceCursor === undefined ? '' : keyIn(sinceCursor)
  const end = items.findIndex(({ key }) => key <= since)
  const newer = end === -1 ? items : items.slice(0, end)
  const inRange = newer.filter(
    ({ item, key }) =>
      item.visibleMs <= nowMs &&
      item.timeMs >= (query.fromMs ?? 0) - 999 &&
      item.timeMs <= (query.toMs ?? Number.POSITIVE_INFINITY) + 999 &&
      (pageCursor === undefined || key < pageCursor),
  )
  const chosen = inRange.slice(0, pageSize)
  const more = inRange.length > chosen.length
  const newest = chosen[0]
  const last = chosen.at(-1)
  const cursorAt = (key: string): string => `${key}@${stableCursors ? 0 : nowMs}`
  return {
    items: chosen.map(({ item }) => ({ text: textOf(item), value: JSON.parse(textOf(item)) as unknown })),
    nextCursor: sinceCursor === undefined ? (more && last !== undefined ? last.key : null) : undefined,
    latestCursor: newest === undefined ? (sinceCursor ?? null) : cursorAt(newest.key),
    hasMore: sinceCursor === undefined ? undefined : more,
    warnings: [],
  }
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
