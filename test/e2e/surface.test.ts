import { spawnSync } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import {
  ADMIN_TOKEN,
  type BridgeProcess,
  bridgeEnv,
  runToEnd,
  startBridge,
  temporaryDirectory,
} from '../support/bridge-process.ts'
import { bearer, eventually, getJson, pullAll } from '../support/http/api-client.ts'

describe('bridge run', () => {
  const directory = temporaryDirectory()
  let sandbox: Sandbox
  let bridge: BridgeProcess

  beforeAll(async () => {
    sandbox = await startSandbox(
      { scenario: 'demo', plan: 'ultimate', weeklyQuota: 1_000_000 },
      { clock: systemClock },
    )
    const env = bridgeEnv(sandbox, directory.path, {
      BRIDGE_UPSTREAM_PLAN: 'ultimate',
      BRIDGE_BACKFILL: 'PT1H',
    })
    bridge = await startBridge(env)
    await eventually(
      () => getJson<{ log: { latest: number } }>(`${bridge.ready.http}/v1/status`),
      (status) => status.log.latest > 100,
    )
  })

  afterAll(async () => {
    await bridge.stop()
    await sandbox.close()
    directory[Symbol.dispose]()
  })

  it('writes one ready line to stdout and nothing else', () => {
    expect(bridge.stdout().trim().split('\n')).toEqual([JSON.stringify(bridge.ready)])
    expect(bridge.ready).toMatchObject({
      roles: ['poller', 'webhooks', 'feed', 'api', 'console'],
      log: 'embedded',
    })
  })

  it('keeps everything that it stores for its own user', () => {
    const names = readdirSync(directory.path)
    expect(names).toEqual(expect.arrayContaining(['bridge.db', 'bridge.db-wal', 'lock.db', 'owner.json']))
    const open = names.filter((name) => (statSync(join(directory.path, name)).mode & 0o077) !== 0)
    expect(open).toEqual([])
  })

  it('answers every wrong request with a problem that names the fix', async () => {
    const wrong: [string, RequestInit, number, string][] = [
      ['/v1/disclosures', { headers: {} }, 401, 'unauthorised'],
      [
        '/v1/disclosures',
        { headers: { authorization: 'Bearer wrong-token-0123456789' } },
        401,
        'unauthorised',
      ],
      ['/v1/disclosures?limit=0', {}, 400, 'parameter_invalid'],
      ['/v1/disclosures?limt=5', {}, 400, 'parameter_invalid'],
      ['/v1/disclosures?after=rubbish', {}, 400, 'cursor_invalid'],
      ['/v1/disclosures?isins=short', {}, 400, 'filter_invalid'],
      ['/v1/disclosures?preset=no-rutine', {}, 400, 'filter_invalid'],
      ['/v1/disclosures', { method: 'POST' }, 405, 'method_not_allowed'],
      ['/v1/disclosure', {}, 404, 'not_found'],
      ['/v1/events?since=yesterday', {}, 400, 'parameter_invalid'],
    ]
    for (const [path, init, status, code] of wrong) {
      const response = await fetch(`${bridge.ready.http}${path}`, { headers: bearer, ...init })
      const problem = (await response.json()) as {
        status: number
        code: string
        detail: string
        title: string
      }
      expect([path, response.status, problem.code]).toEqual([path, status, code])
      expect(response.headers.get('content-type')).toContain('application/problem+json')
      expect(problem.detail.length).toBeGreaterThan(5)
    }
  })

  it('refuses a body above 64 KB', async () => {
    const response = await fetch(`${bridge.ready.http}/v1/disclosures`, {
      method: 'POST',
      headers: bearer,
      body: 'x'.repeat(100_000),
    }).catch(() => null)
    expect(response === null ? 413 : response.status).toBeOneOf([405, 413])
  })

  it('serves the status in the documented shape', async () => {
    const status = await getJson<Record<string, unknown>>(`${bridge.ready.http}/v1/status`)
    expect(Object.keys(status)).toEqual([
      'leader',
      'polling',
      'upstream',
      'quota',
      'log',
      'copy',
      'completeness',
      'unreconciled',
      'gaps',
      'roles',
      'asOf',
    ])
    expect(status).toMatchObject({
      leader: { self: true },
      upstream: { state: 'ok' },
      log: { kind: 'embedded' },
    })
  })

  it('is alive and ready on the ops listener, and measures itself there', async () => {
    expect((await fetch(`${bridge.ready.ops}/healthz`)).status).toBe(200)
    expect((await fetch(`${bridge.ready.ops}/readyz`)).status).toBe(200)
    const text = await (await fetch(`${bridge.ready.ops}/metrics`)).text()
    expect(text).toMatch(/bridge_poll_requests_total\{purpose="poll",result="new"\} [1-9]/)
    expect(text).toMatch(/bridge_leader 1/)
    expect(text).toMatch(/^bridge_upstream_state\{state="ok"\} 1$/m)
    expect(text).toMatch(/^bridge_upstream_state\{state="failing"\} 0$/m)
    expect(text).toMatch(/^bridge_clock_skew_seconds -?[\d.e+-]+$/m)
    expect(text).toMatch(/^bridge_days\{state="gaps_left"\} \d$/m)
  })

  it('returns each event in the documented shape, and only those that match a filter', async () => {
    const events = await pullAll(bridge.ready.http)
    const [first] = events
    expect(first).toMatchObject({
      specversion: '1.0',
      source: '/disclosures/sources/rns',
      sequence: '00000000000000000001',
    })
    expect(first?.id).toBe(first?.data.guid)
    const codes = (event: { data: Record<string, unknown> }) =>
      (event.data.category as { kind: string; code: string }[])
        .filter(({ kind }) => kind === 'FCA')
        .map(({ code }) => code)
    const code = events.flatMap(codes)[0] ?? ''
    const matching = await pullAll(bridge.ready.http, `&fcaCategories=${code}`)
    expect(matching.length).toBeGreaterThan(0)
    expect(matching.every((event) => codes(event).includes(code))).toBe(true)
  })

  it('accepts a browser page with a ticket, once, and no log contains the ticket', async () => {
    const response = await fetch(`${bridge.ready.http}/v1/tickets`, { method: 'POST', headers: bearer })
    expect([response.status, response.headers.get('cache-control')]).toEqual([201, 'no-store'])
    const { ticket } = (await response.json()) as { ticket: string }
    const address = `${bridge.ready.http.replace('http', 'ws')}/v1/stream?ticket=${ticket}`
    const first = new WebSocket(address)
    const greeting = await new Promise((resolve) =>
      first.addEventListener('message', ({ data }) => resolve(JSON.parse(String(data))), { once: true }),
    )
    expect(greeting).toEqual({ type: 'authenticated' })
    const again = new WebSocket(address)
    const code = await new Promise((resolve) =>
      again.addEventListener('close', (close) => resolve(close.code)),
    )
    expect(code).toBe(4001)
    first.close()
    await new Promise((resolve) => first.addEventListener('close', resolve, { once: true }))
    expect(bridge.stderr()).not.toContain(ticket)
    expect(bridge.stdout()).not.toContain(ticket)
  })

  it('refuses a second process on its data directory, naming the first', async () => {
    const second = await runToEnd(['run'], bridgeEnv(sandbox, directory.path))
    expect(second.code).toBe(1)
    expect(second.stderr).toContain(`process ${bridge.pid}`)
  })

  it('logs no secret', () => {
    expect(bridge.stderr()).not.toContain(ADMIN_TOKEN)
    expect(bridge.stderr()).not.toContain(sandbox.key)
  })
})

