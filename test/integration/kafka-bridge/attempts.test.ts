/** Tests attempts over one Kafka: a node that delivers, and one that only serves the API. */
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import { temporaryDirectory } from '../../support/bridge-process.ts'
import { bearer, eventually } from '../../support/http/api-client.ts'
import { sharedBrokers } from '../../support/kafka/for-tests.ts'
import { kafkaNodes } from '../../support/kafka/kafka-nodes.ts'
import { publisherOf } from '../../support/product/published-items.ts'
import { askEndpoints, LOCAL_RECEIVERS } from '../../support/webhooks/endpoint-api.ts'
import { type Attempt, wholeList } from '../../support/webhooks/webhook-lists.ts'
import { startReceiver } from '../../support/webhooks/webhook-receiver.ts'

const brokers = await sharedBrokers()

describe.skipIf(brokers === null)('attempts on Kafka', () => {
  it('are listed alike by the delivering node and an API-only node, also after that was down', async () => {
    using own = temporaryDirectory()
    using other = temporaryDirectory()
    const sandbox = await startSandbox(
      { scenario: 'flood', plan: 'advanced', weeklyQuota: 1_000_000, seed: 9 },
      { clock: systemClock },
    )
    const publish = publisherOf(sandbox)
    const start = kafkaNodes('attempts', brokers, sandbox, LOCAL_RECEIVERS)
    const sender = await start(own.path, 'poller,webhooks,api')
    let answering = await start(other.path, 'api')
    await using healthy = await startReceiver()
    await using failing = await startReceiver((response) => response.writeHead(500).end('broken'))
    const receivers = [healthy, failing]
    try {
      const ids: string[] = []
      for (const { url } of receivers) {
        const wanted = { url, maxConcurrency: 2, since: '2000-01-01' }
        ids.push((await askEndpoints(sender.ready.http, 'POST', '', wanted)).id)
      }
      const lists = (base: string) =>
        Promise.all(
          ids.flatMap((id) => [wholeList(base, `${id}/attempts`), wholeList(base, `${id}/deliveries`)]),
        )
      const attempts = (base: string, id: string) => wholeList<Attempt>(base, `${id}/attempts`)
      /** What both nodes answer, once they answer alike: what one writes is on the other a moment later. */
      const alike = async <T>(ask: (base: string) => Promise<T>): Promise<T> => {
        const [here] = await eventually(
          () => Promise.all([ask(sender.ready.http), ask(answering.ready.http)]),
          ([own, theirs]) => own !== null && isDeepStrictEqual(own, theirs),
          // A node says how its endpoints stand at least each minute.
          90_000,
        )
        return here
      }
      /** What both nodes say of an event, in the order of the endpoints, once both have it. */
      const eventDeliveries = async (id: string) => {
        const path = `/v1/disclosures/${encodeURIComponent(id)}`
        type Said = { data: { endpointId: string; state: string | null; why: { reason: string } | null }[] }
        const ask = async (base: string): Promise<Said | null> => {
          const answer = await fetch(`${base}${path}/deliveries`, { headers: bearer })
          return answer.ok ? ((await answer.json()) as Said) : null
        }
        const here = await alike(ask)
        return ids.map((id) => {
          const said = here?.data.find(({ endpointId }) => endpointId === id)
          return { state: said?.state ?? null, why: said?.why ?? null }
        })
      }
      /** Checks that both nodes list every attempt that the receivers have seen, and list it alike. */
      const same = async (): Promise<void> => {
        for (const id of ids) await askEndpoints(sender.ready.http, 'POST', `/${id}/disable`)
        for (const [at, id] of ids.entries()) {
          for (const base of [sender.ready.http, answering.ready.http]) {
            await eventually(
              () => attempts(base, id).catch(() => []),
              ({ length }) => length === receivers[at]?.received.length,
            )
          }
        }
        await alike(lists)
        // Of what was published before, the healthy endpoint may have had everything.
        const [late = ''] = await publish([{ headline: 'Published while both are disabled' }])
        const [first, last] = [await eventDeliveries('1'), await eventDeliveries(late)]
        expect(first.map(({ state }) => state)).toEqual(['delivered', 'pending'])
        expect(last.map(({ why }) => why?.reason)).toEqual(['disabled', 'disabled'])
      }
      const seen = (count: number) =>
        eventually(
          () => receivers.map(({ received }) => received.length),
          (counts) => counts.every((one) => one >= count),
        )
      await seen(5)
      await same()
      await answering.stop()
      const before = Math.max(...receivers.map(({ received }) => received.length))
      const [healthyId = ''] = ids
      await askEndpoints(sender.ready.http, 'POST', `/${healthyId}/enable`)
      await eventually(
        () => healthy.received.length,
        (count) => count > before,
      )
      answering = await start(other.path, 'api')
      await same()
    } finally {
      await Promise.all([sender.stop(), answering.stop()])
      await sandbox.close()
    }
  }, 300_000)
})
