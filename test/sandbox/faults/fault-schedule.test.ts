import { expect, test } from 'vitest'
import { Faults, type ScheduledFault } from '../../../src/sandbox/faults/faults.ts'
import { londonMomentMs } from '../../../src/sandbox/market/london.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

const DAY = '2026-02-03'
const request = { url: '/v2/x', params: new URLSearchParams(), isList: true, needsKey: true }

/** The list of active faults with a timetable, on a market clock that starts at ten. */
function openSwitchboard(timetable: readonly ScheduledFault[]) {
  const clock = createManualClock(londonMomentMs(DAY, '10:00:00'))
  const faults = new Faults(clock, timetable, {
    momentMs: (time) => londonMomentMs(DAY, time),
    nowMs: clock.now,
  })
  return { faults, clock }
}

test('a scheduled fault is active from its start until its end, for any number of requests', () => {
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

test('a fault without an end lasts for its count, and the timetable is finished when it has started', () => {
  const { faults, clock } = openSwitchboard([{ from: '10:00:05', setting: { kind: 'reset', count: 2 } }])
  clock.advance(5_000)
  expect(faults.finished()).toBe(true)
  expect([1, 2, 3].map(() => faults.meet(request)?.kind)).toEqual(['reset', 'reset', undefined])
})

test('faults due between two requests start in order at the next one; those already over are skipped', () => {
  const { faults, clock } = openSwitchboard([
    { from: '10:00:30', setting: { kind: 'truncate' } },
    { from: '10:00:10', until: '10:00:20', setting: { kind: 'status' } },
    { from: '10:00:05', setting: { kind: 'reset' } },
  ])
  clock.advance(60_000)
  expect([1, 2, 3].map(() => faults.meet(request)?.kind)).toEqual(['reset', 'truncate', undefined])
})

test('removing all faults removes those that are due, not future ones', () => {
  const { faults, clock } = openSwitchboard([
    { from: '10:00:00', setting: { kind: 'reset' } },
    { from: '10:00:10', setting: { kind: 'truncate' } },
  ])
  expect(faults.remove(null)).toBe(1)
  clock.advance(10_000)
  expect(faults.meet(request)?.kind).toBe('truncate')
})
