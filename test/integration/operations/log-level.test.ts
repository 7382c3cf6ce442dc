/** Tests that a running process logs more for a while when it is sent SIGUSR2. */
import { expect, it } from 'vitest'
import { bridgeEnv, startBridge, temporaryDirectory } from '../../support/bridge-process.ts'
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
