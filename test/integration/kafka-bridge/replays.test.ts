/** Tests over one Kafka that a node which does not deliver shows the replays of another one, and ends them. */
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import { temporaryDirectory } from '../../support/bridge-process.ts'
import { bearer, eventually, getJson, pullAll } from '../../support/http/api-client.ts'
import { sharedBrokers } from '../../support/kafka/for-tests.ts'
import { kafkaNodes } from '../../support/kafka/kafka-nodes.ts'
import { askEndpoints, LOCAL_RECEIVERS } from '../../support/webhooks/endpoint-api.ts'
import { startReceiver } from '../../support/webhooks/webhook-receiver.ts'

const brokers = await sharedBrokers()

/** Events of the scenario: after them the endpoint gets no new ones, which would go first. */
const EVENTS = 1500

interface Shown {
  id: string
  state: string
  count: number
  progress: number | null
}

describe.skipIf(brokers === null)('replays on Kafka', () => {
  it('are shown with their progress and ended by a node that does not deliver', async () => {
    using own = temporaryDirectory()
    using other = temporaryDirectory()
    await using receiver = await startReceiver()
    const sandbox = await startSandbox(
      { scenario: 'flood', plan: 'advanced', weeklyQuota: 1_000_000, seed: 9, speed: 6 },
      { clock: systemClock },
    )
    const start = kafkaNodes('replays', brokers, sandbox, { BRIDGE_BACKFILL: 'PT4H', ...LOCAL_RECEIVERS })
    const sender = await start(own.path, 'poller,webhooks,api')
    const answering = await start(other.path, 'api')
    try {
      await eventually(
        () => pullAll(sender.ready.http),
        ({ length }) => length >= EVENTS,
      )
      const { id } = await askEndpoints(sender.ready.http, 'POST', '', { url: receiver.url, rateLimit: 20 })
      const replays = async (base: string) =>
        (await getJson<{ data: Shown[] }>(`${base}/v1/webhooks/${id}/replays`)).data
      const wanted = { since: '2000-01-01' }
      const ids = []
      for (const _ of [1, 2])
        ids.push((await askEndpoints(answering.ready.http, 'POST', `/${id}/replay`, wanted)).id)
      // Nothing is missing between the command and the first report of the node that delivers.
      const looks: string[][] = []
      const { ready } = answering
      await eventually(
        async () => {
          const shown = await replays(ready.http)
          looks.push(shown.map((one) => one.id))
          return shown
        },
        ([first]) => first?.state === 'running' && (first.progress ?? 0) > 0,
      )
      for (const look of looks) expect(look).toEqual(ids)
      expect((await replays(sender.ready.http)).map(({ state }) => state)).toEqual(['running', 'waiting'])
      for (const replay of ids) {
        const url = `${ready.http}/v1/webhooks/${id}/replays/${replay}`
        expect((await fetch(url, { method: 'DELETE', headers: bearer })).status).toBe(204)
      }
      expect([await replays(ready.http), await replays(sender.ready.http)]).toEqual([[], []])
      await askEndpoints(ready.http, 'POST', `/${id}/disable`)
      const sent = receiver.received.length
      await askEndpoints(ready.http, 'PATCH', `/${id}`, { filter: { types: ['gap'] } })
      await askEndpoints(ready.http, 'POST', `/${id}/enable`)
      await new Promise<void>((resolve) => void systemClock.after(3000, resolve))
      expect(receiver.received.length).toBe(sent)
    } finally {
      await Promise.all([sender.stop('SIGKILL'), answering.stop('SIGKILL')])
      await sandbox.close()
    }
  }, 120_000)
})
