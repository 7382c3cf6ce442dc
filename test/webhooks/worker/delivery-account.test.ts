/** Tests how the figures of shards become the gauges of a node. */
import { expect, it } from 'vitest'
import { HOUR_MS } from '../../../src/core/durations.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { createMetrics } from '../../../src/obs/metrics.ts'
import { createDeliveryAccount } from '../../../src/webhooks/worker/delivery-account.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'
import { metric } from '../../support/metric.ts'

it('endpoints that fail for an hour are counted on their own: others may fail in turn', async () => {
  const metrics = createMetrics({ version: '1' })
  const nowMs = Date.UTC(2026, 5, 1, 7)
  const clock = { ...systemClock, now: () => nowMs }
  const account = createDeliveryAccount({ clock, metrics, logger: keepingLogger().logger })
  const figures = { pending: 0, oldestMs: null, dead: 0 }
  const counted = async (...failingSinceMs: number[][]): Promise<number[]> => {
    account.measure(failingSinceMs.map((sinceMs) => ({ ...figures, failingSinceMs: sinceMs })))
    const read = (name: string): Promise<number> => metric({ metrics }, `webhook_failing_${name}`)
    return await Promise.all([read('endpoints'), read('long_endpoints')])
  }
  const lately = nowMs - HOUR_MS + 1
  expect(await counted([lately, nowMs - HOUR_MS], [nowMs - 3 * HOUR_MS])).toEqual([3, 2])
  expect(await counted([lately, lately], [nowMs])).toEqual([3, 0])
  expect(await counted([], [])).toEqual([0, 0])
})
