/** Tests that a running process logs more for a while when it is sent SIGUSR2. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import {
  bridgeEnv,
  readyLine,
  startBridge,
  startCommand,
  temporaryDirectory,
} from '../../support/bridge-process.ts'
import { eventually } from '../../support/http/api-client.ts'

it('SIGUSR2 makes a process log at debug, and a second one ends that', async () => {
  using directory = temporaryDirectory()
  const env = bridgeEnv({ url: 'http://127.0.0.1:9/v2', key: 'none' }, directory.path)
  const bridge = await startBridge(env)
  const changes = (): unknown[] =>
    bridge
      .stderr()
      .split('\n')
      .filter((line) => line.includes('log.level_changed'))
      .map((line) => JSON.parse(line))
  bridge.child.kill('SIGUSR2')
  await eventually(changes, ({ length }) => length === 1)
  bridge.child.kill('SIGUSR2')
  await eventually(changes, ({ length }) => length === 2)
  expect(changes()).toMatchObject([
    { from: 'info', to: 'debug' },
    { from: 'debug', to: 'info' },
  ])
  expect(await bridge.stop()).toBe(0)
})

it('SIGUSR2 ends no process that is still starting', async () => {
  using directory = temporaryDirectory()
  const env = bridgeEnv({ url: 'http://127.0.0.1:9/v2', key: 'none' }, directory.path)
  const command = startCommand(['run'], env)
  // The product's first lines have run.
  const status = () => readFileSync(`/proc/${command.child.pid}/status`, 'utf8')
  await eventually(status, (text) => /^Umask:\s0077$/m.test(text))
  command.child.kill('SIGUSR2')
  await readyLine(command)
  expect(await command.stop()).toBe(0)
})
