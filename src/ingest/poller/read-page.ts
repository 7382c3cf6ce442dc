/**
 * Parses the items of one upstream page and selects the revisions (contents of an item) that are not published yet.
 * Unreadable items are returned as rejected items, which the log stores as received.
 */
import type { StoredRevision } from '../../archive/store/archive.ts'
import { isoMillis } from '../../core/dates.ts'
import { parseItem } from '../../core/disclosure.ts'
import type { RejectedItem } from '../../log/events.ts'
import type { Page, RawItem } from '../../upstream/page.ts'
import type { FetchedItem, ReadPage } from '../machine/state.ts'

/** A broker rejects batches above 1 MiB; an item is at most half of that. */
const LARGEST_ITEM_BYTES = 512 * 1024

/** Such a guid would be indistinguishable from the event id of another guid's revision. */
const LIKE_A_REVISION = /#\d+$/

/**
 * Reads a page, which the upstream sends newest first: of two contents of one guid the upper one is the later revision.
 * `standings` returns the latest published revision of each guid; `isRejected` is true for an unreadable text that is
 * already stored; `isForgotten` is true if an unknown item of that upstream time counts as published.
 */
export function readItems(
  page: Page,
  standings: (guids: string[]) => ReadonlyMap<string, StoredRevision>,
  isRejected: (text: string) => boolean,
  isForgotten: (timeMs: number) => boolean,
  nowMs: number,
): ReadPage {
  const held: FetchedItem[] = []
  const rejected: RejectedItem[] = []
  for (const item of page.items) {
    const read = holdItem(item, nowMs)
    if ('disclosure' in read) held.push(read)
    else if (!isRejected(read.raw) && !rejected.some((other) => other.raw === read.raw)) rejected.push(read)
  }
  const guids = held.map((item) => item.disclosure.guid)
  const latest = new Map(standings(guids))
  const fresh: FetchedItem[] = []
  for (const item of held.toReversed()) {
    const { guid, timeMs } = item.disclosure
    const standing = latest.get(guid)
    if (standing?.hash === item.hash) continue
    if (standing === undefined && isForgotten(timeMs)) continue
    const revision = (standing?.revision ?? 0) + 1
    latest.set(guid, { revision, hash: item.hash })
    fresh.push({ ...item, revision })
  }
  const { nextCursor, latestCursor, hasMore, warnings } = page
  const duplicates = held.length - fresh.length
  const times = held.map((item) => item.disclosure.timeMs)
  const count = page.items.length
  return { fresh, guids, times, count, duplicates, rejected, nextCursor, latestCursor, hasMore, warnings }
}

function holdItem({ text, value }: RawItem, nowMs: number): FetchedItem | RejectedItem {
  const recordedtime = isoMillis(nowMs)
  const read = parseItem(value)
  if (!read.ok) return { raw: text, reason: read.reason, guid: read.guid, recordedtime }
  const { disclosure } = read.item
  if (LIKE_A_REVISION.test(disclosure.guid)) {
    return { raw: text, reason: 'the guid ends like a revision', guid: disclosure.guid, recordedtime }
  }
  if (Buffer.byteLength(text) > LARGEST_ITEM_BYTES) {
    return {
      raw: text,
      reason: `larger than ${LARGEST_ITEM_BYTES} bytes`,
      guid: disclosure.guid,
      recordedtime,
    }
  }
  return { ...read.item, text, revision: 1, fetchedMs: nowMs }
}
