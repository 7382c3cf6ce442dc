import { expect, test } from 'vitest'
import { createKeptPolls } from '../../../src/api/operations/kept-polls.ts'
import { type PollsAnswer, pollsRoute } from '../../../src/api/operations/polls-route.ts'
import { type KeptRequest, POLLS_TABLE, type PollsRow, pollsKey } from '../../../src/archive/polls.ts'
import { createCalendar } from '../../../src/core/calendar/calendar.ts'
import { serveRoutes } from '../../support/http/route-server.ts'
import { createMemoryLog } from '../../support/memory-log.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

const NOW_MS = Date.parse('2026-01-06T10:00:00Z')
const at = (time: string): number => Date.parse(`2026-01-06T${time}Z`)

async function start(rows: readonly PollsRow[], aheadMs = 0) {
  const clock = createManualClock(NOW_MS)
  const log = createMemoryLog()
  const table = log.table<PollsRow>(POLLS_TABLE)
  for (const row of rows) {
    const firstMs = row.requests[0]?.[0] ?? row.minutes[0]?.minuteMs ?? 0
    await table.put(pollsKey(Math.floor(firstMs / 300_000) * 300_000, 1, 1), row)
  }
  const upstreamNowMs = (): number => clock.now() + aheadMs
  return serveRoutes([
    pollsRoute({ readPolls: createKeptPolls({ log, clock }), calendar: createCalendar(), upstreamNowMs }),
  ])
}

const poll = (atMs: number): KeptRequest => [atMs, 'poll', 'new', 3, 1, 42_000, 80]

test('the requests of a day are listed in order, with the planned time to the next poll', async () => {
  const fill: KeptRequest = [at('07:00:04'), 'fill', 'timeout', null, null, null, null]
  await using api = await start([
    { aheadMs: 0, requests: [poll(at('09:30:00'))], minutes: [] },
    { aheadMs: null, requests: [poll(at('07:00:01')), fill], minutes: [] },
    { aheadMs: 0, requests: [poll(at('07:00:00') - 86_400_000)], minutes: [] },
  ])
  const day = await api.json<PollsAnswer>('/v1/polls')
  expect(day).toMatchObject({ date: '2026-01-06', keptSince: '2026-01-05T07:00:00.000Z', minutes: [] })
  const [first, second, third] = day.data
  expect(day.data).toHaveLength(3)
  expect(first).toEqual({
    at: '2026-01-06T07:00:01.000Z',
    upstreamAt: null,
    purpose: 'poll',
    result: 'new',
    newItems: 3,
    pageFull: true,
    nextAfterSeconds: 42,
    durationMs: 80,
  })
  expect(second).toMatchObject({ purpose: 'fill', newItems: null, pageFull: null, nextAfterSeconds: null })
  expect(third?.at).toBe('2026-01-06T09:30:00.000Z')
  expect((await api.json<PollsAnswer>('/v1/polls?date=2026-01-05')).data).toHaveLength(1)
})

test('upstream’s time of a request is not made up where the leader did not know its clock', async () => {
  const minute = { minuteMs: at('06:01:00'), purpose: 'poll', results: { empty: 61 }, newItems: 0 } as const
  await using api = await start([
    { aheadMs: null, requests: [poll(at('07:00:01'))], minutes: [] },
    { aheadMs: null, requests: [], minutes: [{ ...minute, fullPages: 0 }] },
    { aheadMs: 5000, requests: [poll(at('08:00:01'))], minutes: [] },
  ])
  const { data, minutes } = await api.json<PollsAnswer>('/v1/polls')
  expect(data.map(({ upstreamAt }) => upstreamAt)).toEqual([null, '2026-01-06T08:00:06.000Z'])
  expect(minutes.map(({ upstreamFrom }) => upstreamFrom)).toEqual([null])
})

test('a day is upstream’s, by the difference of the clocks when the requests were made', async () => {
  const aheadMs = 20 * 3_600_000
  await using api = await start([{ aheadMs, requests: [poll(at('09:30:00'))], minutes: [] }], aheadMs)
  const { date, data } = await api.json<PollsAnswer>('/v1/polls')
  expect([date, data[0]?.at, data[0]?.upstreamAt]).toEqual([
    '2026-01-07',
    '2026-01-06T09:30:00.000Z',
    '2026-01-07T05:30:00.000Z',
  ])
})

test('frequent requests are shown as sums by minute', async () => {
  const sums = { purpose: 'poll', newItems: 4, fullPages: 1 } as const
  const minutes = ['08:01:00', '08:00:00'].map((time) => ({
    minuteMs: at(time),
    results: { new: 2, empty: 58 },
    ...sums,
  }))
  await using api = await start([{ aheadMs: 0, requests: [], minutes }])
  const day = await api.json<PollsAnswer>('/v1/polls')
  expect(day.data).toEqual([])
  expect(day.minutes).toEqual(
    ['2026-01-06T08:00:00Z', '2026-01-06T08:01:00Z'].map((from) => ({
      ...{ from, upstreamFrom: from, requests: 60, results: { new: 2, empty: 58 } },
      ...sums,
    })),
  )
})

test('a log without requests says so, and a wrong date is refused', async () => {
  await using api = await start([])
  expect(await api.json('/v1/polls')).toMatchObject({ keptSince: null, data: [], minutes: [] })
  expect((await api.ask('/v1/polls?date=yesterday')).status).toBe(400)
})

test('a node that cannot read the table answers 503', async () => {
  const clock = createManualClock(NOW_MS)
  const table = { ...createMemoryLog().table(POLLS_TABLE), load: () => new Promise<never>(() => undefined) }
  const log = { table: () => table as never }
  await using api = await serveRoutes([
    pollsRoute({
      readPolls: createKeptPolls({ log, clock }),
      calendar: createCalendar(),
      upstreamNowMs: () => NOW_MS,
    }),
  ])
  const asking = api.ask('/v1/polls')
  while (clock.nextTimerMs() === null) await new Promise((resolve) => setImmediate(resolve))
  clock.advance(5000)
  expect(await asking).toMatchObject({ status: 503, body: { code: 'unavailable' } })
})