describe('the command line', () => {
  it('lists all wrong settings at once, and exits with 3', async () => {
    const run = await runToEnd(['run'], { BRIDGE_UPSTREAM_PLAN: 'golden', BRIDGE_UPSTREM_KEY: 'x' })
    expect(run.code).toBe(3)
    for (const part of ['BRIDGE_UPSTREAM_PLAN', 'did you mean "BRIDGE_UPSTREAM_KEY"', 'BRIDGE_ADMIN_TOKEN']) {
      expect(run.stderr).toContain(part)
    }
    expect(run.stdout).toBe('')
  })

  it('exits with 2 on an unknown command, with the closest match', async () => {
    const run = await runToEnd(['rum'], {})
    expect([run.code, run.stderr.split('\n')[0]]).toEqual([
      2,
      'bridge: no command "rum" – did you mean "run"?',
    ])
  })

  it('announces a backfill that exceeds the quota before its first request, goes on, and leaves the rest as an open gap', async () => {
    using directory = temporaryDirectory()
    const sandbox = await startSandbox({ scenario: 'quiet', plan: 'free' }, { clock: systemClock })
    const env = bridgeEnv(sandbox, directory.path, {
      BRIDGE_BACKFILL: 'P60D',
      BRIDGE_UPSTREAM_WEEKLY_QUOTA: '350',
    })
    const bridge = await startBridge(env)
    const status = () => getJson<{ gaps: { cause: string }[] }>(`${bridge.ready.http}/v1/status`)
    const { gaps } = await eventually(status, (known) => known.gaps.length > 0)
    expect(gaps).toMatchObject([{ cause: 'outage' }])
    const events = bridge.stderr().matchAll(/"event":"(backfill\.limited|poll\.done)"/g)
    expect([...events].map(([, event]) => event).slice(0, 2)).toEqual(['backfill.limited', 'poll.done'])
    expect(await bridge.stop()).toBe(0)
    await sandbox.close()
  })

  it('exits with 0 when stopped before Kafka has ever responded', async () => {
    using directory = temporaryDirectory()
    const env = { BRIDGE_ROLES: 'api,feed', BRIDGE_KAFKA_BROKERS: '127.0.0.1:1' }
    const bridge = await startBridge(bridgeEnv({ url: '', key: '' }, directory.path, env))
    expect(await bridge.stop()).toBe(0)
  })

  it('says on a Node that is too old which one to use, in place of a fault of Node', () => {
    const older = 'Object.defineProperty(process,"versions",{value:{...process.versions,node:"20.20.2"}})'
    const args = ['--import', `data:text/javascript,${encodeURIComponent(older)}`, 'bin/bridge.js', 'version']
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
    expect([status, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(/^bridge: this is Node .*needs Node 24.*\n {2}Run npx --no-install bridge/)
  })

  it('runs on the project’s own Node, whatever version the machine has', () => {
    const { stdout } = spawnSync('npx', ['--no-install', 'bridge', '--version'], { encoding: 'utf8' })
    expect(process.version).toMatch(/^v24\./)
    expect(stdout.trim()).toBe('0.1.0')
  })
})
