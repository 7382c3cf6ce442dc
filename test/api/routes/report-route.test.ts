import { expect, test } from 'vitest'
import { reportRoute } from '../../../src/api/routes/report-route.ts'
import { type DayReport, publishedDay } from '../../../src/archive/days.ts'
import { emptyDay } from '../../../src/core/calendar/day-record.ts'
import { createApp } from '../../../src/http/app.ts'
import { adminAuthenticate } from '../../../src/http/auth.ts'
import { listen } from '../../../src/http/listener.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'

const TOKEN = 'a token of the tests'

/** The route over these days, on a socket; null = not loaded yet. */
async function start(days: readonly DayReport[] | null) {
  const { logger } = keepingLogger()
  const app = createApp({
    routes: [reportRoute({ last: (count) => days?.slice(-count) ?? null })],
    authenticate: adminAuthenticate(TOKEN),
    corsOrigins: [],
    logger,
  })
  const listener = await listen(app, { host: '127.0.0.1', port: 0, setting: 'X', clock: systemClock, logger })
  return {
    ask: (query: string, token = TOKEN) =>
      fetch(`${listener.url}/v1/report${query}`, { headers: { authorization: `Bearer ${token}` } }),
    [Symbol.asyncDispose]: () => listener.close(0),
  }
}

function report(index: number): DayReport {
  const { walk: _, ...counts } = emptyDay(new Date(Date.UTC(2026, 0, 1 + index)).toISOString().slice(0, 10))
  return { ...counts, gapsLeft: 0, walk: 'whole', walkedAt: null, since: null, units: { poll: index } }
}

test('the last two weeks are the default, other numbers of days by parameter', async () => {
  const days = Array.from({ length: 20 }, (_, index) => report(index))
  await using api = await start(days)
  expect(await (await api.ask('')).json()).toEqual({ data: days.slice(-14).map(publishedDay) })
  expect(await (await api.ask('?days=1')).json()).toEqual({ data: days.slice(-1).map(publishedDay) })
})

test('reconciliation states have documented names, whatever the stored row calls them', async () => {
  const stored = [
    'not_due',
    'none',
    'owed',
    'whole',
    'unpaid',
    'failed',
    'missed',
    'of a later version',
  ] as const
  await using api = await start(stored.map((walk) => ({ ...report(1), walk }) as DayReport))
  const { data } = (await (await api.ask('')).json()) as { data: { walk: string }[] }
  expect(data.map(({ walk }) => walk)).toEqual([
    ...['not_due', 'none', 'pending', 'complete', 'over_budget', 'failed', 'missed', 'of a later version'],
  ])
})

test('a wrong number, an unknown parameter and a missing token are refused', async () => {
  await using api = await start([])
  for (const query of ['?days=0', '?days=401', '?days=x', '?day=1']) {
    const answer = await api.ask(query)
    expect([answer.status, await answer.json()]).toMatchObject([400, { code: 'parameter_invalid' }])
  }
  expect((await api.ask('', 'another')).status).toBe(401)
})

test('a node that has not loaded the reports yet answers 503 with Retry-After', async () => {
  await using api = await start(null)
  const answer = await api.ask('')
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5'])
})
