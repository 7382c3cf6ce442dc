/** Turns events into the rows of the feed: small, and safe to show whatever upstream sent. Pure. */
import type { DisclosureEvent, GapEvent } from '../../../../../clients/typescript/src/messages.ts'
import { textOfUnknown } from '../../parts/text.ts'
import { millisOf } from '../../parts/times.ts'

/** Levels of importance, highest first. */
export const levels = ['ultra', 'high', 'medium', 'low'] as const
export type Level = (typeof levels)[number]

/** A category of an announcement, by the field of a filter that takes its code; null: no filter does. */
export interface RowCategory {
  field: 'fcaCategories' | 'nativeCategories' | null
  code: string
  name: string
}

/** An announcement. */
export interface AnnouncementRow {
  kind: 'announcement'
  key: string
  id: string
  cursor: string
  timeMs: number
  /** When the bridge first held it, by its clock. */
  heldMs: number
  /** Upstream's clock minus the bridge's when the row arrived, ms; null where it was not known yet. */
  aheadMs: number | null
  level: Level | null
  symbol: string
  isin: string
  lei: string
  headline: string
  issuer: string
  categories: readonly RowCategory[]
  isAmended: boolean
  isLate: boolean
  replaces: boolean
}

/** A change of a gap. */
export interface GapRow {
  kind: 'gap'
  key: string
  id: string
  cursor: string
  timeMs: number
  state: 'opened' | 'filled' | 'given_up'
  fromMs: number | null
  toMs: number | null
  cause: string
  found: number
}

/** A row of the feed. */
export type FeedRow = AnnouncementRow | GapRow

/** Headlines have 50 characters; what is longer than this is on the item's own screen. */
const LONGEST_TEXT = 300
const MOST_CATEGORIES = 12

/** The row of an event. `aheadMs`: upstream's clock minus the bridge's now; null: not known. */
export function rowOf(event: DisclosureEvent | GapEvent, aheadMs: number | null): FeedRow {
  const { id, cursor, sequence, epoch } = event
  const timeMs = millisOf(event.time) ?? 0
  const common = { key: `${epoch} ${sequence} ${id}`, id, cursor, timeMs }
  return event.type.startsWith('bridge.gap.')
    ? gapRow(event as GapEvent, common)
    : announcementRow(event as DisclosureEvent, { ...common, aheadMs })
}

type Common = Pick<FeedRow, 'key' | 'id' | 'cursor' | 'timeMs'>

function gapRow({ type, data }: GapEvent, common: Common): GapRow {
  const state = type.includes('.filled') ? 'filled' : type.includes('.given_up') ? 'given_up' : 'opened'
  return {
    kind: 'gap',
    ...common,
    state,
    fromMs: millisOf(data.from),
    toMs: millisOf(data.to),
    cause: textIn(data.cause),
    found: typeof data.found === 'number' ? data.found : 0,
  }
}

/** From publication to the bridge by upstream's clock as the row knows it, ms, never negative. */
export function delayOf({ timeMs, heldMs, aheadMs }: AnnouncementRow): number {
  return Math.max(0, heldMs + (aheadMs ?? 0) - timeMs)
}

/** The row, with upstream's clock minus the bridge's where it did not know that yet. */
export function datedBy(row: FeedRow, aheadMs: number): FeedRow {
  return row.kind === 'announcement' && row.aheadMs === null ? { ...row, aheadMs } : row
}

function announcementRow(
  event: DisclosureEvent,
  common: Common & Pick<AnnouncementRow, 'aheadMs'>,
): AnnouncementRow {
  const { data } = event
  const issuer = membersOf(data.issuer)
  const instrument = membersOf(issuer.instrument)
  const categories = listOf(data.category).map(membersOf)
  return {
    kind: 'announcement',
    ...common,
    heldMs: millisOf(event.recordedtime) ?? common.timeMs,
    level: levels.find((level) => categories.some(({ importance }) => importance === level)) ?? null,
    symbol: textIn(membersOf(instrument.symbol).mnemonic),
    isin: textIn(instrument.isin),
    lei: textIn(issuer.lei),
    headline: textIn(data.headline),
    issuer: textIn(issuer.name),
    categories: categories.slice(0, MOST_CATEGORIES).map(categoryOf),
    isAmended: event.type.includes('.amended'),
    isLate: event.late === 'true',
    replaces: event.replacesid !== undefined,
  }
}

/** The upstream's own kind has another name at each provider; `FCA` and the source's `RNS` have not. */
function categoryOf({ kind, code, name }: Members): RowCategory {
  const field = kind === 'FCA' ? 'fcaCategories' : kind === 'RNS' ? null : 'nativeCategories'
  return { field, code: textIn(code), name: textIn(name) }
}

type Members = Readonly<Record<string, unknown>>

function membersOf(value: unknown): Members {
  return typeof value === 'object' && value !== null ? (value as Members) : {}
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function textIn(value: unknown): string {
  return textOfUnknown(value).slice(0, LONGEST_TEXT)
}

/** What a gap row says. `time` writes a moment. */
export function gapWords(row: GapRow, time: (ms: number) => string): string {
  const span =
    row.fromMs === null || row.toMs === null
      ? 'At some time'
      : `Between ${time(row.fromMs)} and ${time(row.toMs)}`
  const found = row.found === 1 ? '1 announcement was found' : `${row.found} announcements were found`
  if (row.state === 'filled') return `${span} nothing is missing any more: ${found}.`
  if (row.state === 'given_up') return `${span} announcements may be missing for good; ${found}.`
  return `${span} announcements may be missing: ${causeWords[row.cause] ?? 'the bridge says why in the event'}.`
}

const causeWords: Readonly<Record<string, string>> = {
  overflow: 'more arrived at once than a poll returns',
  cursor_refused: 'the upstream refused to go on where polling had stopped',
  outage: 'nobody polled',
  epoch: 'the log was made anew or restored',
  retention: 'older events are no longer kept',
}
