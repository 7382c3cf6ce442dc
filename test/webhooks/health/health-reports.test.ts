import { expect, onTestFinished, test } from 'vitest'
import type { DeliveryStanding } from '../../../src/webhooks/delivery-state/endpoint-state.ts'
import { HEALTH_TABLE, HealthReports } from '../../../src/webhooks/health/health-reports.ts'
import { shardOf } from '../../../src/webhooks/worker/shard-of.ts'
import { until } from '../../support/http/api-server.ts'
import { keepingLogger } from '../../support/keeping-logger.ts'
import { createMemoryLog } from '../../support/memory-log.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

const FAILING: DeliveryStanding = {
  pending: 2,
  oldestMs: 5,
  dead: 1,
  forgotten: 3,
  failingSinceMs: 7,
  unreadAfter: null,
}
const EP = { id: 'ep_1', createdAtMs: 0 }
const RESTING: DeliveryStanding = {
  pending: 0,
  oldestMs: null,
  dead: 0,
  forgotten: 0,
  failingSinceMs: null,
  unreadAfter: null,
}

/** A node that publishes what `standings` has, and another that follows; until the test ends. */
function twoNodes(standings: Map<number, Map<string, DeliveryStanding>>) {
  const log = createMemoryLog()
  const clock = createManualClock()
  const stop = new AbortController()
  const node = () => new HealthReports({ log, clock, logger: keepingLogger().logger })
  const own = node()
  const other = node()
  const stopOwn = new AbortController()
  const running = [own.publish(() => standings, stopOwn.signal), other.follow(stop.signal)]
  onTestFinished(async () => {
    stopOwn.abort()
    stop.abort()
    await Promise.all(running)
  })
  return { log, clock, other, stopOwn }
}

test('another node reads within seconds how deliveries stand; endpoints at rest take no place in the log', async () => {
  const shard = shardOf('ep_1')
  const standings = new Map([[shard, new Map([['ep_1', FAILING]])]])
  const { log, clock, other } = twoNodes(standings)
  expect(other.of(EP)).toBeNull()
  clock.advance(10_000)
  await until(() => other.of(EP) !== null)
  expect(other.of(EP)).toEqual(FAILING)
  standings.set(shard, new Map([['ep_1', RESTING]]))
  clock.advance(10_000)
  await until(() => other.of(EP)?.pending === 0)
  expect(other.of(EP)).toEqual(RESTING)
  expect([...(await log.table(HEALTH_TABLE).load()).values()]).toEqual([{ kind: 'shard', endpoints: {} }])
})

test('what does not change stays known while somebody delivers, and is unknown minutes after nobody does', async () => {
  const { clock, other, stopOwn } = twoNodes(new Map([[shardOf('ep_1'), new Map([['ep_1', FAILING]])]]))
  for (let second = 0; second < 300; second += 10) {
    clock.advance(10_000)
    await until(() => other.of(EP) !== null)
  }
  stopOwn.abort()
  clock.advance(100_000)
  expect(other.of(EP)).toEqual(FAILING)
  clock.advance(60_000)
  expect(other.of(EP)).toBeNull()
})

test('a report does not speak of an endpoint that was created after it', async () => {
  const { clock, other } = twoNodes(new Map([[shardOf('ep_1'), new Map([['ep_2', RESTING]])]]))
  clock.advance(10_000)
  await until(() => other.of(EP) !== null)
  expect(other.of(EP)).toEqual(RESTING)
  expect(other.of({ id: 'ep_1', createdAtMs: clock.now() + 1 })).toBeNull()
})

test('a report of the build before, which did not count forgotten deliveries, is read', async () => {
  const { log, other } = twoNodes(new Map())
  const { forgotten: _, ...older } = FAILING
  await log.table(HEALTH_TABLE).put(`${shardOf('ep_1')}`, { kind: 'shard', endpoints: { ep_1: older } })
  await until(() => other.of(EP) !== null)
  expect(other.of(EP)).toEqual({ ...FAILING, forgotten: 0 })
})
