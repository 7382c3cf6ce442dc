import { expect, test } from 'vitest'
import { runSandboxCommand } from '../../src/cli/commands/sandbox.ts'
import { isBridgeError } from '../../src/errors.ts'
import { scenarios } from '../../src/sandbox/scenario-list.ts'
import { testContext } from '../cli/command-context.ts'
import { createManualClock } from '../support/time/manual-clock.ts'

/** Runs the command; resolves with its first line, a promise of its end and a function that stops it. */
function run(args: string[]) {
  const lines: string[] = []
  const firstLine = Promise.withResolvers<string>()
  const { context, stop } = testContext()
  const ended = runSandboxCommand(args, {
    ...context,
    stdout: (line) => {
      lines.push(line)
      firstLine.resolve(line)
    },
    clock: createManualClock(),
  })
  return {
    lines,
    firstLine: Promise.race([
      firstLine.promise,
      ended.then(
        () => '',
        () => '',
      ),
    ]),
    ended,
    stop,
  }
}

test('the sandbox command listens on the given host', async () => {
  const { firstLine, ended, stop } = run(['--scenario', 'quiet', '--host', '::1'])
  const { url, admin } = JSON.parse(await firstLine)
  expect([new URL(url).hostname, new URL(admin).hostname]).toEqual(['[::1]', '[::1]'])
  expect((await fetch(`${admin}/scenario`)).status).toBe(200)
  stop()
  await ended
  const wrong = run(['--scenario', 'quiet', '--host', '192.0.2.1'])
  await expect(wrong.ended).rejects.toThrow(/192\.0\.2\.1/)
})

test('the sandbox command prints its ready line, serves until it is stopped, and frees its ports', async () => {
  const { firstLine, ended, stop, lines } = run([
    '--scenario',
    'quiet',
    '--key',
    'k1',
    '--plan=free',
    '--seed',
    '3',
  ])
  const ready = JSON.parse(await firstLine)
  expect(ready).toEqual({
    ready: true,
    url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/v2$/),
    admin: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
    key: 'k1',
  })
  const ask = (): Promise<Response> =>
    fetch(`${ready.url}/disclosures/sources/rns/items`, { headers: { 'x-api-key': 'k1' } })
  expect((await ask()).status).toBe(200)
  expect(await (await fetch(`${ready.admin}/scenario`)).json()).toMatchObject({
    seed: 3,
    plan: 'free',
    limits: { weeklyQuota: 350, ratePerSecond: 1, burst: 2 },
  })
  stop()
  await ended
  await expect(ask()).rejects.toThrow()
  expect(lines).toHaveLength(1)
})

test('flags override the figures of the plan and the speed', async () => {
  const flags = [
    '--weekly-quota',
    '7',
    '--rate',
    '2.5',
    '--burst',
    '4',
    '--speed',
    '0.5',
    '--scenario',
    'late',
  ]
  const { firstLine, ended, stop } = run(flags)
  const { admin } = JSON.parse(await firstLine)
  expect(await (await fetch(`${admin}/scenario`)).json()).toMatchObject({
    name: 'late',
    speed: 0.5,
    limits: { weeklyQuota: 7, ratePerSecond: 2.5, burst: 4 },
  })
  stop()
  await ended
})

test('the sandbox command lists every scenario with its meaning, and exits', async () => {
  const { lines, ended } = run(['--list'])
  await ended
  expect(lines.map((line) => line.split(' ')[0])).toEqual(Object.keys(scenarios))
  const asJson = run(['--list', '--json'])
  await asJson.ended
  expect(JSON.parse(asJson.lines[0] ?? '')).toHaveLength(lines.length)
})

test('the help text lists every flag', async () => {
  const { lines, ended } = run(['--help'])
  await ended
  for (const flag of [
    'port',
    'admin-port',
    'scenario',
    'plan',
    'key',
    'seed',
    'speed',
    'list',
    'daily-items',
    'weekly-quota',
    'rate',
  ])
    expect(lines[0]).toContain(`--${flag}`)
})

test.each([
  [['--scenaro', 'quiet'], 'bridge sandbox has no flag --scenaro – did you mean "scenario"?'],
  [['--scenario', 'mornin'], 'did you mean "morning"?'],
  [['--plan', 'advance'], 'did you mean "advanced"?'],
  [['--port', 'http'], '--port must be a whole number from 0 to 65535, got "http"'],
  [['--port', '70000'], '--port must be a whole number'],
  [['--speed', '0'], '--speed must be a number'],
  [['--seed', '1.5'], '--seed must be a whole number'],
  [['--burst', '0'], '--burst must be a whole number from 1'],
  [['--key', 'with blank'], '--key must be printable characters'],
  [['--key='], '--key must be printable characters'],
  [['--documents-url', 'sandbox:8080'], '--documents-url must be an address, got "sandbox:8080"'],
  [['--documents-url', 'http://localhost/?a=1'], '--documents-url must be an address'],
  [['extra'], 'extra'],
  [['--port'], 'port'],
])('rejects %j as wrong usage', async (args, message) => {
  const refused = run(args).ended.catch((error: unknown) => error)
  const error = await refused
  expect(isBridgeError(error, 'usage')).toBe(true)
  expect(String(error)).toContain(message)
})

test('the sandbox command names the flag to change when a port is in use', async () => {
  const first = run(['--scenario', 'quiet'])
  const { admin } = JSON.parse(await first.firstLine)
  const second = await run(['--admin-port', new URL(admin).port, '--scenario', 'quiet']).ended.catch(
    (error) => error,
  )
  expect(second).toMatchObject({ code: 'failed', hint: expect.stringContaining('--admin-port') })
  first.stop()
  await first.ended
})
