/**
 * The writer's state as keyed rows, for adapters that store it so. Owns their keys and the reading of rows that an older
 * version wrote; pure. Refuses to store.
 */
import type { DayRecord } from '../core/calendar/day-record.ts'
import { BridgeError } from '../errors.ts'
import type { Head, Ledger, OpenGap, Purpose, WriterState } from '../log/log.ts'
import { unusedState } from '../log/writer-state.ts'
import { storedValue } from './stored-value.ts'

/** Everything but the gaps and days, which have rows of their own. */
type Field = Exclude<keyof Head, 'openGaps' | 'days'>

/** Rows that differ, by key: the new text, null where a row is gone. */
export type ChangedRows = Map<string, string | null>

/**
 * What differs between two states, a row for a field of the head, an open gap, a day and a spell of the ledger. All rows
 * where there was none before.
 */
export function changedRows(before: WriterState | null, after: WriterState): ChangedRows {
  const changed: ChangedRows = new Map()
  addChanged(changed, '', before === null ? new Map() : headRows(before.head), headRows(after.head))
  addChanged(changed, 'ledger/', before?.ledger ?? new Map(), after.ledger)
  return changed
}

/** Adds what differs between two maps whose members are rows: `prefix` and the member's key, and its JSON text. */
export function addChanged(
  changed: ChangedRows,
  prefix: string,
  before: ReadonlyMap<string | number, unknown>,
  after: ReadonlyMap<string | number, unknown>,
): void {
  for (const [key, value] of after) {
    const old = before.get(key)
    // A ledger of two weeks has thousands of spells, and all but one are the same objects as before.
    if (old === value) continue
    const text = JSON.stringify(value)
    if (text !== JSON.stringify(old)) changed.set(`${prefix}${key}`, text)
  }
  for (const key of before.keys()) if (!after.has(key)) changed.set(`${prefix}${key}`, null)
}

/**
 * The state of these rows, or null where there are none of it. Rows of others are passed over. A field that an older
 * version did not know has its first value.
 * @throws BridgeError `log_damaged` when there are rows but not its epoch and sequence
 */
export function stateOf(rows: ReadonlyMap<string, string>): WriterState | null {
  const values = new Map(
    [...rows]
      .filter(([key]) => /^(head|gap|day|ledger)\//.test(key))
      .map(([key, text]) => [key, storedValue(key, text)]),
  )
  if (values.size === 0) return null
  if (!values.has('head/epoch') || !values.has('head/sequence')) {
    throw new BridgeError('log_damaged', 'the stored state has lost its epoch or sequence', {
      hint: 'Stop, keep a copy of what is stored, and restore the last good backup.',
    })
  }
  const unused = unusedState('').head
  const head: Record<string, unknown> = {}
  for (const field of fieldsOf(unused)) head[field] = values.get(`head/${field}`) ?? unused[field]
  const gaps = [...values]
    .filter(([key]) => key.startsWith('gap/'))
    .map(([, value]) => value as { place: number; gap: OpenGap })
    .sort((one, other) => one.place - other.place)
  return {
    head: { ...unused, ...head, openGaps: gaps.map(({ gap }) => gap), days: daysOf(values) },
    ledger: ledgerOf(values),
  }
}

/** The head's rows before they are texts. */
function headRows(head: Readonly<Head>): Map<string, unknown> {
  const rows = new Map<string, unknown>()
  for (const field of fieldsOf(head)) rows.set(`head/${field}`, head[field])
  head.openGaps.forEach((gap, place) => {
    rows.set(`gap/${gap.id}`, { place, gap })
  })
  for (const day of head.days) rows.set(`day/${day.date}`, day)
  return rows
}

/** Fields of the head in the order of their rows. */
function fieldsOf(head: Readonly<Head>): Field[] {
  return (Object.keys(head) as (keyof Head)[]).filter((field) => field !== 'openGaps' && field !== 'days')
}

/** Rising by date, whatever the order of the rows. */
function daysOf(values: ReadonlyMap<string, unknown>): DayRecord[] {
  return [...values]
    .filter(([key]) => key.startsWith('day/'))
    .map(([, day]) => day as DayRecord)
    .sort((one, other) => (one.date < other.date ? -1 : 1))
}

/** In the order of the spells, whatever the order of the rows. */
function ledgerOf(values: ReadonlyMap<string, unknown>): Ledger {
  const spells = [...values].filter(([key]) => key.startsWith('ledger/'))
  return new Map(
    spells
      .map(
        ([key, units]) =>
          [Number(key.slice('ledger/'.length)), units as Partial<Record<Purpose, number>>] as const,
      )
      .sort(([one], [other]) => one - other),
  )
}
