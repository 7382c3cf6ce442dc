import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { checkListening } from '../../../src/cli/doctor/listening.ts'

/** An address of the documentation (RFC 5737), which no machine has. */
const NO_ADDRESS = '192.0.2.1'
const free = { host: '127.0.0.1', port: 0 }

/** An address where a server listens that never answers. */
async function takenPlace() {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { host: '127.0.0.1', port: (server.address() as AddressInfo).port }
}

test('addresses that a bridge can listen at give no finding', async () => {
  expect(await checkListening({ http: free, ops: free }, false)).toEqual([])
})

test('an address that is none of this machine is a wrong setting, as at the start', async () => {
  const away = { host: NO_ADDRESS, port: 8080 }
  expect(await checkListening({ http: away, ops: away }, false)).toMatchObject([
    { level: 'fail', area: 'settings', todo: expect.stringContaining('BRIDGE_HTTP_HOST') },
    { level: 'fail', area: 'settings', todo: expect.stringContaining('BRIDGE_OPS_HOST') },
  ])
})

test('a port that another process has is a warning, once: the check of the bridge reports who answers there', async () => {
  const taken = await takenPlace()
  expect(await checkListening({ http: taken, ops: free }, false)).toMatchObject([
    { level: 'warn', name: 'listen', todo: expect.stringContaining('BRIDGE_HTTP_PORT') },
  ])
  expect(await checkListening({ http: taken, ops: free }, true)).toEqual([])
  expect(await checkListening({ http: free, ops: taken }, true)).toMatchObject([
    { level: 'warn', name: 'listen', todo: expect.stringContaining('BRIDGE_OPS_PORT') },
  ])
})
