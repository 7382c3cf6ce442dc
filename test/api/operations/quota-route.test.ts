import { expect, test } from 'vitest'
import { createLeaderFigures } from '../../../src/api/operations/leader-figures.ts'
import { type QuotaAnswer, quotaRoute } from '../../../src/api/operations/quota-route.ts'
import { createCalendar } from '../../../src/core/calendar/calendar.ts'
import { plans } from '../../../src/core/plans.ts'
import { firstProfile } from '../../../src/governor/arrivals/profile.ts'
import { type LeaderQuota, QUOTA_REQUEST } from '../../../src/http/schemas/leader-quota-schema.ts'
import { encodeReply, refused } from '../../../src/upstream/leader-reply.ts'
import { serveRoutes, TENANT_TOKEN } from '../../support/http/route-server.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

const DAY_MS = 86_400_000
/** Ten o'clock of a Tuesday in winter. */
const NOW_MS = Date.parse('2026-01-06T10:00:00Z')
const at = (time: string): number => Date.parse(`2026-01-06T${time}:00Z`)

const FIGURES: LeaderQuota = {
  asOf: new Date(NOW_MS).toISOString(),
  nextPoll: '2026-01-06T10:00:42.000Z',
  upstreamAheadMs: 0,
  quota: { limit: 1500, used: 12, remaining: 1488, reset: null, forecast: 0.8, drift: null },
  pollsUntilReset: 1190.4,
  plan: { name: 'lite', ...plans.lite, gatewayUnits: 0, quotaReset: 'rolling' },
  ledger: [
    [NOW_MS - 9 * DAY_MS, { poll: 40 }],
    [at('07:00'), { poll: 3, fill: 4 }],
    [at('09:55'), { poll: 4, sweep: 1 }],
  ],
  profile: firstProfile() as LeaderQuota['profile'],
}

async function start(figures: Partial<LeaderQuota> = {}) {
  const clock = createManualClock(NOW_MS)
  const read = async (): Promise<LeaderQuota> => ({ ...FIGURES, ...figures })
  return serveRoutes([quotaRoute({ figures: read, calendar: createCalendar(), clock })])
}

/** The slots in which units were spent. */
function spent({ data }: QuotaAnswer): Record<string, unknown> {
  const filled = data.filter(({ units }) => units !== null && Object.keys(units).length > 0)
  return Object.fromEntries(filled.map(({ from, units }) => [from.slice(11, 16), units]))
}

test('a tenant does not see the units of fund requests, which others may have made', async () => {
  await using api = await start({ ledger: [[at('07:00'), { poll: 3, gateway: 5 }]] })
  const [all, own] = [
    await api.json<QuotaAnswer>('/v1/quota'),
    await api.json<QuotaAnswer>('/v1/quota', TENANT_TOKEN),
  ]
  expect([all.weekUnits, spent(all)]).toEqual([{ poll: 3, gateway: 5 }, { '07:00': { poll: 3, gateway: 5 } }])
  expect([own.weekUnits, spent(own)]).toEqual([{ poll: 3 }, { '07:00': { poll: 3 } }])
})

test('a day shows what was spent, what is expected and which polls are planned, slot by slot', async () => {
  await using api = await start()
  const day = await api.json<QuotaAnswer>('/v1/quota')
  expect(day).toMatchObject({
    date: '2026-01-06',
    from: '2026-01-06T00:00:00Z',
    to: '2026-01-07T00:00:00Z',
    slotSeconds: 300,
    asOf: FIGURES.asOf,
    plan: { name: 'lite', weeklyQuota: 1500, reset: 'rolling' },
    quota: FIGURES.quota,
    weekUnits: { poll: 7, fill: 4, sweep: 1 },
    pollsUntilReset: 1190,
    comparison: null,
  })
  expect(spent(day)).toEqual({ '07:00': { poll: 3, fill: 4 }, '09:55': { poll: 4, sweep: 1 } })
  const expected = day.data.reduce((sum, slot) => sum + slot.expected, 0)
  expect(expected).toBeGreaterThan(1800)
  expect(expected).toBeLessThan(2000)
  const [past, future] = [day.data.slice(0, 120), day.data.slice(121)]
  expect(past.every(({ units, planned }) => units !== null && planned === null)).toBe(true)
  expect(future.every(({ units, planned }) => units === null && planned !== null)).toBe(true)
  const { planned } = day
  expect(planned?.moments[0]).toBe(FIGURES.nextPoll)
  expect(planned?.moments).toHaveLength(planned?.polls ?? -1)
  expect(day.data.reduce((sum, slot) => sum + (slot.planned ?? 0), 0)).toBe(planned?.polls)
  expect(planned?.polls).toBeGreaterThan(20)
  const left = 1488 - (planned?.polls ?? 0)
  expect(planned?.remaining).toBeLessThanOrEqual(left)
  expect(planned?.remaining).toBeGreaterThan(left - 40)
})

