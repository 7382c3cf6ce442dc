/** Two bridges on one Kafka, of which one is killed at each place where a claim or a commit of events is cut in two. */
import { describe, expect, it } from 'vitest'
import { kills } from '../support/kafka/chaos/kills.ts'
import { playChaos } from '../support/kafka/chaos/play.ts'
import { kafkaRuntime } from '../support/kafka/for-tests.ts'

const runtime = await kafkaRuntime()

describe.skipIf(runtime === null)('bridges on Kafka of which the leader is killed', () => {
  it('publish each item once, in every topic, wherever the leader dies in a claim or a commit', async () => {
    if (runtime === null) return
    const { broken } = await playChaos(runtime, { scripts: Object.keys(kills), seed: 1 })
    expect(broken).toEqual([])
  }, 600_000)
})
