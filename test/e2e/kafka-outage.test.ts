/** Tests two bridges on one Kafka that is unavailable for half a minute. */
import { describe, expect, it } from 'vitest'
import { playChaos } from '../support/kafka/chaos/play.ts'
import { kafkaRuntime } from '../support/kafka/for-tests.ts'

const runtime = await kafkaRuntime()

describe.skipIf(runtime === null)('bridges whose Kafka is unavailable for 30 s', () => {
  it('send no upstream request meanwhile, and publish each item once', async () => {
    if (runtime === null) return
    const { broken } = await playChaos(runtime, { scripts: ['broker-away'], seed: 1 })
    expect(broken).toEqual([])
  }, 600_000)
})
