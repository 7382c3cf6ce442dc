/**
 * The writer's state as keyed rows, for adapters that store it so. Owns their keys and the reading of rows that an older
 * version wrote; pure. Refuses to store.
 */
import type { DayRecord } from '../core/day-record.ts'
import { BridgeError } from '../errors.ts'
import type { Head, Ledger, OpenGap, Purpose, WriterState } from './log.ts'
import { unusedState } from './state.ts'
import { storedValue } from './stored-value.ts'

/** Everything but the gaps and days, which have rows of their own. */
type Field = Exclude<keyof Head, 'openGaps' | 'days'>

/** One JSON text a field of the head, an open gap, a day and a spell of the ledger. */
export function rowsOf({ head, ledger }: WriterState): Map<string, string> {
  const rows = new Map<string, string>()
  for (const field of fieldsOf(head)) rows.set(`head/${field}`, JSON.stringify(head[field]))
  head.openGaps.forEach((gap, place) => {
    rows.set(`gap/${gap.id}`, JSON.stringify({ place, gap }))
  })
  for (const day of head.days) rows.set(`day/${day.date}`, JSON.stringify(day))
  for (const [spellMs, units] of ledger) rows.set(`ledger/${spellMs}`, JSON.stringify(units))
  return rows
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

/** What differs: each changed key with its new text, null where it is gone. */
export function changedRows(
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): Map<string, string | null> {
  const changed = new Map<string, string | null>()
  for (const [key, text] of after) if (before.get(key) !== text) changed.set(key, text)
  for (const key of before.keys()) if (!after.has(key)) changed.set(key, null)
  return changed
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