test('the next day is planned, later ones are not; what is over or beyond the ledger is null', async () => {
  await using api = await start()
  const of = (date: string) => api.json<QuotaAnswer>(`/v1/quota?date=${date}`)
  const tomorrow = await of('2026-01-07')
  expect(tomorrow.planned?.from).toBe('2026-01-07T00:00:00Z')
  expect(tomorrow.planned?.polls).toBeGreaterThan(50)
  expect(tomorrow.data.every(({ units, planned }) => units === null && planned !== null)).toBe(true)
  expect((await of('2026-01-08')).planned).toBe(null)
  const earlier = await of('2025-12-28')
  expect([earlier.planned, spent(earlier)]).toEqual([null, { '10:00': { poll: 40 } }])
  const forgotten = await of('2025-12-20')
  expect(forgotten.data.every(({ units }) => units === null)).toBe(true)
})

test('everything is shown by the clock of upstream', async () => {
  await using api = await start({ upstreamAheadMs: 3_600_000 + 40_000 })
  const day = await api.json<QuotaAnswer>('/v1/quota')
  expect(Object.keys(spent(day))).toEqual(['08:00', '10:55'])
  expect(day.planned?.moments[0]).toBe('2026-01-06T11:01:22.000Z')
  expect(day.upstreamAheadMs).toBe(3_640_000)
})

test('polls that come every few seconds are not planned one by one', async () => {
  const plan = { ...FIGURES.plan, weeklyQuota: 1_000_000 }
  await using api = await start({ plan })
  const { planned, data } = await api.json<QuotaAnswer>('/v1/quota')
  expect(planned).toMatchObject({ everySeconds: 1, polls: 14 * 3600, moments: [] })
  expect(data.at(-1)?.planned).toBe(300)
  expect(planned?.remaining).toBe(1_000_000 - 12 - 14 * 3600)
})

test('a wrong date and a wrong comparison are refused together, before the leader is asked', async () => {
  const clock = createManualClock(NOW_MS)
  const never = (): Promise<LeaderQuota> => Promise.reject(new Error('nobody is asked'))
  await using api = await serveRoutes([quotaRoute({ figures: never, calendar: createCalendar(), clock })])
  const { status, body } = await api.ask('/v1/quota?date=2026-13-01&compare=yes')
  expect([status, body.errors.map(({ field }: { field: string }) => field)]).toEqual([
    400,
    ['compare', 'date'],
  ])
})

test('the leader is asked once in five seconds, and its silence or another version is a 503', async () => {
  const clock = createManualClock(NOW_MS)
  const asked: string[] = []
  let reply = encodeReply({
    status: 200,
    text: JSON.stringify(FIGURES),
    refusal: null,
    retryAfterMs: null,
    validMs: 0,
  })
  const requests = {
    async send(request: string) {
      asked.push(request)
      return reply
    },
  }
  const read = createLeaderFigures({ requests, clock })
  expect([await read(), await read()]).toEqual([FIGURES, FIGURES])
  expect(asked).toEqual([QUOTA_REQUEST])
  for (const wrong of [
    encodeReply(refused(400, 'this is not a fund request', null, null)),
    encodeReply({ status: 200, text: '{"asOf":1}', refusal: null, retryAfterMs: null, validMs: 0 }),
    'no reply',
  ]) {
    clock.advance(5000)
    reply = wrong
    await expect(read()).rejects.toMatchObject({
      code: 'unavailable',
      message: 'the leader runs another version of the bridge. Update every node.',
    })
  }
  const silent = createLeaderFigures({
    requests: {
      send: (_, signal) => new Promise((_resolve, reject) => signal.addEventListener('abort', reject)),
    },
    clock,
  })
  const waiting = silent()
  clock.advance(10_000)
  await expect(waiting).rejects.toMatchObject({ code: 'unavailable', message: /no answer .* within 10 s/ })
})
