/** Tests two bridges on three brokers whose coordinators move. */
import { describe, expect, it } from 'vitest'
import { playChaos } from '../support/kafka/chaos/play.ts'
import { moveScripts } from '../support/kafka/chaos/scripts.ts'
import { kafkaRuntime } from '../support/kafka/for-tests.ts'

const runtime = await kafkaRuntime()

describe.skipIf(runtime === null)('bridges on three brokers', () => {
  it('publish each item once while the coordinators of transactions and of the group move', async () => {
    if (runtime === null) return
    const { broken } = await playChaos(runtime, { scripts: moveScripts, seed: 1 })
    expect(broken).toEqual([])
  }, 600_000)
})
