import { expect, onTestFinished, test } from 'vitest'
import type { DeliveryStanding } from '../../../src/webhooks/delivery-state/endpoint-state.ts'
import { HEALTH_TABLE, HealthReports } from '../../../src/webhooks/health/health-reports.ts'
import { shardOf } from '../../../src/webhooks/worker/shard-of.ts'
import { until } from '../../support/http/api-server.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'
import { createMemoryLog } from '../../support/memory-log.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

const FAILING: DeliveryStanding = { pending: 2, oldestMs: 5, dead: 1, failingSinceMs: 7, unreadAfter: null }
const RESTING: DeliveryStanding = {
  pending: 0,
  oldestMs: null,
  dead: 0,
  failingSinceMs: null,
  unreadAfter: null,
}

test('another node reads within seconds how deliveries stand; endpoints at rest take no place in the log', async () => {
  const log = createMemoryLog()
  const clock = createManualClock()
  const stop = new AbortController()
  const node = () => new HealthReports({ log, clock, logger: keepingLogger().logger })
  const shard = shardOf('ep_1')
  const standings = new Map([[shard, new Map([['ep_1', FAILING]])]])
  const own = node()
  const other = node()
  const running = [own.publish(() => standings, stop.signal), other.follow(stop.signal)]
  onTestFinished(async () => {
    stop.abort()
    await Promise.all(running)
  })
  expect(other.of('ep_1')).toBeNull()
  clock.advance(10_000)
  await until(() => other.of('ep_1') !== null)
  expect(other.of('ep_1')).toEqual(FAILING)
  standings.set(shard, new Map([['ep_1', RESTING]]))
  clock.advance(10_000)
  await until(() => other.of('ep_1')?.pending === 0)
  expect(other.of('ep_1')).toEqual(RESTING)
  expect([...(await log.table(HEALTH_TABLE).load()).values()]).toEqual([{ kind: 'shard', endpoints: {} }])
})
