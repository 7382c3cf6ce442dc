import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { startReceiver } from '../../../../src/cli/commands/demo/receiver.ts'

test('the receiver of the demo accepts and counts webhooks, also where its port is taken', async () => {
  const taken = createServer()
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
  const { port } = taken.address() as { port: number }
  const receiver = await startReceiver(port)
  try {
    expect(receiver.url).not.toContain(`:${port}/`)
    const posted = await fetch(receiver.url, { method: 'POST', body: 'x'.repeat(100_000) })
    expect([posted.status, receiver.count]).toEqual([204, 1])
    expect([(await fetch(receiver.url)).status, receiver.count]).toEqual([405, 1])
  } finally {
    await receiver.close()
    await new Promise((resolve) => taken.close(resolve))
  }
})
