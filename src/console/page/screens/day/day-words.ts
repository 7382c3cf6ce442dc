/** Puts the report of a London day into words: whether anything is missing, how the items were found, what it cost. */
import { counted, list } from '../../parts/elapsed.ts'
import { purposeWord } from '../../parts/purposes.ts'
import type { DayAnswer } from '../../parts/reading-answers.ts'

/**
 * What is known of a day. `whole`: read again to its end, nothing is missing · `gaps`: items may be missing in open gaps ·
 * `unproven`: polled, but not all of it was read again · `running`: the day is not over, or waits for its re-read · `empty`:
 * nothing was due.
 */
export type DayState = 'whole' | 'gaps' | 'unproven' | 'running' | 'empty'

/** A state beside its word and its shape: neither needs the colour. */
export const dayStates: Readonly<Record<DayState, { word: string; shape: string }>> = {
  whole: { word: 'nothing missing', shape: '✓' },
  gaps: { word: 'gaps left', shape: '▲' },
  unproven: { word: 'not proven', shape: '?' },
  running: { word: 'not finished', shape: '…' },
  empty: { word: 'nothing due', shape: '·' },
}

/** What is known of a day by its report. */
export function stateOfDay(day: DayAnswer): DayState {
  if (day.gapsLeft > 0) return 'gaps'
  if (day.walk === 'not_due' || day.walk === 'pending') return 'running'
  if ((day.unreconciled ?? []).length > 0) return 'unproven'
  if (day.walk === 'complete') return 'whole'
  if (day.walk === 'none') return itemsOf(day) === 0 ? 'empty' : 'unproven'
  return 'unproven'
}

/** The number of items of a day: contents found, without later contents of the same items. */
export function itemsOf(day: DayAnswer): number {
  return day.polled + day.filled + day.swept + day.backfilled - day.amended
}

/** Times and dates in words, London's. */
export interface TimeWords {
  /** E.g. `19:40`; with the date where it is another day's than `date`. */
  clock(iso: string, date: string): string
}

/** The first sentence on a day: whether anything is missing, and why that is known. */
export function verdictOf(day: DayAnswer, { clock }: TimeWords): string {
  if (day.gapsLeft > 0)
    return day.gapsLeft === 1
      ? 'One gap is still open: items may be missing in it. The bridge goes on trying to fill it.'
      : `${day.gapsLeft} gaps are still open: items may be missing in them. The bridge goes on trying to fill them.`
  const spans = (day.unreconciled ?? []).map(
    ({ from, to }) => `${clock(from, day.date)}–${clock(to, day.date)}`,
  )
  const unread = `${list(spans)} ${spans.length === 1 ? 'was' : 'were'} polled, but not read again: an item that became visible there behind the cursor may be missing.`
  switch (day.walk) {
    case 'complete': {
      const at = day.walkedAt === null ? '' : ` at ${clock(day.walkedAt, day.date)}`
      return spans.length === 0
        ? `The whole day was read again to its end${at}: nothing was missing.`
        : `The day was read again${at}. ${unread}`
    }
    case 'not_due':
      return 'No gap is open. The whole day is read again after its last releases; until then nothing proves that nothing is missing.'
    case 'pending':
      return 'No gap is open. The whole day is to be read again, and waits for the upstream or for units.'
    case 'over_budget':
      return 'No gap is open. The plan does not pay for reading the whole day again, so nothing proves that nothing is missing.'
    case 'failed':
      return 'No gap is open. The upstream never answered the second reading of the day to its end, so nothing proves that nothing is missing.'
    case 'missed':
      return 'No gap is open. The day was not read again in time, because no bridge led, so nothing proves that nothing is missing.'
    case 'none':
      if (spans.length > 0) return unread
      return itemsOf(day) === 0
        ? 'Nothing is released on such a day, and nothing came.'
        : 'No gap is open. The day is not read again: nothing is due on it, or the stream began after its releases.'
    default:
      return `No gap is open. Second reading: ${day.walk}.`
  }
}

/** The figures of a day, one sentence each; those that are zero are left out. */
export function figuresOf(day: DayAnswer, { clock }: TimeWords): string[] {
  const found = [
    [day.polled, 'by polls'],
    [day.filled, 'by fills (what a full page had left out)'],
    [day.swept, 'by re-scans (behind the cursor)'],
    [day.backfilled, 'by the backfill of the first start'],
  ] as const
  const ways = found
    .filter(([count]) => count > 0)
    .map(([count, way]) => `${count.toLocaleString('en-GB')} ${way}`)
  const units = Object.entries(day.units)
    .filter(([, count]) => count > 0)
    .sort(([, one], [, other]) => other - one)
  const spent = units.reduce((sum, [, count]) => sum + count, 0)
  return [
    ...(day.walk === 'not_due' ? ['Counted once a minute: the chart may be ahead of these figures.'] : []),
    ways.length === 0 ? 'No item.' : `${counted(itemsOf(day), 'item')}: ${list(ways)}.`,
    ...(day.amended > 0
      ? [`${day.amended.toLocaleString('en-GB')} of these contents changed an item that was held already.`]
      : []),
    ...(day.rejected > 0
      ? [`${counted(day.rejected, 'unreadable item')} stored as rejected; \`bridge rejected\` lists them.`]
      : []),
    day.eodSeen
      ? 'The upstream’s end mark of the day is held.'
      : 'The upstream’s end mark of the day is not held; it is a hint, not a proof.',
    ...(day.since === null
      ? []
      : [`Counted from ${clock(day.since, day.date)} on: the bridge began within the day.`]),
    ...(spent === 0
      ? []
      : [
          `${counted(spent, 'unit')} spent: ${list(units.map(([purpose, count]) => `${count.toLocaleString('en-GB')} for ${purposeWord(purpose)}`))}.`,
        ]),
  ]
}
