import { expect, test } from 'vitest'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import { bridgeEnv, runToEnd, temporaryDirectory } from '../../support/bridge-process.ts'

test.each([
  ['repair', '--yes'],
  ['restore', '--dry-run'],
])(
  'bridge %s %s without a broker ends with the exit code of Kafka, and promises no second try',
  async (...words) => {
    await using stack = new AsyncDisposableStack()
    const sandbox = await startSandbox({ scenario: 'quiet', plan: 'advanced' }, { clock: systemClock })
    stack.defer(() => sandbox.close())
    using directory = temporaryDirectory()
    const env = bridgeEnv(sandbox, directory.path, { BRIDGE_KAFKA_BROKERS: '127.0.0.1:9' })
    const { code, stderr } = await runToEnd(words, env)
    expect([code, stderr]).toEqual([5, expect.stringContaining('Check that the brokers run')])
    expect(stderr).not.toContain('tries again')
  },
  60_000,
)
