/**
 * What happens in the market, moment by moment: an item becomes visible, is amended, disappears, or something unreadable
 * turns up. Owns when a draft becomes visible: in the order of the listings, unless a scenario moves it. Refuses to
 * publish: the market does.
 */

import { SECOND_MS } from '../../core/durations.ts'
import type { Issuers } from './issuers.ts'
import type { Amendment } from './item-json.ts'
import { type Draft, inOrder, recategorise, succeed } from './item-template.ts'

/** One change of the listings at a moment of the market's clock, ms since 1970. */
export type Happening = { atMs: number } & (
  | { kind: 'publish'; draft: Draft }
  | { kind: 'amend'; draft: Draft; amendment: Amendment }
  | { kind: 'vanish'; guid: string }
  | { kind: 'unreadable'; raw: string }
)

/** Items of one second become visible within this part of it. */
const SPREAD_MS = 950

/**
 * Publishes each draft inside the second of its timestamp. Within a second the guids rise, so that a cursor taken in
 * between skips nothing.
 */
export function publications(drafts: readonly Draft[]): Happening[] {
  const bySecond = Map.groupBy(drafts.toSorted(inOrder), (draft) => draft.timeMs)
  return [...bySecond.values()].flatMap((sameSecond) =>
    sameSecond.map((draft, index): Happening => {
      const atMs = draft.timeMs + Math.floor((index * SPREAD_MS) / sameSecond.length)
      return { kind: 'publish', draft, atMs }
    }),
  )
}

/** What each replacing draft takes off the listings, at the moment it becomes visible itself. */
export function disappearances(published: readonly Happening[]): Happening[] {
  return published.flatMap((happening): Happening[] => {
    if (happening.kind !== 'publish' || happening.draft.replacesGuid === null) return []
    return [{ kind: 'vanish', guid: happening.draft.replacesGuid, atMs: happening.atMs }]
  })
}

/** The same happenings, but the drafts for which `isLate` holds become visible `delayMs` after their second. */
export function delayed(
  happenings: readonly Happening[],
  isLate: (index: number) => boolean,
  delayMs: (index: number) => number,
): Happening[] {
  return happenings.map((happening, index) =>
    happening.kind === 'publish' && isLate(index)
      ? { ...happening, atMs: happening.draft.timeMs + delayMs(index) }
      : happening,
  )
}

/** The second content of each draft, `afterMs` after the first; `restamped` gives it the time of that moment. */
export function amendments(
  published: readonly Happening[],
  options: { afterMs: number; restamped: boolean },
): Happening[] {
  return published.flatMap((happening): Happening[] => {
    if (happening.kind !== 'publish') return []
    const atMs = Math.ceil((happening.atMs + options.afterMs) / SECOND_MS) * SECOND_MS
    const amendment = { revision: 2, restampMs: options.restamped ? atMs : null }
    return [{ kind: 'amend', draft: happening.draft, amendment, atMs }]
  })
}

/** Makes each of the last `count` drafts the correction of one of the first, in order. Changes the drafts. */
export function correctFirst(drafts: readonly Draft[], count: number): void {
  drafts.slice(-count).forEach((draft, index) => {
    const before = drafts[index]
    if (before !== undefined) succeed(draft, before)
  })
}

/** The drafts as announcements of the given codes. Changes them. */
export function recategorised(
  { issuers }: { issuers: Issuers },
  drafts: readonly Draft[],
  codes: readonly string[],
): readonly Draft[] {
  for (const draft of drafts) recategorise(draft, issuers, codes)
  return drafts
}

/** One unreadable item after every `every`-th publication, each kind in turn. */
export function unreadables(published: readonly Happening[], every: number): Happening[] {
  return published.flatMap((happening, index): Happening[] => {
    if (happening.kind !== 'publish' || index % every !== every - 1) return []
    const place = (index + 1) / every - 1
    return [{ kind: 'unreadable', raw: unreadableText(place, happening.draft), atMs: happening.atMs }]
  })
}

/** Every way in which an item can have no identity or time. */
function unreadableText(place: number, near: Draft): string {
  const guid = `${near.guid}:unreadable`
  const texts = [
    { timestamp: '2026-02-03T07:00:00Z', headline: 'No guid' },
    { guid, headline: 'No timestamp' },
    { guid, timestamp: 'yesterday', headline: 'Unreadable timestamp' },
    null,
    42,
    'an item as plain text',
    ['an item as a list'],
    { guid: 7, timestamp: '2026-02-03T07:00:00Z', headline: 'A number for a guid' },
  ].map((value) => JSON.stringify(value))
  return texts[place % texts.length] ?? 'null'
}
