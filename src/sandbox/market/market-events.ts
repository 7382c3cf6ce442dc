/**
 * Builds timed market events: an item is published, amended or removed, or an unreadable item appears.
 */

import { SECOND_MS } from '../../core/durations.ts'
import type { Issuers } from './issuers.ts'
import type { Amendment } from './item-json.ts'
import { type Draft, inOrder, recategorise, succeed } from './item-template.ts'

/** A market event: one change of the item list at `atMs` of the market clock, ms since 1970. */
export type Happening = { atMs: number } & (
  | { kind: 'publish'; draft: Draft }
  | { kind: 'amend'; draft: Draft; amendment: Amendment }
  | { kind: 'vanish'; guid: string }
  | { kind: 'unreadable'; raw: string }
)

/** Items of one second become visible within this many milliseconds. */
const SPREAD_MS = 950

/**
 * Publishes each item template within the second of its timestamp. Within a second guids ascend, so that a cursor taken
 * in between skips nothing.
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

/** Removes each replaced item from the list at the time its replacement becomes visible. */
export function disappearances(published: readonly Happening[]): Happening[] {
  return published.flatMap((happening): Happening[] => {
    if (happening.kind !== 'publish' || happening.draft.replacesGuid === null) return []
    return [{ kind: 'vanish', guid: happening.draft.replacesGuid, atMs: happening.atMs }]
  })
}

/** Delays events for which `isLate` is true: their items become visible `delayMs` after their timestamp. */
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

/** Amends each published item `afterMs` later; with `restamped` the second revision has the new time as its timestamp. */
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

/** Makes each of the last `count` item templates a correction of one of the first, in order. Mutates them. */
export function correctFirst(drafts: readonly Draft[], count: number): void {
  drafts.slice(-count).forEach((draft, index) => {
    const before = drafts[index]
    if (before !== undefined) succeed(draft, before)
  })
}

/** Gives the item templates categories from `codes`. Mutates and returns them. */
export function recategorised(
  { issuers }: { issuers: Issuers },
  drafts: readonly Draft[],
  codes: readonly string[],
): readonly Draft[] {
  for (const draft of drafts) recategorise(draft, issuers, codes)
  return drafts
}

/** Adds one unreadable item after every `every`-th publication, each kind in turn. */
export function unreadables(published: readonly Happening[], every: number): Happening[] {
  return published.flatMap((happening, index): Happening[] => {
    if (happening.kind !== 'publish' || index % every !== every - 1) return []
    const place = (index + 1) / every - 1
    return [{ kind: 'unreadable', raw: unreadableText(place, happening.draft), atMs: happening.atMs }]
  })
}

/** Returns an item text without identity or time; `place` selects one of the kinds. */
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
