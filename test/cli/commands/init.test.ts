import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { initCommand } from '../../../src/cli/commands/init.ts'
import { ENV_FILE, readTextFile } from '../../../src/settings/environment.ts'
import { loadSettings } from '../../../src/settings/settings.ts'
import { root } from '../../support/house/repository.ts'
import { canHaveSmallDisk, startSmallDisk } from '../../support/small-disk.ts'
import { testContext } from '../command-context.ts'

let file = ''
beforeEach(() => {
  const directory = mkdtempSync(join(tmpdir(), 'bridge-init-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  file = join(directory, 'settings')
})

async function run(args: string[], env: Record<string, string> = {}) {
  const { context, stdout, stderr } = testContext(env)
  const failure = await initCommand([...args, '--file', file], context).then(
    () => null,
    (error: unknown) => error as { code: string; message: string; errors: { field: string }[] },
  )
  return { stdout, stderr: stderr.join('\n'), failure }
}

/** The settings that a bridge in the directory of the file would read. */
function settings() {
  return loadSettings({}, (path) => readTextFile(path === ENV_FILE ? file : path))
}

const UPSTREAM = ['--upstream-url', 'https://upstream.example/v2', '--upstream-key', 'k#$y`x']

test('bridge init writes settings with which a bridge starts, readable by their owner alone', async () => {
  const { stderr, failure } = await run([...UPSTREAM, '--plan', 'lite'])
  expect(failure).toBeNull()
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const { upstream, plan, adminToken, secretKey } = settings()
  expect([upstream?.url, upstream?.key, plan.name]).toEqual(['https://upstream.example/v2', 'k#$y`x', 'lite'])
  expect(adminToken).toMatch(/^[0-9a-f]{32}$/)
  expect(secretKey).toMatch(/^[0-9a-f]{64}$/)
  expect(stderr).toContain('bridge doctor checks the settings')
  for (const secret of [adminToken, secretKey, 'k#']) expect(stderr).not.toContain(secret)
})

test('bridge init without an upstream says what to fill in, and makes other keys each time', async () => {
  const first = await run(['--json'])
  expect(JSON.parse(first.stdout.join())).toEqual({
    file,
    made: ['BRIDGE_ADMIN_TOKEN', 'BRIDGE_SECRET_KEY'],
    missing: ['BRIDGE_UPSTREAM_URL', 'BRIDGE_UPSTREAM_KEY'],
  })
  expect(first.stderr).toContain('fill in BRIDGE_UPSTREAM_URL and BRIDGE_UPSTREAM_KEY')
  const text = readFileSync(file, 'utf8')
  rmSync(file)
  await run([])
  const keys = (of: string): string[] =>
    [...of.matchAll(/^BRIDGE_(?:ADMIN|SECRET)\w+=(.+)$/gm)].map(([, key]) => key ?? '')
  expect(new Set([...keys(text), ...keys(readFileSync(file, 'utf8'))]).size).toBe(4)
})

test('bridge init overwrites no file, and takes over what the environment has', async () => {
  const token = 'a-token-of-the-environment'
  await run(UPSTREAM, { BRIDGE_ADMIN_TOKEN: token })
  expect(settings().adminToken).toBe(token)
  const again = await run(UPSTREAM)
  expect(again.failure).toMatchObject({
    code: 'failed',
    message: expect.stringContaining('is there already'),
  })
  expect(settings().adminToken).toBe(token)
})

test('bridge init refuses wrong values and writes nothing', async () => {
  const { failure } = await run(['--upstream-url', 'upstream.example'])
  expect([failure?.code, failure?.errors.map(({ field }) => field)]).toEqual([
    'settings',
    ['BRIDGE_UPSTREAM_URL'],
  ])
  expect((await run(['--upstream-key', "it's"])).failure).toMatchObject({ code: 'usage' })
  expect((await run(['--plan', 'lit'])).failure?.message).toContain('mean "lite"')
  expect(() => statSync(file)).toThrow('ENOENT')
})

test.skipIf(!canHaveSmallDisk())('bridge init on a full disk leaves no part of the file behind', async () => {
  await using disk = await startSmallDisk(1_000_000)
  const init = () => {
    const [command = '', ...args] = [...disk.inside, process.execPath, join(root, 'src/main.ts'), 'init']
    return spawnSync(command, [...args, ...UPSTREAM, '--file', join(disk.path, '.env')], { encoding: 'utf8' })
  }
  disk.fill()
  const full = init()
  expect([full.status, full.stderr]).toEqual([1, expect.stringContaining('no space left')])
  disk.makeRoom()
  expect(init()).toMatchObject({ status: 0, stderr: expect.stringContaining('wrote') })
})
