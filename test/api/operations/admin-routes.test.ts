/** Tests the routes of `/v1/admin` on a real socket, over a log in memory. */
import { expect, onTestFinished, test } from 'vitest'
import { adminRoutes } from '../../../src/api/operations/admin-routes.ts'
import type { KnownTargets } from '../../../src/api/operations/known-targets.ts'
import { createApp } from '../../../src/http/app.ts'
import { adminAuthenticate, isOperator, scopes, settingsCaller } from '../../../src/http/auth.ts'
import { listen } from '../../../src/http/listener.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { LogLevel } from '../../../src/obs/log-level.ts'
import type { ListedNode } from '../../../src/registry/nodes.ts'
import { PollingPauses } from '../../../src/registry/polling-pauses.ts'
import { encodeReply, type LeaderReply, refused } from '../../../src/upstream/leader-reply.ts'
import { until } from '../../support/http/api-server.ts'
import { caller, knows } from '../../support/http/callers.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'
import { createMemoryLog } from '../../support/memory-log.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

const TOKEN = 'a token of the tests'
const NOW = '2026-06-01T06:00:00.000Z'
const KNOWN: KnownTargets = { openGaps: () => ['mk1'], days: () => ['2026-06-01'] }

/** The routes of a node; `isRunning` false: it has not read the table yet. */
async function start(
  isRunning = true,
  leader: string | null = 'host:1',
  others: Partial<ListedNode>[] = [],
  known: KnownTargets = KNOWN,
) {
  const { logger, lines } = keepingLogger()
  const clock = createManualClock(Date.parse(NOW))
  const log = createMemoryLog()
  const pauses = new PollingPauses({ log, clock, logger })
  const level = { level: 'info' }
  const logLevel = new LogLevel({ level, clock, logger })
  const stopping = new AbortController()
  const running = isRunning ? pauses.run(stopping.signal) : null
  if (isRunning) await until(() => pauses.isLoaded)
  const app = createApp({
    routes: adminRoutes({
      ...{ pauses, logLevel, requests: log.requests, clock: systemClock },
      leaderId: () => leader,
      known,
      nodes: {
        list: () => others.map((one) => ({ id: 'host:2', state: 'up', roles: [], ...one })) as ListedNode[],
      },
    }),
    authenticate: adminAuthenticate(
      TOKEN,
      knows({
        operator: { scopes: ['admin'] },
        reader: { scopes: ['events:read'] },
        tenant: { tenant: 'desk', scopes },
      }),
    ),
    corsOrigins: [],
    logger,
  })
  const listener = await listen(app, { host: '127.0.0.1', port: 0, setting: 'X', clock: systemClock, logger })
  onTestFinished(async () => {
    stopping.abort()
    await running
    await listener.close(0)
  })
  const ask = async (token: string, verb: string, body?: object) => {
    const response = await fetch(`${listener.url}/v1/admin/${/[-/]/.test(verb) ? verb : `polling/${verb}`}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    return [response.status, await response.json()] as const
  }
  /** The leader answers every order with that. */
  const lead = (reply: LeaderReply): string[] => {
    const orders: string[] = []
    const serve = async (order: string): Promise<string> => {
      orders.push(order)
      return encodeReply(reply)
    }
    void log.requests.serve(serve, stopping.signal)
    return orders
  }
  return { ask, pauses, lead, clock, level, lines }
}

test('an operator pauses with a reason and resumes; who paused first stays', async () => {
  const { ask, pauses } = await start()
  const paused = { paused: true, since: NOW, by: 'tok_operator', reason: 'key changes' }
  expect(await ask('operator', 'pause', { reason: 'key changes' })).toEqual([200, paused])
  expect(await ask(TOKEN, 'pause')).toEqual([200, paused])
  expect(pauses.current?.by).toBe('tok_operator')
  const resumed = [200, { paused: false, since: null, by: null, reason: null }]
  expect(await ask(TOKEN, 'resume')).toEqual(resumed)
  expect(await ask(TOKEN, 'resume')).toEqual(resumed)
  expect(await ask(TOKEN, 'pause', {})).toMatchObject([200, { by: 'settings', reason: null }])
})

test('a token of a tenant may not, whatever its scopes, nor one of the operator without the scope', async () => {
  const { ask, pauses } = await start()
  for (const verb of ['pause', 'resume']) {
    for (const token of ['tenant', 'reader']) {
      expect(await ask(token, verb, { reason: 7 })).toMatchObject([403, { code: 'forbidden' }])
    }
  }
  expect(pauses.current).toBeNull()
  expect(isOperator(settingsCaller)).toBe(true)
  expect(isOperator(caller({ scopes: ['events:read'] }))).toBe(false)
})

test('a reason that is too long or steers a terminal is refused, and so are unknown members', async () => {
  const { ask, pauses } = await start()
  for (const body of [{ reason: 'x'.repeat(501) }, { reason: '\u001b[2J' }, { reason: '' }, { why: 'x' }]) {
    expect(await ask(TOKEN, 'pause', body)).toMatchObject([400, { code: 'body_invalid' }])
  }
  expect(pauses.current).toBeNull()
})

test('a node that has not read the table yet says so', async () => {
  const { ask } = await start(false)
  for (const verb of ['pause', 'resume']) {
    expect(await ask(TOKEN, verb)).toMatchObject([503, { code: 'unavailable' }])
  }
})

test('a poll at once is passed to the leader, whose refusal is told with when to come back', async () => {
  const { ask, lead } = await start()
  expect(await ask('tenant', 'now')).toMatchObject([403, { code: 'forbidden' }])
  const text = JSON.stringify({ nextPoll: NOW })
  lead({ status: 200, text, refusal: null, retryAfterMs: null, validMs: 0 })
  expect(await ask('operator', 'now')).toEqual([200, { nextPoll: NOW }])
  lead(refused(409, 'no unit is left', 'Wait', 60_000))
  expect(await ask(TOKEN, 'now')).toMatchObject([409, { code: 'not_now', detail: 'no unit is left. Wait' }])
  lead(refused(400, 'this is not a fund request', null, null))
  expect(await ask(TOKEN, 'now')).toMatchObject([503, { code: 'unavailable' }])
})

const OK = { status: 200, text: '{}', refusal: null, retryAfterMs: null, validMs: 0 }

test('orders about a gap and a day are passed with what they name; a path that names none is not found', async () => {
  const { ask, lead } = await start()
  const orders = lead(OK)
  expect(await ask('operator', 'gaps/mk1/retry')).toEqual([200, {}])
  expect(await ask(TOKEN, 'days/2026-06-01/reconcile')).toEqual([200, {}])
  expect(orders).toEqual(['order retry_gap mk1', 'order reconcile_day 2026-06-01'])
  for (const path of ['gaps/A%20B/retry', 'days/2026-6-1/reconcile', 'days/2026-02-30/reconcile']) {
    expect(await ask(TOKEN, path)).toMatchObject([404, { code: 'not_found' }])
    expect(await ask('tenant', path)).toMatchObject([403, { code: 'forbidden' }])
  }
  expect(orders).toHaveLength(2)
  lead(refused(404, 'no gap with that id is open', 'Look', null))
  expect(await ask(TOKEN, 'gaps/mk2/retry')).toMatchObject([404, { code: 'not_found' }])
})

test('a gap or day that this node does not know is not found before query and body are judged; the leader decides on a good order', async () => {
  const { ask, lead } = await start()
  const orders = lead(OK)
  const of = async (token: string, path: string, body?: object) => (await ask(token, path, body))[0]
  for (const [path, status] of [
    ['gaps/mk2/retry', 404],
    ['days/2026-05-31/reconcile', 404],
    ['gaps/mk1/retry', 400],
    ['days/2026-06-01/reconcile', 400],
  ] as const) {
    expect(await of(TOKEN, path, { no: 1 })).toBe(status)
    expect(await of(TOKEN, `${path}?no=1`)).toBe(status)
    expect(await of('tenant', path, { no: 1 })).toBe(403)
    expect(await of('no token', path, { no: 1 })).toBe(401)
  }
  expect(await of(TOKEN, 'gaps/mk1/retry', { no: 'x'.repeat(2 ** 21) })).toBe(413)
  expect(await of(TOKEN, 'gaps/mk2/retry', { no: 'x'.repeat(2 ** 21) })).toBe(404)
  expect(orders).toEqual([])
  expect(await of(TOKEN, 'gaps/mk2/retry', {})).toBe(200)
  expect(orders).toEqual(['order retry_gap mk2'])
  const unknown = await start(true, 'host:1', [], { openGaps: () => null, days: () => null })
  for (const path of ['gaps/mk2/retry', 'days/2026-05-31/reconcile'])
    expect((await unknown.ask(TOKEN, path, { no: 1 }))[0]).toBe(400)
})

test('the leader is named in the order to step down, and must not be the only one that could lead', async () => {
  const twoPollers = [{ roles: ['poller'] }, { id: 'host:1', roles: ['poller'] }]
  const { ask, lead } = await start(true, 'host:1', twoPollers)
  const orders = lead(OK)
  expect(await ask('operator', 'leader/step-down')).toEqual([200, {}])
  expect(orders).toEqual(['order step_down host:1'])
  expect(await ask('tenant', 'leader/step-down')).toMatchObject([403, { code: 'forbidden' }])
  for (const others of [
    [{ roles: ['feed'] }],
    [{ roles: ['poller'], state: 'gone' as const }],
    [{ id: 'host:1', roles: ['poller'] }],
  ]) {
    const alone = await start(true, 'host:1', others)
    expect(await alone.ask(TOKEN, 'leader/step-down')).toMatchObject([409, { code: 'not_now' }])
  }
  const unknown = await start(true, null, twoPollers)
  expect(await unknown.ask(TOKEN, 'leader/step-down')).toMatchObject([503, { code: 'unavailable' }])
})

test('the level of the log is changed for a time, goes back by itself, and only an operator may', async () => {
  const { ask, clock, level, lines } = await start(false)
  const [status, body] = await ask(TOKEN, 'log-level', { level: 'debug', seconds: 60 })
  expect([status, body]).toEqual([
    200,
    { node: expect.any(String), level: 'debug', usual: 'info', until: '2026-06-01T06:01:00.000Z' },
  ])
  clock.advance(59_000)
  expect(level.level).toBe('debug')
  await ask('operator', 'log-level', { level: 'error' })
  clock.advance(899_000)
  expect(level.level).toBe('error')
  clock.advance(1000)
  expect(level.level).toBe('info')
  expect(lines.filter(({ event }) => event === 'log.level_changed').map(({ fields }) => fields)).toEqual([
    { from: 'info', to: 'debug' },
    { from: 'debug', to: 'error' },
    { from: 'error', to: 'info' },
  ])
  expect((await ask('tenant', 'log-level', { level: 'debug' }))[0]).toBe(403)
  expect((await ask(TOKEN, 'log-level', { level: 'loud', seconds: 0 }))[1]).toMatchObject({
    errors: [
      { field: 'level', message: 'must be one of error, warn, info, debug' },
      { field: 'seconds', message: 'must be a whole number from 1 to 86400' },
    ],
  })
  expect(level.level).toBe('info')
})
