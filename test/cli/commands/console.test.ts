import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { consoleCommand } from '../../../src/cli/commands/console.ts'
import { sessionRoutes } from '../../../src/console/session-routes.ts'
import { createApp } from '../../../src/http/app.ts'
import { type Authenticate, adminAuthenticate, findCallerAmong } from '../../../src/http/auth.ts'
import { type Listener, listen } from '../../../src/http/listener.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { createSessions } from '../../../src/registry/sessions.ts'
import { temporaryDirectory } from '../../support/bridge-process.ts'
import { eventually } from '../../support/http/api-client.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'
import { testContext } from '../command-context.ts'

const TOKEN = 'the token of this test'
const { logger } = keepingLogger()
const authenticate: Authenticate = adminAuthenticate(TOKEN)
const findCaller = findCallerAmong(() => 'unknown')
const keys = { key: 'the key of this test, 32 characters or more', oldKey: null }
const sessions = createSessions({ keys, adminToken: TOKEN, findCaller, clock: systemClock })
const tokens = { get: () => null }
const open: Listener[] = []
let withConsole: string
let without: string

beforeAll(async () => {
  const serve = async (routes: ReturnType<typeof sessionRoutes>): Promise<string> => {
    const app = createApp({ routes, authenticate, corsOrigins: [], logger })
    const listener = await listen(app, {
      host: '127.0.0.1',
      port: 0,
      setting: '',
      clock: systemClock,
      logger,
    })
    open.push(listener)
    return listener.url
  }
  withConsole = await serve(
    sessionRoutes({ sessions, tokens, authenticate, findCaller, clock: systemClock, logger }),
  )
  without = await serve([])
})

afterAll(async () => {
  for (const listener of open) await listener.close(0)
})

async function run(env: Record<string, string>, ...args: string[]) {
  const { context, stdout, stderr } = testContext(env)
  const failure = await consoleCommand(args, context).then(
    () => null,
    (error: unknown) => error as { code: string; message: string; hint: string },
  )
  return { stdout, stderr, failure }
}

/** A folder as an earlier call leaves one, with that file in it. */
function folderFrom(date: string, name: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-console-'))
  writeFileSync(join(folder, name), '')
  utimesSync(folder, new Date(date), new Date(date))
  return folder
}

const target = (): string[] => ['--url', withConsole, '--token', TOKEN]

test('bridge console prints a link whose code begins one session', async () => {
  const { stdout, failure } = await run({}, ...target())
  expect(failure).toBe(null)
  expect(stdout).toHaveLength(1)
  const [, address, code = ''] = /^(.*)\/console\/#(c1\..+)$/.exec(stdout[0] ?? '') ?? []
  expect(address).toBe(withConsole)
  expect(sessions.links.take(code)).toEqual({ tokenId: 'settings' })
  const json = JSON.parse((await run({}, ...target(), '--json')).stdout.join())
  expect(json).toMatchObject({ url: expect.stringContaining('/console/#c1.'), expiresAt: expect.any(String) })
})

test('bridge console --open starts the browser of the machine with a file that leads to the link, or says that there is none', async () => {
  using directory = temporaryDirectory()
  const seen = join(directory.path, 'seen')
  const opener = join(directory.path, process.platform === 'darwin' ? 'open' : 'xdg-open')
  writeFileSync(opener, `#!/bin/sh\nprintf %s "$1" > "${seen}.part" && mv "${seen}.part" "${seen}"\n`)
  chmodSync(opener, 0o755)
  const path = process.env.PATH ?? ''
  const [left, strange] = [folderFrom('2026-01-01', 'open.html'), folderFrom('2026-01-01', 'mine.txt')]
  const { stdout, stderr } = await run({ PATH: `${directory.path}:${path}` }, ...target(), '--open')
  await eventually(
    () => existsSync(seen),
    (there) => there,
  )
  const file = readFileSync(seen, 'utf8')
  // Everybody on the machine can read the arguments of a process.
  expect(file).not.toContain('#c1.')
  expect(stderr.join()).toMatch(/finds no file.*open the link yourself/)
  expect([existsSync(left), existsSync(strange), existsSync(file)]).toEqual([false, true, true])
  rmSync(strange, { recursive: true })
  expect([statSync(file).mode & 0o777, statSync(dirname(file)).mode & 0o777]).toEqual([0o600, 0o700])
  expect(readFileSync(file, 'utf8')).toContain(`content="0; url=${stdout[0]}"`)
  rmSync(dirname(file), { recursive: true })
  const none = await run({ PATH: directory.path.replace(/$/, '/none') }, ...target(), '--open')
  expect(none).toMatchObject({ failure: null, stdout: [expect.stringContaining('#c1.')] })
  expect(none.stderr).toEqual([expect.stringContaining('no browser was started')])
})

test('bridge console says which role is missing where a bridge has no console', async () => {
  const { failure, stdout } = await run({}, '--url', without, '--token', TOKEN)
  expect(stdout).toEqual([])
  expect(failure?.message).toContain('serves no console')
  expect(failure?.hint).toContain('roles api and console')
})
