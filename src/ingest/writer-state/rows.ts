/**
 * Converts the poller's durable state to and from the key-value rows that commits carry: the head (cursor, gaps, pending
 * work) and the ledger (units spent). Rows of older versions are read too. The log itself stores the rows that hold its
 * epoch and last sequence.
 */
import type { DayRecord } from '../../core/calendar/day-record.ts'
import type { Purpose } from '../../core/purpose.ts'
import type { Ledger } from '../../governor/quota/time-buckets.ts'
import type { Writer } from '../../log/events.ts'
import { storedValue } from '../../log/stored-value.ts'
import { type Head, type OpenGap, timesOf, unusedHead } from './head.ts'

/** Everything that a writer knows of what is durable. */
export interface WriterState {
  readonly head: Readonly<Head>
  readonly ledger: Ledger
}

/** The fields of the head that have one row each: gaps and days have a row a member, the log keeps its own place. */
type Field = Exclude<keyof Head, 'openGaps' | 'days' | 'epoch' | 'sequence'>

/** Order of the kinds of rows; all others are between these. */
const FIRST = 'gap/'
const LAST = 'head/cursor'

/**
 * The rows that differ between two states; all rows where there was no state before. A mirror of a Kafka log may stop
 * between two rows of a commit. So gaps are first and the cursor is last: it never passes a gap that is not stored.
 */
export function changedRows(before: WriterState | null, after: WriterState): Map<string, string | null> {
  const changed = new Map<string, string | null>()
  addChanged(changed, '', before === null ? new Map() : headRows(before.head), headRows(after.head))
  addChanged(changed, 'ledger/', before?.ledger ?? new Map(), after.ledger)
  const rankOf = (key: string): number => (key.startsWith(FIRST) ? 0 : key === LAST ? 2 : 1)
  return new Map([...changed].sort(([one], [other]) => rankOf(one) - rankOf(other)))
}

/**
 * The state that a claim has read. A field that an older version did not store has its first value; unknown rows are ignored.
 * @throws BridgeError `log_damaged` when a row is not JSON, or a gap has an unreadable time
 */
export function claimedState({
  epoch,
  sequence,
  rows,
}: Pick<Writer, 'epoch' | 'sequence' | 'rows'>): WriterState {
  const under = <T>(prefix: string): [key: string, value: T][] =>
    [...rows]
      .filter(([key]) => key.startsWith(prefix))
      .map(([key, text]) => [key.slice(prefix.length), storedValue<T>(key, text)])
  const unused = unusedHead(epoch, sequence)
  const stored = new Map(under<unknown>('head/'))
  const head: Record<string, unknown> = {}
  for (const field of fieldsOf(unused)) head[field] = stored.get(field) ?? unused[field]
  const gaps = under<{ place: number; gap: OpenGap }>('gap/').sort(
    ([, one], [, other]) => one.place - other.place,
  )
  for (const [, { gap }] of gaps) timesOf(gap)
  const days = under<DayRecord>('day/').sort(([one], [other]) => (one < other ? -1 : 1))
  const ledger = under<Partial<Record<Purpose, number>>>('ledger/')
    .map(([startMs, units]) => [Number(startMs), units] as const)
    .sort(([one], [other]) => one - other)
  return {
    head: { ...unused, ...head, openGaps: gaps.map(([, { gap }]) => gap), days: days.map(([, day]) => day) },
    ledger: new Map(ledger),
  }
}

/** Adds the members that differ between two maps: `prefix` and the member's key, with its JSON text. */
function addChanged(
  changed: Map<string, string | null>,
  prefix: string,
  before: ReadonlyMap<string | number, unknown>,
  after: ReadonlyMap<string | number, unknown>,
): void {
  for (const [key, value] of after) {
    const old = before.get(key)
    // A ledger of two weeks has thousands of buckets, and all but one are the same objects as before.
    if (old === value) continue
    const text = JSON.stringify(value)
    if (text !== JSON.stringify(old)) changed.set(`${prefix}${key}`, text)
  }
  for (const key of before.keys()) if (!after.has(key)) changed.set(`${prefix}${key}`, null)
}

function headRows(head: Readonly<Head>): Map<string, unknown> {
  const rows = new Map<string, unknown>()
  for (const field of fieldsOf(head)) rows.set(`head/${field}`, head[field])
  head.openGaps.forEach((gap, place) => {
    rows.set(`gap/${gap.id}`, { place, gap })
  })
  for (const day of head.days) rows.set(`day/${day.date}`, day)
  return rows
}

function fieldsOf(head: Readonly<Head>): Field[] {
  const others: readonly string[] = ['openGaps', 'days', 'epoch', 'sequence']
  return Object.keys(head).filter((field) => !others.includes(field)) as Field[]
}
