/** Tests two bridges on one Kafka, one of which is killed at each step of a claim or a commit of events. */
import { describe, expect, it } from 'vitest'
import { kills } from '../support/kafka/chaos/kills.ts'
import { playChaos } from '../support/kafka/chaos/play.ts'
import { kafkaRuntime } from '../support/kafka/for-tests.ts'

const runtime = await kafkaRuntime()

describe.skipIf(runtime === null)('bridges on Kafka whose leader is killed', () => {
  it('publish each item once, in every topic, whether the leader dies in a claim or a commit', async () => {
    if (runtime === null) return
    const { broken } = await playChaos(runtime, { scripts: Object.keys(kills), seed: 1 })
    expect(broken).toEqual([])
  }, 600_000)
})
