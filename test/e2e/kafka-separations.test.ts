/** Two bridges on one Kafka while the leader is frozen, cut off, forgotten or unanswered, and the broker restarts. */
import { describe, expect, it } from 'vitest'
import { playChaos } from '../support/kafka/chaos/play.ts'
import { separations } from '../support/kafka/chaos/separations.ts'
import { kafkaRuntime } from '../support/kafka/for-tests.ts'

const runtime = await kafkaRuntime()

describe.skipIf(runtime === null)('bridges on Kafka of which one is separated', () => {
  it('publish each item once, and no bridge that was fenced asks the upstream', async () => {
    if (runtime === null) return
    const scripts = [...Object.keys(separations), 'broker-restart']
    const { broken } = await playChaos(runtime, { scripts, seed: 1 })
    expect(broken).toEqual([])
  }, 600_000)
})
