import { describe, expect, test } from 'vitest'
import { reportRoute } from '../../../src/api/routes/report-route.ts'
import { type DayReport, publishedDay } from '../../../src/archive/days.ts'
import { reportCommand } from '../../../src/cli/commands/report.ts'
import { emptyDay } from '../../../src/core/calendar/day-record.ts'
import { createApp } from '../../../src/http/app.ts'
import { adminAuthenticate } from '../../../src/http/auth.ts'
import { listen } from '../../../src/http/listener.ts'
import type { Route } from '../../../src/http/route.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'
import { testContext } from '../command-context.ts'

const TOKEN = 'token of this test'

/** Runs the command against a server with these routes. */
async function run(routes: Route[], ...args: string[]) {
  const { logger } = keepingLogger()
  const app = createApp({ routes, authenticate: adminAuthenticate(TOKEN), corsOrigins: [], logger })
  const listener = await listen(app, { host: '127.0.0.1', port: 0, setting: 'X', clock: systemClock, logger })
  const { context, stdout, stderr } = testContext()
  const flags = ['--url', listener.url, ...(args.includes('--token') ? [] : ['--token', TOKEN])]
  const failure = await reportCommand([...args, ...flags], context).then(
    () => null,
    (error: unknown) => error as { code: string; message: string; hint: string },
  )
  await listener.close(0)
  return { stdout, stderr, failure }
}

function day(date: string, changes: Partial<DayReport>): DayReport {
  const { walk: _, ...counts } = emptyDay(date)
  return { ...counts, gapsLeft: 0, walk: 'whole', walkedAt: null, since: null, units: {}, ...changes }
}

const days = [
  day('2026-01-05', {
    polled: 1500,
    filled: 380,
    swept: 4,
    backfilled: 761,
    eodSeen: true,
    units: { poll: 600, sweep: 40 },
    since: '2026-01-05T06:30:00.000Z',
  }),
  day('2026-01-06', { polled: 1600, rejected: 2, gapsLeft: 1, walk: 'unpaid', units: { poll: 300 } }),
  day('2026-01-07', { polled: 3, walk: 'not_due', units: { poll: 9 } }),
]
const route = reportRoute({ last: (count) => days.slice(-count) })

describe('bridge report', () => {
  test('shows each day with its figures and says in words whether anything is missing, then the sums', async () => {
    const { stdout, stderr, failure } = await run([route])
    expect(failure).toBeNull()
    expect(stderr).toEqual([])
    expect(stdout).toEqual([
      'date           polled     filled      swept backfilled   rejected  gaps  EOD   units',
      '2026-01-05       1500        380          4        761          0     0  yes     640  complete, since 2026-01-05T06:30:00+00:00',
      '2026-01-06       1600          0          0          0          2     1  –       300  1 gap open, not reconciled: over budget',
      '2026-01-07          3          0          0          0          0     0  –         9  not over yet',
      '3 days           3103        380          4        761          2               949',
    ])
  })

  test('with --json prints each day as the bridge sent it, one a line, for the requested number of days', async () => {
    const { stdout } = await run([route], '--json', '--days', '2')
    expect(stdout.map((line) => JSON.parse(line) as unknown)).toEqual(days.slice(1).map(publishedDay))
  })

  test('says so if no day is counted yet', async () => {
    const { stdout, stderr } = await run([reportRoute({ last: () => [] })])
    expect([stdout, stderr]).toEqual([[], [expect.stringContaining('no day yet')]])
  })

  test('names the remedy if no bridge runs, it is none, it is not ready, or the token is wrong', async () => {
    const { context } = testContext()
    const nowhere = reportCommand(['--url', 'http://127.0.0.1:9', '--token', TOKEN], context)
    await expect(nowhere).rejects.toMatchObject({
      code: 'failed',
      hint: expect.stringContaining('Is it running'),
    })
    const other = await run([])
    expect(other.failure).toMatchObject({ code: 'failed', hint: expect.stringContaining('role api') })
    const early = await run([reportRoute({ last: () => null })])
    expect(early.failure).toMatchObject({
      code: 'failed',
      message: expect.stringContaining('not read the reports yet'),
    })
    const stranger = await run([route], '--token', 'another token')
    expect(stranger.failure).toMatchObject({
      code: 'usage',
      message: expect.stringContaining('refuses the token'),
    })
  })

  test('refuses an impossible number of days, and unknown flags', async () => {
    for (const args of [
      ['--days', '0'],
      ['--days', '401'],
      ['--days', 'all'],
      ['--day', '3'],
    ])
      expect((await run([route], ...args)).failure).toMatchObject({ code: 'usage' })
  })

  test('lets no text of the response control the terminal', async () => {
    const evil = {
      ...day('2026-01-05', {}),
      walk: '\u001b[2J',
      date: 7,
      polled: 'x',
      units: null,
    } as unknown as DayReport
    const { stdout } = await run([reportRoute({ last: () => [evil] })])
    expect(stdout.join('')).not.toContain('\u001b')
  })
})
