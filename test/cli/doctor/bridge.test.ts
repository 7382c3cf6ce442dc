import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import type { Status } from '../../../src/api/routes/status.ts'
import { checkBridge, quotaFinding } from '../../../src/cli/doctor/bridge.ts'

const { signal: never } = new AbortController()
const TIME = '2026-01-06T07:00:00.000Z'
const whole: Status = {
  leader: { id: 'a', since: TIME, self: true },
  upstream: { state: 'ok', lastGoodPoll: TIME, nextPoll: TIME, phase: 'open', aheadMs: 0 },
  polling: { paused: false, since: null, by: null, reason: null },
  quota: { limit: 3500, used: 10, remaining: 3490, reset: TIME, forecast: 0.5, drift: null },
  log: { kind: 'embedded', available: true, epoch: 'Epoch001', oldest: 1, latest: 7 },
  copy: { sequence: 7, lagEvents: 0, lagSeconds: 0, filled: 1 },
  completeness: '+day',
  unreconciled: [],
  gaps: [],
  roles: ['poller', 'feed', 'api'],
  asOf: TIME,
}
/** 30 s after that report. */
const clock = { now: () => Date.parse(TIME) + 30_000 }
const gap = {
  id: 'g',
  from: TIME,
  to: TIME,
  cause: 'overflow',
  openedAt: TIME,
  found: 0,
  closedAt: null,
} as const

/** The findings for a server with these responses to status and readiness. */
async function found(
  status: [number, unknown],
  ready: [number, unknown] = [200, {}],
  holder: string | null = null,
) {
  const tokens: (string | undefined)[] = []
  const server = createServer((request, response) => {
    tokens.push(request.headers.authorization)
    const [code, body] = request.url === '/readyz' ? ready : status
    response.writeHead(code).end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const place = { host: '127.0.0.1', port: (server.address() as AddressInfo).port }
  const result = await checkBridge(
    { http: place, ops: place, httpTls: null, adminToken: 't' },
    holder,
    clock,
    never,
  )
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  const names = (name: string) => result.findings.find((finding) => finding.name === name)
  return { ...result, names, tokens, place }
}

test('a healthy bridge is queried with its token, and reports key, quota and readiness', async () => {
  const { findings, status, tokens } = await found([200, whole])
  expect(findings.map(({ level, name }) => `${level} ${name}`)).toEqual([
    'ok bridge',
    'ok ready',
    'ok key',
    'ok quota',
  ])
  expect([status, tokens]).toEqual([whole, ['Bearer t', undefined]])
})

test.each([
  [{ gaps: [gap] }, 'bridge', 'warn', 'open gaps: 1'],
  [
    { copy: { sequence: 7, lagEvents: 90, lagSeconds: 8, filled: 1 } },
    'bridge',
    'warn',
    '90 events and 8 s behind',
  ],
  [
    { copy: { sequence: 7, lagEvents: null, lagSeconds: 75, filled: 1 } },
    'bridge',
    'warn',
    'its log has not answered for 75 s',
  ],
  [
    {
      log: { ...whole.log, epoch: null, oldest: null, latest: null },
      copy: { sequence: 0, lagEvents: null, lagSeconds: null, filled: 0 },
    },
    'bridge',
    'warn',
    'its log has not answered yet',
  ],
  [{ upstream: { ...whole.upstream, state: 'unauthorised' } }, 'key', 'fail', 'refuses the key'],
  [{ upstream: { ...whole.upstream, state: 'throttled' } }, 'key', 'warn', 'throttled'],
  [{ upstream: { ...whole.upstream, state: 'quota' } }, 'key', 'warn', 'is used up'],
  [{ upstream: { ...whole.upstream, state: 'failing' } }, 'key', 'warn', 'fail'],
  [
    { upstream: { ...whole.upstream, state: 'waiting', lastGoodPoll: null } },
    'key',
    'ok',
    'has not polled yet',
  ],
  [{ quota: { ...whole.quota, forecast: 1.3 } }, 'quota', 'warn', 'fewer than planned'],
])('%j is a finding', async (changes, name, level, words) => {
  const { names } = await found([200, { ...whole, ...changes }])
  expect(names(name)).toMatchObject({ level, finding: expect.stringContaining(words) })
})

test('a node that does not poll reports key and quota as the leader does; one that is not ready says why', async () => {
  const { findings, names } = await found(
    [200, { ...whole, roles: ['feed', 'api'] }],
    [503, { checks: { copy: 0.4 } }],
  )
  expect(findings.map(({ name }) => name)).toEqual(['bridge', 'ready', 'key', 'quota'])
  expect(names('ready')).toMatchObject({ level: 'warn', finding: expect.stringContaining('"copy":0.4') })
})

test('a node that has heard from no leader knows nothing of gaps, key and quota, and says so', async () => {
  const unknown = {
    ...whole,
    leader: { id: null, since: null, self: false },
    upstream: { state: null, lastGoodPoll: null, nextPoll: null, phase: 'open' },
    quota: { limit: null, used: null, remaining: null, reset: null, forecast: null, drift: null },
    completeness: null,
    gaps: null,
    asOf: null,
  }
  const { findings, names } = await found([200, unknown])
  expect(findings.map(({ level, name }) => `${level} ${name}`)).toEqual([
    'ok bridge',
    'ok ready',
    'warn leader',
  ])
  expect(names('bridge')?.finding).toContain('open gaps not known')
})

test('a leader that has not reported for a minute is a finding', async () => {
  const { names } = await found([200, { ...whole, asOf: '2026-01-06T06:59:00.000Z' }])
  expect(names('leader')).toMatchObject({
    level: 'warn',
    finding: expect.stringContaining('reported 90 s ago'),
  })
})

test.each([
  [401, '', 'refuses BRIDGE_ADMIN_TOKEN'],
  [404, 'nothing', 'status 404'],
  [200, '<html>', 'unlike a bridge'],
  [200, '{"gaps":[]}', 'unlike a bridge'],
  [200, 'null', 'unlike a bridge'],
])('a server that answers %d "%s" is no bridge of these settings', async (code, body, words) => {
  const { findings, status } = await found([code, body])
  expect([status, findings]).toEqual([
    null,
    [expect.objectContaining({ level: 'warn', finding: expect.stringContaining(words) })],
  ])
})

test('no running bridge is no error, unless a process holds the data directory', async () => {
  const { place } = await found([200, whole])
  const ask = async (port: number, holder: string | null) =>
    (
      await checkBridge(
        { http: { ...place, port }, ops: place, httpTls: null, adminToken: 't' },
        holder,
        clock,
        never,
      )
    ).findings
  expect(await ask(place.port, null)).toEqual([expect.objectContaining({ level: 'ok' })])
  expect(await ask(0, null)).toEqual([expect.objectContaining({ level: 'ok' })])
  expect(await ask(place.port, 'process 7')).toEqual([
    expect.objectContaining({ level: 'warn', finding: expect.stringContaining('process 7 holds') }),
  ])
})

test('an exhausted quota is reported with the time of the next units', () => {
  expect(quotaFinding({ limit: 350, used: 350, remaining: 0, reset: TIME, forecast: null })).toMatchObject({
    level: 'warn',
    finding: expect.stringContaining(TIME),
  })
})
