import { expect, test } from 'vitest'
import { type Arrivals, arrivalsRoute } from '../../../src/api/operations/arrivals-route.ts'
import { createSearchSlices } from '../../../src/archive/reading/search-slices.ts'
import { createCalendar } from '../../../src/core/calendar/calendar.ts'
import type { NewEvent } from '../../../src/core/event.ts'
import { eventWith, inPlace } from '../../archive/samples.ts'
import { serveRoutes, TOKEN } from '../../support/http/route-server.ts'
import { createStore, REPLICA } from '../../support/store.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

/** Noon of a Tuesday in winter. */
const NOON_MS = Date.parse('2026-01-06T12:00:00Z')

/** An event of that time, held eight seconds later. */
function eventAt(time: string): NewEvent {
  const timeMs = Date.parse(time)
  return { ...eventWith({}, time, timeMs), recordedtime: new Date(timeMs + 8000).toISOString() }
}

/** The route over these events, from the sequence `first` on. */
async function start(
  events: readonly NewEvent[],
  options: { first?: number; aheadMs?: number; replica?: typeof REPLICA } = {},
) {
  const { first = 1, aheadMs = 0, replica } = options
  const clock = createManualClock(NOON_MS)
  const { archive, reader } = createStore(clock, 0, 1, undefined, replica)
  archive.append(inPlace(events, first))
  const route = arrivalsRoute({
    archive,
    reader: { latest: archive.latest, replica: reader.replica },
    searchSlices: createSearchSlices(clock),
    calendar: createCalendar(),
    upstreamNowMs: () => clock.now() + aheadMs,
    clock,
  })
  return serveRoutes([route])
}

/** The slots that have a count above 0, as `HH:MM`. */
function filled({ data }: Arrivals, column: 'byTime' | 'byRecordedTime'): Record<string, number> {
  return Object.fromEntries(
    data.flatMap(({ from, [column]: count }) =>
      count === null || count === 0 ? [] : [[from.slice(11, 16), count]],
    ),
  )
}

test('a day is shown in slots of five minutes, by the time of the items and by when they were held', async () => {
  await using api = await start(
    ['07:00:01', '07:04:59', '07:05:00', '11:59:59'].map((at) => eventAt(`2026-01-06T${at}.000Z`)),
  )
  const day = await api.json<Arrivals>('/v1/arrivals?date=2026-01-06')
  expect(day).toMatchObject({
    date: '2026-01-06',
    from: '2026-01-06T00:00:00Z',
    to: '2026-01-07T00:00:00Z',
    slotSeconds: 300,
    sequence: 4,
    keptSince: null,
  })
  expect(day.data).toHaveLength(288)
  expect(filled(day, 'byTime')).toEqual({ '07:00': 2, '07:05': 1, '11:55': 1 })
  expect(filled(day, 'byRecordedTime')).toEqual({ '07:00': 1, '07:05': 2, '12:00': 1 })
  expect(await api.json('/v1/arrivals')).toEqual(day)
})

test('days with a change of clocks have 23 and 25 hours', async () => {
  await using api = await start([])
  for (const [date, slots] of [
    ['2025-03-30', 276],
    ['2025-10-26', 300],
  ]) {
    const { data } = await api.json<Arrivals>(`/v1/arrivals?date=${date}`)
    expect([date, data.length]).toEqual([date, slots])
  }
})

test('slots that have not begun are null, each by its own clock, unless an item is stamped ahead', async () => {
  await using api = await start([eventAt('2026-01-06T15:00:00.000Z')], { aheadMs: 3_600_000 })
  const { data } = await api.json<Arrivals>('/v1/arrivals')
  const at = (time: string) => data.find(({ from }) => from === `2026-01-06T${time}:00Z`)
  expect(at('12:00')).toMatchObject({ byTime: 0, byRecordedTime: 0 })
  expect(at('12:05')).toMatchObject({ byTime: 0, byRecordedTime: null })
  expect(at('13:05')).toMatchObject({ byTime: null, byRecordedTime: null })
  expect(at('15:00')).toMatchObject({ byTime: 1, byRecordedTime: 1 })
})

test('slots of which events were dropped are null, never zero', async () => {
  await using api = await start([eventAt('2026-01-06T09:02:00.000Z')], { first: 500 })
  const day = await api.json<Arrivals>('/v1/arrivals')
  expect(day.keptSince).toBe('2026-01-06T09:02:08.000Z')
  const known = day.data.filter(({ byTime }) => byTime !== null)
  expect([known[0]?.from, known.at(-1)?.from]).toEqual(['2026-01-06T09:05:00Z', '2026-01-06T12:00:00Z'])
  expect(day.data.find(({ from }) => from === '2026-01-06T09:00:00Z')?.byTime).toBe(null)
})

test('what is no date is refused, and a replica that is being filled answers 503', async () => {
  await using api = await start([])
  for (const date of [
    '2026-02-30',
    '2026-1-1',
    '1969-12-31',
    '2100-01-01',
    'today',
    '2026-01-06T00:00:00Z',
    '',
  ]) {
    const { status, body } = await api.ask(`/v1/arrivals?date=${date}`)
    expect([date, status, body.errors[0].field]).toEqual([date, 400, 'date'])
  }
  const filling = { sequence: 5, goal: 10, share: 0.5 }
  await using other = await start([], { replica: { ...REPLICA, filling } })
  expect(await other.ask('/v1/arrivals')).toMatchObject({ status: 503, body: { code: 'unavailable' } })
  expect((await api.ask('/v1/arrivals', `${TOKEN}x`)).status).toBe(401)
})
