/**
 * Builds the events of the sandbox's market, each with its time: an item is published, amended or removed, or an
 * unreadable item appears.
 */
import { SECOND_MS } from '../../core/durations.ts'
import type { Amendment } from './item-json.ts'
import { type ItemTemplate, inOrder } from './item-template.ts'

/** A market event: one change of the item list at `atMs` of the market clock, ms since 1970. */
export type MarketEvent = { atMs: number } & (
  | { kind: 'publish'; template: ItemTemplate }
  | { kind: 'amend'; template: ItemTemplate; amendment: Amendment }
  | { kind: 'vanish'; guid: string }
  | { kind: 'unreadable'; raw: string }
)

/** The publication of an item. */
export type PublishEvent = Extract<MarketEvent, { kind: 'publish' }>

/** Items of one second become visible within this many milliseconds. */
const SPREAD_MS = 950

/**
 * Publishes each item template within the second of its timestamp. Within a second guids ascend, so that a cursor taken
 * in between skips nothing.
 */
export function publications(templates: readonly ItemTemplate[]): PublishEvent[] {
  const bySecond = Map.groupBy(templates.toSorted(inOrder), ({ timeMs }) => timeMs)
  return [...bySecond.values()].flatMap((sameSecond) =>
    sameSecond.map((template, index) => {
      const atMs = template.timeMs + Math.floor((index * SPREAD_MS) / sameSecond.length)
      return { kind: 'publish', template, atMs }
    }),
  )
}

/** Adds the removal of each replaced item from the list, at the time its replacement becomes visible. */
export function withDisappearances(published: readonly PublishEvent[]): MarketEvent[] {
  const removals = published.flatMap(({ template: { replacesGuid }, atMs }): MarketEvent[] =>
    replacesGuid === null ? [] : [{ kind: 'vanish', guid: replacesGuid, atMs }],
  )
  return [...published, ...removals]
}

/** Delays items: `delayMs` says how long after its timestamp an item becomes visible; null = as published. */
export function delayed(
  published: readonly PublishEvent[],
  delayMs: (index: number) => number | null,
): PublishEvent[] {
  return published.map((publication, index) => {
    const delay = delayMs(index)
    return delay === null ? publication : { ...publication, atMs: publication.template.timeMs + delay }
  })
}

/** Amends each published item `afterMs` later; with `restamped` the second revision has the new time as its timestamp. */
export function withAmendments(
  published: readonly PublishEvent[],
  options: { afterMs: number; restamped: boolean },
): MarketEvent[] {
  const amendments = published.map((publication): MarketEvent => {
    const atMs = Math.ceil((publication.atMs + options.afterMs) / SECOND_MS) * SECOND_MS
    const amendment = { restampMs: options.restamped ? atMs : null }
    return { kind: 'amend', template: publication.template, amendment, atMs }
  })
  return [...published, ...amendments]
}

/** Adds one unreadable item after every `every`-th publication, each kind in turn. */
export function withUnreadables(published: readonly PublishEvent[], every: number): MarketEvent[] {
  const near = published.filter((_, index) => index % every === every - 1)
  return [
    ...published,
    ...near.map(({ template, atMs }, index): MarketEvent => {
      return { kind: 'unreadable', raw: unreadableText(index, `${template.guid}:unreadable`), atMs }
    }),
  ]
}

/** Returns an item text without identity or time; `index` selects one of the kinds. */
function unreadableText(index: number, guid: string): string {
  const values = [
    { timestamp: '2026-02-03T07:00:00Z', headline: 'No guid' },
    { guid, headline: 'No timestamp' },
    { guid, timestamp: 'yesterday', headline: 'Unreadable timestamp' },
    null,
    42,
    'an item as plain text',
    ['an item as a list'],
    { guid: 7, timestamp: '2026-02-03T07:00:00Z', headline: 'A number for a guid' },
  ]
  return JSON.stringify(values[index % values.length])
}
