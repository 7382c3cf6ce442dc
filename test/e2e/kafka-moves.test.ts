/** Two bridges on three brokers whose coordinators move, and which are all away for half a minute. */
import { describe, expect, it } from 'vitest'
import { playChaos } from '../support/kafka/chaos/play.ts'
import { kafkaRuntime } from '../support/kafka/for-tests.ts'

const runtime = await kafkaRuntime()

describe.skipIf(runtime === null)('bridges on three brokers', () => {
  it('publish each item once while coordinators move and when no broker was there for 30 s', async () => {
    if (runtime === null) return
    const scripts = ['transaction-coordinator-move', 'group-coordinator-move', 'broker-away']
    const { broken } = await playChaos(runtime, { scripts, seed: 1 })
    expect(broken).toEqual([])
  }, 240_000)
})
