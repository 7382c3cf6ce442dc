/** Tests the command-line tools as separate processes: doctor, tail, help, and the error for a mistyped command. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import {
  ADMIN_TOKEN,
  type BridgeProcess,
  bridgeEnv,
  runToEnd,
  SECRET_KEY,
  startBridge,
  startCommand,
  temporaryDirectory,
} from '../support/bridge-process.ts'
import { eventually, getJson } from '../support/http/api-client.ts'
import { startReceiver } from '../support/webhooks/webhook-receiver.ts'

interface Check {
  level: string
  name: string
  finding: string
  todo: string | null
}

const directory = temporaryDirectory()
let sandbox: Sandbox
let bridge: BridgeProcess | null = null
let env: Record<string, string>

beforeAll(async () => {
  sandbox = await startSandbox({ scenario: 'normal', plan: 'advanced' }, { clock: systemClock })
  env = bridgeEnv(sandbox, directory.path, {
    BRIDGE_UPSTREAM_PLAN: 'advanced',
    BRIDGE_UPSTREAM_WEEKLY_QUOTA: '3500',
    BRIDGE_BACKFILL: 'P1D',
  })
})

afterAll(async () => {
  await bridge?.stop()
  await sandbox.close()
  directory[Symbol.dispose]()
})

/** Runs the doctor; its checks by name, the last of each. */
async function doctor(changes: Record<string, string> = {}, ...args: string[]) {
  const run = await runToEnd(['doctor', '--json', ...args], { ...env, ...changes })
  const { checks } = JSON.parse(run.stdout) as { checks: Check[] }
  return { ...run, checks, by: Object.fromEntries(checks.map((check) => [check.name, check])) }
}

describe('before the first start', () => {
  it('doctor finds everything in order, and spends one unit that stays counted', async () => {
    const first = await doctor()
    expect(first.code).toBe(0)
    for (const name of ['settings', 'kafka', 'node', 'upstream', 'clock', 'key', 'quota', 'bridge'])
      expect(first.by[name]).toMatchObject({ level: 'ok', todo: null })
    expect(first.by.key?.finding).toContain('pages of 100')
    expect(first.by.quota?.finding).toContain('3499 of 3500')
    const second = await doctor({}, '--no-spend')
    expect([second.code, second.by.key?.finding]).toEqual([0, 'not tested (--no-spend)'])
    expect(sandbox.usage()).toMatchObject({ units: 1, violations: 0 })
  })

  it('doctor names each error and its remedy, and exits with the matching code', async () => {
    const wrong = await doctor({ BRIDGE_UPSTREAM_PLN: 'x' }, '--no-spend')
    expect(wrong.code).toBe(3)
    expect(wrong.by.settings?.finding).toContain('did you mean "BRIDGE_UPSTREAM_PLAN"?')
    const badKey = await doctor({ BRIDGE_UPSTREAM_KEY: 'a-wrong-key-0123456789' })
    expect([badKey.code, badKey.by.key?.level]).toEqual([4, 'fail'])
    expect(badKey.by.key).toMatchObject({
      finding: expect.stringContaining('401'),
      todo: expect.stringContaining('KEY'),
    })
    const badPlan = await doctor({ BRIDGE_UPSTREAM_PLAN: 'ultimate' })
    expect([badPlan.code, badPlan.by.key?.todo]).toEqual([4, expect.stringContaining('BRIDGE_UPSTREAM_PLAN')])
    const away = await doctor({ BRIDGE_UPSTREAM_URL: 'http://127.0.0.1:65000/v2' })
    expect([away.code, away.by.upstream?.level, away.by.key?.level]).toEqual([4, 'fail', 'warn'])
    const all = [wrong, badKey, badPlan, away].map(({ stdout, stderr }) => stdout + stderr).join('\n')
    for (const secret of [ADMIN_TOKEN, SECRET_KEY, sandbox.key, 'a-wrong-key-0123456789'])
      expect(all).not.toContain(secret)
  })
})

