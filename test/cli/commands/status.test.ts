import { expect, test } from 'vitest'
import { type Status, statusRoute } from '../../../src/api/routes/status.ts'
import { statusCommand } from '../../../src/cli/commands/status.ts'
import { createApp } from '../../../src/http/app.ts'
import { adminAuthenticate } from '../../../src/http/auth.ts'
import { listen } from '../../../src/http/listener.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'
import { UNKNOWN_STATUS } from '../../support/unknown-status.ts'
import { testContext } from '../command-context.ts'

const TOKEN = 'token of this test'

const UNKNOWN: Status = { ...UNKNOWN_STATUS, log: { ...UNKNOWN_STATUS.log, kind: 'kafka' } }

const gap = {
  id: 'g',
  from: '2026-07-07T06:00:00.000Z',
  to: '2026-07-07T06:00:09.000Z',
  cause: 'overflow' as const,
  openedAt: '2026-07-07T06:00:10.000Z',
  found: 0,
  closedAt: null,
}
const KNOWN: Status = {
  leader: { id: 'host:7', since: '2026-07-07T05:00:00.000Z', self: true },
  upstream: {
    state: 'throttled',
    lastGoodPoll: '2026-07-07T06:00:01.000Z',
    nextPoll: '2026-07-07T06:00:31.000Z',
    phase: 'burst',
    aheadMs: 0,
  },
  polling: { paused: false, since: null, by: null, reason: null },
  quota: {
    limit: 350,
    used: 12,
    remaining: 338,
    reset: '2026-07-13T00:00:00.000Z',
    forecast: 0.84,
    drift: 0,
  },
  log: { kind: 'embedded', available: true, epoch: 'abcdefgh', oldest: 1, latest: 934 },
  copy: { sequence: 930, lagEvents: 4, lagSeconds: 0.2, filled: 1 },
  completeness: '+day',
  unreconciled: [],
  gaps: Array.from({ length: 7 }, () => gap),
  roles: ['poller', 'api'],
  asOf: '2026-07-07T06:00:02.000Z',
}

/** Runs the command against a bridge in this state. */
async function run(status: Status, ...args: string[]): Promise<string[]> {
  const { logger } = keepingLogger()
  const routes = [statusRoute(() => status, 'a key')]
  const app = createApp({ routes, authenticate: adminAuthenticate(TOKEN), corsOrigins: [], logger })
  const listener = await listen(app, { host: '127.0.0.1', port: 0, setting: 'X', clock: systemClock, logger })
  const { context, stdout } = testContext()
  await statusCommand([...args, '--url', listener.url, '--token', TOKEN], context)
  await listener.close(0)
  return stdout
}

test('bridge status says that the log is not available', async () => {
  const [row] = (await run({ ...KNOWN, log: { ...KNOWN.log, available: false } })).filter((line) =>
    line.startsWith('log '),
  )
  expect(row).toMatch(/^log {11}NOT AVAILABLE, nothing is polled: see log\.unavailable /)
})

test('bridge status says first after the leader that polling is paused, by whom and why', async () => {
  const polling = { paused: true, since: '2026-07-07T05:30:00.000Z', by: 'settings', reason: 'key changes' }
  const upstream = { ...KNOWN.upstream, nextPoll: null }
  expect(await run({ ...KNOWN, polling, upstream })).toEqual(
    expect.arrayContaining([
      'polling       PAUSED since 2026-07-07T06:30:00+01:00 by settings: key changes',
      'next poll     none while polling is paused',
    ]),
  )
})

test('bridge status prints the state in words, times as London time with its offset', async () => {
  expect(await run(KNOWN)).toEqual([
    'leader        host:7 (this node) since 2026-07-07T06:00:00+01:00',
    'upstream      throttled, market phase burst',
    'last poll     2026-07-07T07:00:01+01:00',
    'next poll     2026-07-07T07:00:31+01:00',
    'quota         12 of 350 units used, 338 left',
    'planned use   84 % of what is left; units come back 2026-07-13T01:00:00+01:00',
    'log           embedded, epoch abcdefgh, events 1 to 934',
    'replica       up to event 930, 4 events behind for 0.2 s',
    'completeness  +day',
    'open gaps     7',
    ...Array.from(
      { length: 5 },
      () => '              g: 2026-07-07T07:00:00+01:00 to 2026-07-07T07:00:09+01:00, overflow',
    ),
    '              and 2 more: bridge status --json',
    'roles         poller, api',
    'as of         2026-07-07T07:00:02+01:00',
  ])
})

test('bridge status knows no lag while the log does not answer', async () => {
  const copy = { sequence: 930, lagEvents: null, lagSeconds: 75, filled: 1 }
  const lines = await run({ ...KNOWN, copy })
  expect(lines).toContain('replica       up to event 930; the log has not answered for 75 s')
})

test('bridge status knows no event and no lag of a log that has not answered yet', async () => {
  const log = { ...KNOWN.log, epoch: null, oldest: null, latest: null }
  const copy = { sequence: 0, lagEvents: null, lagSeconds: null, filled: 1 }
  const lines = await run({ ...KNOWN, log, copy })
  expect(lines).toContain('log           embedded, epoch unknown, events unknown to unknown')
  expect(lines).toContain('replica       up to event 0; nothing was heard of the log yet')
})

test('bridge status says unknown for what the node does not know, never 0', async () => {
  const lines = (await run(UNKNOWN)).join('\n')
  expect(lines).toContain('leader        none known to this node')
  expect(lines).toContain('quota         unknown of unknown units used, unknown left')
  expect(lines).toContain('open gaps     unknown')
  expect(lines).not.toMatch(/undefined|NaN|null|\[object/)
})

test('bridge status prints the response with --json', async () => {
  expect((await run(KNOWN, '--json')).map((line) => JSON.parse(line))).toEqual([KNOWN])
})
