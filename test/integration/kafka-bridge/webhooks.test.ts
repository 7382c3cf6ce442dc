/** Tests two bridges that deliver webhooks over one Kafka; the second has no other role. */
import { describe, expect, it } from 'vitest'
import { webhookKillRun } from '../../campaign/webhook-kills.ts'
import { uniqueName } from '../../support/kafka/clients.ts'
import { sharedBrokers } from '../../support/kafka/for-tests.ts'

const brokers = await sharedBrokers()

describe.skipIf(brokers === null)('two bridges on Kafka that deliver webhooks', () => {
  it('share the shards, and deliver everything although one after the other is killed and restarted', async () => {
    const kafka = { brokers: brokers ?? [], prefix: uniqueName('webhooks') }
    const run = await webhookKillRun({
      seed: 2,
      kills: 2,
      scenario: 'morning-short',
      kafka,
      nodes: 2,
      secondRoles: 'webhooks',
    })
    expect(run).toMatchObject({ missing: 0, broken: [] })
    expect(run.shards).toEqual([32, 32])
    expect(run.events).toBeGreaterThan(400)
  }, 240_000)
})
