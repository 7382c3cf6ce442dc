/** Tests webhooks that a bridge sends through a proxy (`BRIDGE_WEBHOOK_PROXY`). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts'
import {
  type BridgeProcess,
  bridgeEnv,
  startBridge,
  temporaryDirectory,
} from '../../support/bridge-process.ts'
import { bearer, eventually, pullAll } from '../../support/http/api-client.ts'
import { type ConnectProxy, startConnectProxy } from '../../support/webhooks/connect-proxy.ts'
import { askEndpoints } from '../../support/webhooks/endpoint-api.ts'
import { type Attempt, wholeList } from '../../support/webhooks/webhook-lists.ts'
import { startReceiver, type WebhookReceiver } from '../../support/webhooks/webhook-receiver.ts'
import { owedOf, webhookIdOf } from '../../support/webhooks/webhook-verdict.ts'

/** Keeps the deliveries that wait for a hanging proxy few, so that no circuit breaker opens. */
const MAX_CONCURRENCY = 2

describe('webhooks through a proxy', () => {
  const directory = temporaryDirectory()
  let sandbox: Sandbox
  let proxy: ConnectProxy
  let receiver: WebhookReceiver
  let bridge: BridgeProcess
  let endpointId: string

  const start = (allowNets: string): Promise<BridgeProcess> => {
    const settings = {
      BRIDGE_UPSTREAM_PLAN: 'advanced',
      BRIDGE_WEBHOOK_ALLOW_HTTP: 'true',
      BRIDGE_WEBHOOK_ALLOW_NETS: allowNets,
      BRIDGE_WEBHOOK_PROXY: `http://desk:w%40rd@127.0.0.1:${proxy.port}`,
    }
    return startBridge(bridgeEnv(sandbox, directory.path, settings))
  }
  const attempts = (): Promise<Attempt[]> => wholeList(bridge.ready.http, `${endpointId}/attempts`)
  const timesReceived = (id: string): number =>
    receiver.received.filter(({ headers }) => headers['webhook-id'] === id).length
  /** The outcome of a test of the endpoint. */
  const tried = async (): Promise<Pick<Attempt, 'outcome' | 'phase' | 'status'>> => {
    const url = `${bridge.ready.http}/v1/webhooks/${endpointId}/test`
    return (await fetch(url, { method: 'POST', headers: bearer })).json() as Promise<Attempt>
  }

  beforeAll(async () => {
    proxy = await startConnectProxy()
    receiver = await startReceiver()
    sandbox = await startSandbox(
      { scenario: 'tvr-flood', plan: 'advanced', weeklyQuota: 1_000_000, seed: 9 },
      { clock: systemClock },
    )
    bridge = await start('127.0.0.0/8,::1/128')
    await eventually(
      () => pullAll(bridge.ready.http),
      ({ length }) => length > 0,
    )
  })
  afterAll(async () => {
    await bridge.stop()
    await sandbox.close()
    await receiver[Symbol.asyncDispose]()
    await proxy[Symbol.asyncDispose]()
    directory[Symbol.dispose]()
  })

  it('that hangs or refuses fail, reach no receiver another way, and are retried', async () => {
    proxy.script('hang')
    const url = receiver.url.replace('127.0.0.1', 'localhost')
    const wanted = { url, maxConcurrency: MAX_CONCURRENCY, since: '2000-01-01' }
    endpointId = (await askEndpoints(bridge.ready.http, 'POST', '', wanted)).id
    const [hung] = await eventually(attempts, ({ length }) => length > 0)
    expect(hung).toMatchObject({ outcome: 'timeout', phase: 'connect', status: null, attempt: 1 })
    expect(hung?.durationMs).toBeGreaterThanOrEqual(4900)
    proxy.script(403)
    expect(await tried()).toMatchObject({ outcome: 'connect', phase: 'connect', status: null })
    expect(receiver.received).toEqual([])
    proxy.script('open')
    const held = owedOf(await pullAll(bridge.ready.http))
    await eventually(
      () => held.map((event) => timesReceived(webhookIdOf(endpointId, event))),
      (times) => times.every((count) => count === 1),
    )
    // Two hung; the outcome of the other is written a little after its receiver got it.
    const again = (all: Attempt[]): Attempt | undefined =>
      all.find(({ attempt, eventId }) => attempt > 1 && eventId === hung?.eventId)
    expect(again(await eventually(attempts, (all) => again(all) !== undefined))).toMatchObject({
      outcome: 'ok',
    })
  })

  it('go to the checked address, never to the name, with the proxy’s credentials', async () => {
    expect(await tried()).toMatchObject({ outcome: 'ok', status: 204 })
    const word = `Basic ${Buffer.from('desk:w@rd').toString('base64')}`
    const { port } = new URL(receiver.url)
    for (const asked of proxy.asked) expect(asked).toEqual({ target: expect.any(String), word })
    // The second address if the first refused the connection.
    const targets = new Set(proxy.asked.map(({ target }) => target))
    expect([...targets].sort()).toEqual([`127.0.0.1:${port}`, `[::1]:${port}`])
    for (const { headers } of receiver.received) {
      expect([headers.host, headers['proxy-authorization']]).toEqual([`localhost:${port}`, undefined])
    }
    expect(bridge.stderr()).not.toContain('w@rd')
    expect(bridge.stderr()).not.toContain('w%40rd')
  })

  it('request no refused address from the proxy', async () => {
    await bridge.stop()
    bridge = await start('10.0.0.0/8')
    const before = [proxy.asked.length, receiver.received.length]
    expect(await tried()).toMatchObject({ outcome: 'blocked', status: null })
    await askEndpoints(bridge.ready.http, 'POST', `/${endpointId}/replay`, { since: '2000-01-01' })
    await eventually(attempts, (all) => all.some(({ outcome }) => outcome === 'blocked'))
    expect([proxy.asked.length, receiver.received.length]).toEqual(before)
  })
})
