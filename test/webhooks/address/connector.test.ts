import { expect, test } from 'vitest'
import { type ConnectOptions, connectTo } from '../../../src/webhooks/address/connector.ts'
import type { WebhookTarget } from '../../../src/webhooks/address/judge-url.ts'
import { addressRules } from '../../../src/webhooks/address/rules.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

test('no connection is begun to a refused address that a caller did not check, direct or behind the proxy', async () => {
  const begun: string[] = []
  const begin = (address: string): never => {
    begun.push(address)
    throw new Error('a connection was begun')
  }
  const proxy = { open: async (address: string) => begin(address) } as unknown as ConnectOptions['proxy']
  const target = { scheme: 'https', host: 'hooks.example', port: 443 } as WebhookTarget
  const rules = addressRules({ allowNets: [], allowHttp: false, ports: [443] })
  const common = { rules, clock: createManualClock(), connectTimeoutMs: 5000, ca: null, dial: begin }
  for (const address of ['127.0.0.1', '10.0.0.1', '169.254.169.254', '::1', '::ffff:10.0.0.1']) {
    for (const options of [
      { ...common, proxy: null },
      { ...common, proxy },
    ]) {
      const connecting = connectTo(target, address, options, new AbortController().signal)
      await expect(connecting).rejects.toMatchObject({ kind: 'blocked' })
    }
  }
  expect(begun).toEqual([])
})
