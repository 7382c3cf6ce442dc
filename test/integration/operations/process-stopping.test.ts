import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import {
  bridgeEnv,
  runToEnd,
  startBridge,
  startCommand,
  temporaryDirectory,
} from '../../support/bridge-process.ts'
import { canHaveSmallDisk, startSmallDisk } from '../../support/small-disk.ts'

const CHILD = resolve(import.meta.dirname, 'fast-bridge-child.ts')
const NO_UPSTREAM = { url: 'http://127.0.0.1:9/v2', key: 'none' }
const READERS = { BRIDGE_ROLES: 'api,feed,webhooks' }

interface EndLine {
  level: string
  event: string
  reason?: string
  exitCode?: number
  error?: { code?: string; message: string; hint?: string }
}

/** The lines on the end of a process, the last one last. */
function endLines(stderr: string): EndLine[] {
  return stderr
    .split('\n')
    .filter((line) => line.includes('"event":"process.stop'))
    .map((line) => JSON.parse(line) as EndLine)
}

it.each(['SIGTERM', 'SIGINT'] as const)(
  '%s is the reason of a stop, and the exit code is 0',
  async (signal) => {
    using directory = temporaryDirectory()
    const bridge = await startBridge(bridgeEnv(NO_UPSTREAM, directory.path))
    expect(endLines(bridge.stderr())).toEqual([])
    const code = await bridge.stop(signal)
    expect(endLines(bridge.stderr())).toMatchObject([
      { level: 'info', event: 'process.stopping', reason: signal },
      { level: 'info', event: 'process.stopped', exitCode: code },
    ])
    expect(code).toBe(0)
    expect(bridge.stderr().trim().split('\n').at(-1)).toContain('process.stopped')
  },
)

it('a start in a data directory that is in use says so, with its exit code', async () => {
  using directory = temporaryDirectory()
  const env = bridgeEnv(NO_UPSTREAM, directory.path)
  const bridge = await startBridge(env)
  const second = await runToEnd(['run'], env)
  expect(endLines(second.stderr)).toMatchObject([
    {
      level: 'error',
      event: 'process.stopping',
      reason: 'start_failed',
      exitCode: second.code,
      error: { code: 'log_locked', hint: expect.stringContaining('BRIDGE_DATA_DIR') },
    },
  ])
  expect(second.code).toBe(1)
  expect(await bridge.stop()).toBe(0)
})

it('a start on lost data says so, with its exit code', async () => {
  using directory = temporaryDirectory()
  writeFileSync(join(directory.path, 'bridge.db'), 'this was a log '.repeat(1000))
  const run = await runToEnd(['run'], bridgeEnv(NO_UPSTREAM, directory.path))
  expect(endLines(run.stderr)).toMatchObject([
    { event: 'process.stopping', reason: 'start_failed', exitCode: 1, error: { code: 'log_damaged' } },
  ])
  expect(run.code).toBe(1)
})

it.skipIf(!canHaveSmallDisk())('a start on a full disk says so, with its exit code', async () => {
  await using disk = await startSmallDisk(1024 * 1024)
  disk.fill()
  const command = startCommand(['run'], bridgeEnv(NO_UPSTREAM, disk.path), undefined, disk.inside)
  expect(await command.ended).toBe(1)
  expect(endLines(command.stderr())).toMatchObject([
    {
      event: 'process.stopping',
      reason: 'start_failed',
      exitCode: 1,
      error: { code: 'log_unavailable', hint: expect.stringContaining('disk') },
    },
  ])
})

it('a task that ends with a fault stops the process, which says so before it stops the others and after', async () => {
  using directory = temporaryDirectory()
  const bridge = await startBridge(bridgeEnv(NO_UPSTREAM, directory.path), [], CHILD)
  bridge.child.send('fault')
  expect(await bridge.ended).toBe(1)
  expect(endLines(bridge.stderr())).toMatchObject([
    {
      ...{ level: 'error', event: 'process.stopping', reason: 'fault', exitCode: 1 },
      error: { message: 'no decision can be made' },
    },
    { level: 'error', event: 'process.stopped', exitCode: 1, durationMs: expect.any(Number) },
  ])
})

it('an error that nothing catches is logged before the process ends', async () => {
  using directory = temporaryDirectory()
  const bridge = await startBridge(bridgeEnv(NO_UPSTREAM, directory.path, READERS), [], CHILD)
  bridge.child.send('uncaught')
  expect(await bridge.ended).toBe(1)
  expect(endLines(bridge.stderr())).toMatchObject([
    {
      level: 'error',
      event: 'process.stopping',
      reason: 'uncaught',
      exitCode: 1,
      error: { message: 'nothing catches this' },
    },
  ])
})
