/** Tests a bridge that delivers webhooks while its Kafka is killed and restarted. */
import { describe, expect, it } from 'vitest'
import { seededChance } from '../../../src/core/chance.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import { bridgeEnv, startBridge, temporaryDirectory } from '../../support/bridge-process.ts'
import { eventually, pullAll } from '../../support/http/api-client.ts'
import { startCluster } from '../../support/kafka/cluster.ts'
import { kafkaRuntime } from '../../support/kafka/for-tests.ts'
import { askEndpoints, LOCAL_RECEIVERS } from '../../support/webhooks/endpoint-api.ts'
import { receiverScripts, startScriptedReceivers } from '../../support/webhooks/scripted-receivers.ts'
import { allTaken, judgeWebhooks, type OwedEndpoint, owedOf } from '../../support/webhooks/webhook-verdict.ts'

const runtime = await kafkaRuntime()
/** A stuck shard is reported within five seconds; the rest is for a machine under load. */
const TOLD_MS = 8000

describe.skipIf(runtime === null)('webhooks during a Kafka outage', () => {
  it('wait, which the node reports within seconds, and continue by themselves when Kafka recovers', async () => {
    if (runtime === null) return
    await using cluster = await startCluster({ runtime })
    await using receiver = await startScriptedReceivers(receiverScripts, seededChance(1))
    using directory = temporaryDirectory()
    const sandbox = await startSandbox(
      { scenario: 'flood', plan: 'advanced', weeklyQuota: 1_000_000, seed: 3 },
      { clock: systemClock },
    )
    const bridge = await startBridge(
      bridgeEnv(sandbox, directory.path, {
        BRIDGE_UPSTREAM_PLAN: 'advanced',
        BRIDGE_KAFKA_BROKERS: cluster.brokers.join(','),
        ...LOCAL_RECEIVERS,
      }),
    )
    const checks = async (): Promise<Record<string, boolean>> => {
      const answer = await fetch(`${bridge.ready.ops}/readyz`)
      return ((await answer.json()) as { checks: Record<string, boolean> }).checks
    }
    const isReady = async (): Promise<boolean> =>
      Object.values(await checks()).every((check) => check === true)
    try {
      await eventually(isReady, (ready) => ready)
      const made: Omit<OwedEndpoint, 'owed'>[] = []
      for (const [name, maxConcurrency] of [
        ['healthy', 8],
        ['slow', 4],
      ] as const) {
        const wanted = { url: receiver.url(name), maxConcurrency, since: '2000-01-01' }
        const { id, secret } = await askEndpoints(bridge.ready.http, 'POST', '', wanted)
        made.push({ receiver: name, id, secret, maxConcurrency, order: 'none' })
      }
      await eventually(
        () => receiver.receipts.length,
        (count) => count > 60,
      )
      await cluster.nodes[0]?.kill()
      await eventually(checks, ({ webhooks }) => webhooks === false, TOLD_MS)
      receiver.killed()
      await cluster.nodes[0]?.start()
      await eventually(isReady, (ready) => ready, 60_000)
      const held = await pullAll(bridge.ready.http)
      const owed = made.map((one) => ({ ...one, owed: owedOf(held) }))
      await eventually(
        () => allTaken(owed, receiver.receipts),
        (all) => all,
        120_000,
      )
      expect(judgeWebhooks(owed, receiver.receipts, 1).broken).toEqual([])
    } finally {
      await bridge.stop()
      await sandbox.close()
    }
  }, 240_000)
})
