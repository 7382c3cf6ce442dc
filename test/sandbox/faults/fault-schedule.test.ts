import { expect, test } from 'vitest'
import { Faults, type ScheduledFault } from '../../../src/sandbox/faults/faults.ts'
import { londonMomentMs } from '../../../src/sandbox/market/london.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

const DAY = '2026-02-03'
const request = { url: '/v2/x', params: new URLSearchParams(), isList: true, needsKey: true }

/** A switchboard with a timetable, on a market clock that starts at ten. */
function openSwitchboard(timetable: readonly ScheduledFault[]) {
  const clock = createManualClock(londonMomentMs(DAY, '10:00:00'))
  const faults = new Faults(clock, timetable, {
    momentMs: (time) => londonMomentMs(DAY, time),
    nowMs: clock.now,
  })
  return { faults, clock }
}

test('a fault is on from its moment until its end, however many requests it meets', () => {
  const { faults, clock } = openSwitchboard([
    { from: '10:00:10', until: '10:00:20', setting: { kind: 'status', status: 503 } },
  ])
  expect([faults.meet(request), faults.finished()]).toEqual([null, false])
  clock.advance(10_000)
  for (let time = 0; time < 5; time++) expect(faults.meet(request)?.status).toBe(503)
  expect([faults.list().length, faults.finished()]).toEqual([1, false])
  clock.advance(10_000)
  expect([faults.meet(request), faults.list(), faults.finished()]).toEqual([null, [], true])
})

test('a fault without an end lasts for its count, and the timetable is done when it has begun', () => {
  const { faults, clock } = openSwitchboard([{ from: '10:00:05', setting: { kind: 'reset', count: 2 } }])
  clock.advance(5_000)
  expect(faults.finished()).toBe(true)
  expect([1, 2, 3].map(() => faults.meet(request)?.kind)).toEqual(['reset', 'reset', undefined])
})

test('faults that fell due while nobody asked begin in their order; what is over by then meets nobody', () => {
  const { faults, clock } = openSwitchboard([
    { from: '10:00:30', setting: { kind: 'truncate' } },
    { from: '10:00:10', until: '10:00:20', setting: { kind: 'status' } },
    { from: '10:00:05', setting: { kind: 'reset' } },
  ])
  clock.advance(60_000)
  expect([1, 2, 3].map(() => faults.meet(request)?.kind)).toEqual(['reset', 'truncate', undefined])
})

test('taking all faults away takes those that are due, not those to come', () => {
  const { faults, clock } = openSwitchboard([
    { from: '10:00:00', setting: { kind: 'reset' } },
    { from: '10:00:10', setting: { kind: 'truncate' } },
  ])
  expect(faults.remove(null)).toBe(1)
  clock.advance(10_000)
  expect(faults.meet(request)?.kind).toBe('truncate')
})
