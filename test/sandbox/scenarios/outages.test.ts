import { describe, expect, test } from 'vitest'
import { readFault } from '../../../src/sandbox/faults/faults.ts'
import { londonMomentMs, parseSecondOfDay } from '../../../src/sandbox/market/london.ts'
import { scenarios } from '../../../src/sandbox/scenario-list.ts'
import { openMarket } from '../market/market-view.ts'
import { openSandbox, type Reply } from '../sandbox-client.ts'

const failing = Object.entries(scenarios).filter(([, { faults }]) => faults.length > 0)

/** Sends the scenario's sandbox a request per second of its own clock; returns time of day and response of each. */
async function askEverySecond(
  scenario: string,
  options: { seconds: number; query?: (newest: string) => string },
) {
  const { sandbox, clock, list } = await openSandbox({ scenario })
  let cursor = String((await list()).body.meta.paging.latestCursor)
  const answers: { at: string; reply: Reply }[] = []
  for (let second = 0; second < options.seconds; second++) {
    clock.advance(1_000)
    const reply = await list(options.query?.(cursor) ?? '')
    answers.push({ at: new Date(sandbox.marketNow()).toISOString().slice(5, 19), reply })
    cursor = String(reply.body.meta?.paging.latestCursor ?? cursor)
  }
  return { answers, sandbox }
}

describe('every scenario with faults', () => {
  test.each(failing)(
    '%s: its fault timetable is valid and ends with the scenario',
    async (name, scenario) => {
      for (const { from, until, setting } of scenario.faults) {
        expect(readFault(setting)).toEqual(setting)
        expect(parseSecondOfDay(until ?? from)).toBeGreaterThanOrEqual(parseSecondOfDay(from))
      }
      const { sandbox, clock } = await openSandbox({ scenario: name })
      expect(sandbox.finished()).toBe(false)
      clock.advance(15 * 60_000)
      expect(sandbox.finished()).toBe(true)
    },
  )

  test.each(failing)('%s: items become visible during the faults and after them', (name, { day, faults }) => {
    const begins = Math.min(...faults.map(({ from }) => londonMomentMs(day, from)))
    const ends = Math.max(...faults.map(({ from, until }) => londonMomentMs(day, until ?? from)))
    const { market, clock } = openMarket(name, { backlog: 0 })
    clock.advance(15 * 60_000)
    const moments = market.truth().items.map(({ insertedAt }) => Date.parse(insertedAt))
    expect(moments.some((atMs) => atMs > begins && atMs < ends)).toBe(true)
    expect(moments.some((atMs) => atMs >= ends)).toBe(true)
  })
})

describe('outage scenarios do what their names say', () => {
  test('overnight-halt: 503 all night, then the items of the night and the burst at once', async () => {
    const { answers, sandbox } = await askEverySecond('overnight-halt', {
      seconds: 80,
      query: (newest) => `pageSize=100&sinceCursor=${newest}`,
    })
    const refused = answers.filter(({ reply }) => reply.status === 503).map(({ at }) => at)
    expect([refused[0], refused.at(-1)]).toEqual(['02-03T18:00:20', '02-04T07:00:39'])
    const back = answers.find(({ at }) => at === '02-04T07:00:40')?.reply.body.meta.paging
    expect(back).toMatchObject({ count: 100, hasMore: true })
    const hidden = sandbox
      .truth()
      .items.filter(
        ({ insertedAt }) => insertedAt > '2026-02-03T18:00:20' && insertedAt < '2026-02-04T07:00:40',
      )
    expect(hidden.length).toBeGreaterThan(240)
  })

  test('throttled: twelve 429s, each form of Retry-After once', async () => {
    const { answers, sandbox } = await askEverySecond('throttled', { seconds: 60 })
    const refused = answers.filter(({ reply }) => reply.status === 429)
    expect(refused.map(({ reply }) => reply.headers.get('retry-after'))).toEqual([
      ...[null, null, null, '1', '0', '-5', '1.5', '99999999999', 'soon', ''],
      'Tue, 03 Feb 2026 10:00:55 GMT',
      'Sun, 06 Nov 1994 08:49:37 GMT',
    ])
    expect(sandbox.usage().units).toBe(61)
  })

  test.each([
    ['quota-spent', 429, '10:00:15', '10:00:44', 30],
    ['key-revoked', 401, '10:00:15', '10:00:39', 25],
    ['server-errors', 500, '10:00:10', '10:00:24', 15],
  ] as const)('%s: %i for its time, then normal service', async (name, status, first, last, count) => {
    const { answers } = await askEverySecond(name, { seconds: 60 })
    const refused = answers.filter(({ reply }) => reply.status === status).map(({ at }) => at.slice(6))
    expect([refused[0], refused.at(-1), refused.length]).toEqual([first, last, count])
    expect(answers.at(-1)?.reply.status).toBe(200)
  })

  test.each([
    ['filters-outside-plan', 1],
    ['filters-ignored', 0],
  ] as const)(
    '%s: a list of one ISIN returns the whole market for 45 s, with %i warnings',
    async (name, warnings) => {
      const { answers } = await askEverySecond(name, { seconds: 60, query: () => 'isins=XX0000000000' })
      const strays = answers.filter(({ reply }) => reply.body.data.length > 0)
      expect([strays[0]?.at.slice(6), strays.at(-1)?.at.slice(6), strays.length]).toEqual([
        '10:00:05',
        '10:00:49',
        45,
      ])
      for (const { reply } of strays) expect(reply.body.warnings?.length ?? 0).toBe(warnings)
    },
  )

  test('looping-pages: the second page of every page scan leads back to itself', async () => {
    const { sandbox, clock, list } = await openSandbox({ scenario: 'looping-pages' })
    clock.advance(30_000)
    const pageCursor = String((await list()).body.meta.paging.nextCursor)
    expect((await list({ pageCursor })).body.meta.paging.nextCursor).toBe(pageCursor)
    clock.advance(20_000)
    expect((await list({ pageCursor })).body.meta.paging.nextCursor).not.toBe(pageCursor)
    expect(sandbox.usage().violations).toBe(0)
  })

  test('cursor-refused: after two days without polls, two polls are rejected', async () => {
    const { answers } = await askEverySecond('cursor-refused', {
      seconds: 60,
      query: (newest) => `sinceCursor=${newest}`,
    })
    const refused = answers.filter(({ reply }) => reply.status === 400).map(({ at }) => at)
    expect(refused).toEqual(['02-05T07:00:05', '02-05T07:00:06'])
    expect(answers.filter(({ reply }) => reply.status === 503).at(-1)?.at).toBe('02-05T07:00:04')
  })
})
