/**
 * Parses the items of one upstream page and selects the revisions (contents of an item) that are not published yet.
 * Unreadable items are returned as rejected items, which the log stores as received.
 */
import type { StoredRevision } from '../../archive/store/archive.ts'
import { isoMillis } from '../../core/dates.ts'
import { parseItem } from '../../core/disclosure.ts'
import type { Steps } from '../../lifecycle/slices.ts'
import { type RejectedItem, rejectedHash } from '../../log/events.ts'
import type { Page, RawItem } from '../../upstream/page.ts'
import type { FetchedItem, ReadPage } from '../machine/state.ts'
import { KEPT_BYTES, shortened } from './shortened.ts'

/** Such a guid would be indistinguishable from the event id of another guid's revision. */
const LIKE_A_REVISION = /#\d+$/

/** Text of a page's unreadable items after which each further one is stored as its beginning and its hash. */
const MOST_UNREADABLE_CHARACTERS = 8 * 1024 * 1024
const BEGINNING_BYTES = 1024

/**
 * Reads a page, which the upstream sends newest first: of two contents of one guid the upper one is the later revision. All
 * that compares the page with what is published happens in the last step.
 * `standings` returns the latest published revision of each guid; `isRejected` is true for the hash of an unreadable text
 * that is already stored; `isForgotten` is true if an unknown item of that upstream time counts as published.
 */
export function* readItems(
  page: Page,
  standings: (guids: string[]) => ReadonlyMap<string, StoredRevision>,
  isRejected: (hash: string) => boolean,
  isForgotten: (timeMs: number) => boolean,
  nowMs: number,
): Steps<ReadPage> {
  const held: FetchedItem[] = []
  const unreadable = new Map<string, RejectedItem>()
  let unreadableCharacters = 0
  for (const item of page.items) {
    const most = unreadableCharacters < MOST_UNREADABLE_CHARACTERS ? KEPT_BYTES : BEGINNING_BYTES
    const read = yield* holdItem(item, nowMs, most)
    if ('disclosure' in read) held.push(read)
    else {
      unreadable.set(rejectedHash(read.raw), read)
      unreadableCharacters += read.raw.length
    }
    yield
  }
  const rejected = [...unreadable].flatMap(([hash, item]) => (isRejected(hash) ? [] : item))
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
  const { nextCursor, latestCursor, hasMore, itemTotal, warnings } = page
  const duplicates = held.length - fresh.length
  const times = held.map((item) => item.disclosure.timeMs)
  const count = page.items.length
  const keys = [...guids, ...unreadable.keys()]
  const paging = { nextCursor, latestCursor, hasMore, itemTotal }
  return { fresh, guids, times, count, keys, duplicates, rejected, ...paging, warnings }
}

/** The item, or why it is unreadable with `most` bytes of its text. */
function* holdItem(
  { text, value, fault }: RawItem,
  nowMs: number,
  most: number,
): Steps<FetchedItem | RejectedItem> {
  const read = parseItem(value, text)
  if (fault === undefined && read.ok && !LIKE_A_REVISION.test(read.item.disclosure.guid)) {
    return { ...read.item, text, revision: 1, fetchedMs: nowMs }
  }
  return {
    raw: yield* shortened(text, most),
    reason: fault ?? (read.ok ? 'the guid ends like a revision' : read.reason),
    guid: read.ok ? read.item.disclosure.guid : read.guid,
    recordedtime: isoMillis(nowMs),
  }
}