describe('beside a running bridge', () => {
  beforeAll(async () => {
    bridge = await startBridge(env)
    const { http } = bridge.ready
    env = { ...env, BRIDGE_HTTP_PORT: new URL(http).port, BRIDGE_OPS_PORT: new URL(bridge.ready.ops).port }
    // Earlier than a poll interval: the doctor's unit does not delay the first poll.
    await eventually(
      () => getJson<{ log: { latest: number } }>(`${http}/v1/status`),
      ({ log }) => log.latest > 300,
    )
  })

  it('doctor queries the bridge, and spends nothing', async () => {
    const { code, by } = await doctor()
    expect(code).toBe(0)
    expect(by.key?.finding).toContain('the running bridge polls with its key')
    expect(by.bridge).toMatchObject({ level: 'ok', finding: expect.stringContaining('no open gap') })
    expect(by.data?.finding).toContain(`process ${bridge?.pid}`)
    const stranger = await doctor({ BRIDGE_ADMIN_TOKEN: 'another-token-0123456789' })
    expect(stranger.by.bridge).toMatchObject({
      level: 'warn',
      finding: expect.stringContaining('refuses BRIDGE_ADMIN'),
    })
  })

  it('tail shows its events, exits with 0 when stopped, and prints where to resume', async () => {
    const tail = startCommand(['tail', '--tail', '5', '--json'], env)
    await eventually(
      () => tail.stdout().split('\n').length,
      (lines) => lines >= 6,
    )
    expect(await tail.stop()).toBe(0)
    const events = tail
      .stdout()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { cursor: string })
    expect(tail.stderr()).toContain(`--after ${events.at(-1)?.cursor}`)
  })

  it('listen posts its events to a receiver, with signatures that the official library accepts', async () => {
    await using receiver = await startReceiver()
    const listen = startCommand(['listen', '--forward', receiver.url, '--tail', '5', '--json'], env)
    await eventually(
      () => listen.stdout().split('\n').length,
      (lines) => lines >= 6,
    )
    expect(await listen.stop()).toBe(0)
    const [, secret = ''] = /^secret (\S+)$/m.exec(listen.stderr()) ?? []
    expect(receiver.verify(secret).length).toBeGreaterThanOrEqual(5)
    expect(listen.stderr()).toMatch(/stopped; \d+ delivered, 0 given up/)
  })

  it('tail exits quietly with 0 when its output is closed', async () => {
    const tail = startCommand(['tail', '--since', '2026-01-01', '--json'], env)
    tail.child.stdout?.once('data', () => tail.child.stdout?.destroy())
    expect(await tail.ended).toBe(0)
    expect(tail.stderr()).not.toContain('EPIPE')
  })

  it('tokens creates one that reads until it is deleted, and its text is in no log, metric or file', async () => {
    const made = await runToEnd(
      ['tokens', 'create', '--tenant', 'desk', '--scopes', 'events:read', '--json'],
      env,
    )
    const { id, token } = JSON.parse(made.stdout) as { id: string; token: string }
    const tail = startCommand(['tail', '--tail', '1', '--token', token], env)
    await eventually(tail.stdout, (text) => text !== '')
    const deleted = await runToEnd(['tokens', 'delete', id], env)
    expect([made.code, deleted.code, await tail.ended]).toEqual([0, 0, 2])
    expect(tail.stderr()).toContain('this token is not valid')
    const again = await runToEnd(['tail', '--token', token], env)
    expect([again.code, (await runToEnd(['tokens', 'delete', id], env)).code]).toEqual([2, 1])
    const metrics = await (await fetch(`${bridge?.ready.ops}/metrics`)).text()
    const files = readdirSync(directory.path).map((name) =>
      readFileSync(join(directory.path, name), 'latin1'),
    )
    const written = [bridge?.stderr(), metrics, made.stderr, deleted.stderr, tail.stderr(), ...files].join(
      '\n',
    )
    expect(written).toContain(id)
    expect(written).not.toContain(token.slice('bridge_'.length))
  })

  it('tail names the remedy for a wrong token, filter or flag, and for a bridge that is not running', async () => {
    const wrong: [string[], Record<string, string>, number, string][] = [
      [['--token', 'wrong'], {}, 2, '--token'],
      [[], { BRIDGE_ADMIN_TOKEN: 'another-token-0123456789' }, 3, 'BRIDGE_ADMIN_TOKEN'],
      [['--isins', 'short'], {}, 2, 'is not an ISIN'],
      [['--isin', 'GB00BH4HKS39'], {}, 2, 'did you mean "isins"?'],
      [['--after', 'rubbish'], {}, 2, 'not a cursor'],
      [['--url', 'http://127.0.0.1:65000'], {}, 1, 'npm start'],
    ]
    const runs = wrong.map(async ([args, changes, code, words]) => {
      const run = await runToEnd(['tail', ...args], { ...env, ...changes })
      expect([args, run.code, run.stdout]).toEqual([args, code, ''])
      expect(run.stderr).toContain(words)
    })
    await Promise.all(runs)
  })
})

describe('help', () => {
  it('exists for every command, on stdout, and a wrong word gets the closest match', async () => {
    const overview = await runToEnd(['--help'], {})
    const names = [...overview.stdout.matchAll(/^ {2}(\w+) {2,}/gm)].map(([, name = '']) => name)
    expect(names).toEqual(
      expect.arrayContaining(['run', 'demo', 'sandbox', 'doctor', 'tail', 'tokens', 'webhooks']),
    )
    const helps = await Promise.all(names.map((name) => runToEnd([name, '--help'], {})))
    for (const [index, { code, stdout, stderr }] of helps.entries()) {
      expect([code, stdout.split(':')[0], stderr]).toEqual([0, `bridge ${names[index]}`, ''])
    }
    const wrong = await runToEnd(['doktor'], {})
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('did you mean "doctor"?')])
    const flag = await runToEnd(['sandbox', '--sped', '2'], {})
    expect([flag.code, flag.stderr]).toEqual([2, expect.stringContaining('did you mean "speed"?')])
  })
})
