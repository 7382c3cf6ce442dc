/**
 * Tests two bridges on three brokers under load: a rolling restart, too few replicas in sync, and a broker that hangs. The
 * campaign plays the same scripts with many seeds.
 */
import { describe, expect, it } from 'vitest'
import { playChaos } from '../../support/kafka/chaos/play.ts'
import { replicaScripts } from '../../support/kafka/chaos/scripts.ts'
import { kafkaRuntime } from '../../support/kafka/for-tests.ts'

const runtime = await kafkaRuntime()

describe.skipIf(runtime === null)('bridges on three brokers', () => {
  it('publish each item once while brokers restart in turn, fall out of sync and hang', async () => {
    if (runtime === null) return
    const { broken, verdict } = await playChaos(runtime, { scripts: replicaScripts, seed: 1 })
    expect(broken).toEqual([])
    expect(verdict?.published).toBeGreaterThan(500)
  }, 600_000)
})
