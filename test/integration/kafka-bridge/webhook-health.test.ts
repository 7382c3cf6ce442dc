/** Tests over one Kafka that a node shows the health of endpoints that another node delivers to, also when that changes. */
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import { type BridgeProcess, temporaryDirectory } from '../../support/bridge-process.ts'
import { eventually, pullAll } from '../../support/http/api-client.ts'
import { sharedBrokers } from '../../support/kafka/for-tests.ts'
import { kafkaNodes } from '../../support/kafka/kafka-nodes.ts'
import { askEndpoints, LOCAL_RECEIVERS } from '../../support/webhooks/endpoint-api.ts'
import { startReceiver } from '../../support/webhooks/webhook-receiver.ts'
import { owedOf } from '../../support/webhooks/webhook-verdict.ts'

const brokers = await sharedBrokers()
/** Events of the scenario. */
const EVENTS = 1500

describe.skipIf(brokers === null)('the health of an endpoint on Kafka', () => {
  it('is shown by a node that does not deliver to it, and stays the same while its shard moves', async () => {
    using own = temporaryDirectory()
    using first = temporaryDirectory()
    using second = temporaryDirectory()
    await using broken = await startReceiver((response) => response.writeHead(500).end())
    await using well = await startReceiver()
    const sandbox = await startSandbox(
      { scenario: 'flood', plan: 'advanced', weeklyQuota: 1_000_000, seed: 9, speed: 6 },
      { clock: systemClock },
    )
    const startReady = kafkaNodes('health', brokers, sandbox, {
      BRIDGE_BACKFILL: 'PT4H',
      ...LOCAL_RECEIVERS,
    })
    const asked = await startReady(own.path, 'poller,api')
    const running = [asked]
    const start = async (dataDir: string, roles: string): Promise<BridgeProcess> => {
      const bridge = await startReady(dataDir, roles)
      running.push(bridge)
      return bridge
    }
    const ask = (method: string, path: string, body?: object) =>
      askEndpoints(asked.ready.http, method, path, body)
    try {
      const delivering = await start(first.path, 'webhooks')
      await eventually(
        () => pullAll(asked.ready.http),
        ({ length }) => length >= EVENTS,
      )
      const matching = async () => owedOf(await pullAll(asked.ready.http, '&fcaCategories=MSC,AGM'))
      expect((await matching()).length).toBeGreaterThan(10)
      const parts = { since: '2000-01-01', maxConcurrency: 2, filter: { fcaCategories: ['MSC', 'AGM'] } }
      const failing = await ask('POST', '', { url: broken.url, ...parts })
      const healthy = await ask('POST', '', { url: well.url, ...parts })
      const paused = await ask('POST', '', { url: well.url, ...parts })
      await ask('PATCH', `/${paused.id}`, { status: 'paused' })
      const healthOf = async (id: string) => (await ask('GET', `/${id}`)).health
      const { shown, wanted } = await eventually(
        async () => ({ shown: await healthOf(failing.id), wanted: await matching() }),
        ({ shown: { failingSince, pending, p50Ms }, wanted: { length } }) =>
          failingSince !== null && pending === length && p50Ms !== null,
      )
      const [oldestPending] = wanted.map(({ recordedtime }) => recordedtime).sort()
      const stays = { pending: wanted.length, oldestPending, dead: 0 }
      expect(shown).toMatchObject({ ...stays, lastSuccess: null, p50Ms: expect.any(Number) })
      expect(await healthOf(paused.id)).toMatchObject({ failingSince: null, dead: 0 })
      const rested = await eventually(
        () => healthOf(healthy.id),
        ({ pending }) => pending === 0,
      )
      expect(rested).toMatchObject({ oldestPending: null, lastSuccess: expect.any(String) })

      const next = await start(second.path, 'webhooks,api')
      const looks: unknown[] = []
      const stopping = delivering.stop()
      const until = systemClock.now() + 25_000
      while (systemClock.now() < until) {
        const { pending, oldestPending: oldest, dead, failingSince } = await healthOf(failing.id)
        looks.push({ pending, oldestPending: oldest, dead, failingSince })
        await new Promise<void>((resolve) => void systemClock.after(200, resolve))
      }
      await stopping
      const same = { ...stays, failingSince: shown.failingSince }
      expect(new Set(looks.map((look) => JSON.stringify(look)))).toEqual(new Set([JSON.stringify(same)]))
      const there = await askEndpoints(next.ready.http, 'GET', `/${failing.id}`)
      expect(there.health).toMatchObject(same)
    } finally {
      await Promise.all(running.map((bridge) => bridge.stop('SIGKILL')))
      await sandbox.close()
    }
  }, 180_000)
})
