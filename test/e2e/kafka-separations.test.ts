/**
 * Tests two bridges on one Kafka while the leader is frozen, disconnected, expelled or gets no responses, and the
 * broker restarts.
 */
import { describe, expect, it } from 'vitest'
import { playChaos } from '../support/kafka/chaos/play.ts'
import { separations } from '../support/kafka/chaos/separations.ts'
import { kafkaRuntime } from '../support/kafka/for-tests.ts'

const runtime = await kafkaRuntime()

describe.skipIf(runtime === null)('bridges on Kafka, one of which is partitioned from the network', () => {
  it('publish each item once, and no fenced bridge sends an upstream request', async () => {
    if (runtime === null) return
    const scripts = [...Object.keys(separations), 'broker-restart']
    const { broken } = await playChaos(runtime, { scripts, seed: 1 })
    expect(broken).toEqual([])
  }, 600_000)
})
