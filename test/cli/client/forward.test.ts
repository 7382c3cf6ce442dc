import { createSecretKey } from 'node:crypto'
import { expect, test } from 'vitest'
import { createForwarder, type ForwardAttempt } from '../../../src/cli/client/forward.ts'
import { listenCommand } from '../../../src/cli/commands/listen.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { startReceiver } from '../../support/webhooks/webhook-receiver.ts'
import { testContext } from '../command-context.ts'

/** The delays between the tries of a receiver that answers so, with the highest chance; none is waited for. */
async function delaysMs(headers: Record<string, string>): Promise<number[]> {
  await using receiver = await startReceiver((response) => response.writeHead(503, headers).end())
  const attempts: ForwardAttempt[] = []
  const forwarder = createForwarder({
    url: receiver.url,
    endpointId: 'listen',
    key: createSecretKey(Buffer.alloc(32)),
    clock: {
      ...systemClock,
      after: (delayMs, run) => systemClock.after(delayMs > 20_000 ? delayMs : 0, run),
    },
    chance: () => 0.999_999,
    signal: new AbortController().signal,
    onAttempt: (attempt) => attempts.push(attempt),
  })
  await forwarder.take({ id: 'e', sequence: '1', json: '{"id":"e","data":{}}' })
  await forwarder.drained()
  expect(attempts).toHaveLength(4)
  return attempts.flatMap(({ nextInMs }) => nextInMs ?? [])
}

test('the tries of a delivery end within the minute that the help of bridge listen names', async () => {
  const delays = await delaysMs({})
  expect(delays.reduce((sum, delay) => sum + delay, 0)).toBeLessThan(60_000)
  const { context, stdout } = testContext()
  await listenCommand(['--help'], context)
  expect(stdout.join()).toContain('tried four times within about a minute')
  expect(stdout.join()).toMatch(/Retry-After\s+of up to a minute/)
})
