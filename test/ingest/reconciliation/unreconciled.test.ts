/** Tests which spans count as polled and never read again. */
import { expect, test } from 'vitest'
import { createCalendar } from '../../../src/core/calendar/calendar.ts'
import { type DayRecord, emptyDay } from '../../../src/core/calendar/day-record.ts'
import { unreconciledRanges } from '../../../src/ingest/reconciliation/unreconciled.ts'

const calendar = createCalendar()
const at = (text: string): number => Date.parse(`2026-01-${text}:00Z`)

function named(days: readonly DayRecord[], presentMs: number, skewMs = 0): string[] {
  const head = { days, countedFromMs: at('05T06:00') }
  const text = (ms: number): string => new Date(ms).toISOString().slice(8, 16)
  return unreconciledRanges(head, { calendar, presentMs, skewMs }).map(
    ({ fromMs, toMs }) => `${text(fromMs)}-${text(toMs)}`,
  )
}

function day(date: string, state: 'whole' | 'unpaid', walkedAt: string): DayRecord {
  const walk = { state, atMs: at(walkedAt), attempts: 0, pageCursor: null }
  return { ...emptyDay(`2026-01-${date}`), walk }
}

test('before anything is read again, all that polls have covered', () => {
  expect(named([], at('06T12:00'))).toEqual(['05T06:00-06T12:00'])
})

test('a reconciled day is taken out up to the moment when it was read', () => {
  expect(named([day('05', 'whole', '05T19:30')], at('06T12:00'))).toEqual(['05T19:30-06T12:00'])
})

test('the evening after a reconciliation is read with the next day', () => {
  const days = [day('05', 'whole', '05T19:30'), day('06', 'whole', '06T19:30')]
  expect(named(days, at('06T20:00'))).toEqual(['06T19:30-06T20:00'])
})

test('a day that the plan does not pay for stays named', () => {
  const days = [
    day('05', 'whole', '05T19:30'),
    day('06', 'unpaid', '06T19:30'),
    day('07', 'whole', '07T19:30'),
  ]
  expect(named(days, at('07T19:30'))).toEqual(['05T19:30-06T18:30'])
})

test('the moment of a reconciliation counts by upstream’s clock', () => {
  expect(named([day('05', 'whole', '05T19:30')], at('05T22:00'), 3_600_000)).toEqual(['05T20:30-05T22:00'])
})

test('before the first poll there is nothing to name', () => {
  const head = { days: [], countedFromMs: null }
  expect(unreconciledRanges(head, { calendar, presentMs: 0, skewMs: 0 })).toEqual([])
})
