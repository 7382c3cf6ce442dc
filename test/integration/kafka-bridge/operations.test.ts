/** Tests that a node on Kafka which does not lead says how the leader works, and says plainly when no leader answers. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Arrivals } from '../../../src/api/operations/arrivals-route.ts'
import type { PollsAnswer } from '../../../src/api/operations/polls-route.ts'
import type { QuotaAnswer } from '../../../src/api/operations/quota-route.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts'
import type { BridgeProcess } from '../../support/bridge-process.ts'
import { bearer, eventually, getJson } from '../../support/http/api-client.ts'
import { sharedBrokers } from '../../support/kafka/for-tests.ts'
import { kafkaNodesOfTest } from '../../support/kafka/kafka-nodes.ts'

const brokers = await sharedBrokers()

describe.skipIf(brokers === null)('how it works, asked of nodes on Kafka', () => {
  let sandbox: Sandbox
  beforeAll(async () => {
    sandbox = await startSandbox(
      { scenario: 'quiet', plan: 'advanced', weeklyQuota: 1_000_000, seed: 3, backlog: 20 },
      { clock: systemClock },
    )
  })
  afterAll(() => sandbox?.close())

  it('a node that does not lead answers as the leader does, and 503 once no leader answers', async () => {
    const start = kafkaNodesOfTest('operations', brokers, sandbox, { BRIDGE_BACKFILL: 'P1D' })
    const leader = await start('all')
    const reader = await start('api')
    const [own, foreign] = await eventually(
      () => Promise.all([quotaOf(leader), quotaOf(reader)]),
      (both) => both.every(({ weekUnits }) => (weekUnits.poll ?? 0) > 1),
    )
    expect(foreign.plan).toEqual(own.plan)
    expect(Math.abs(Date.parse(foreign.asOf) - Date.now())).toBeLessThan(10_000)
    expect(foreign.data.map(({ expected }) => expected)).toEqual(own.data.map(({ expected }) => expected))
    const spent = Object.values(foreign.weekUnits).reduce((sum, units) => sum + units, 0)
    expect(spent).toBe(foreign.quota.used)
    const arrived = async (node: BridgeProcess): Promise<number> => {
      const { data } = await getJson<Arrivals>(`${node.ready.http}/v1/arrivals`)
      return data.reduce((sum, { byTime }) => sum + (byTime ?? 0), 0)
    }
    const count = await arrived(leader)
    await eventually(
      () => arrived(reader),
      (items) => items >= count,
    )
    const kept = await eventually(
      () => pollsOf(leader),
      ({ data }) => data.length > 2,
    )
    expect(kept.data[0]).toMatchObject({
      purpose: 'poll',
      result: expect.any(String),
      nextAfterSeconds: expect.any(Number),
    })
    await eventually(
      () => pollsOf(reader),
      ({ data }) => data.length >= kept.data.length,
    )
    await leader.stop('SIGKILL')
    const left = await pollsOf(reader)
    expect(left.data.slice(0, kept.data.length)).toEqual(kept.data)
    const refused = await eventually(
      () => fetch(`${reader.ready.http}/v1/quota`, { headers: bearer }),
      ({ status }) => status !== 200,
    )
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5'])
    expect(await refused.json()).toMatchObject({
      code: 'unavailable',
      detail: expect.stringContaining('no answer of the leading bridge within 10 s'),
    })
    expect(await arrived(reader)).toBeGreaterThanOrEqual(count)
    expect(await pollsOf(reader)).toEqual(left)
  })
})

function quotaOf({ ready }: BridgeProcess): Promise<QuotaAnswer> {
  return getJson<QuotaAnswer>(`${ready.http}/v1/quota`)
}

function pollsOf({ ready }: BridgeProcess): Promise<PollsAnswer> {
  return getJson<PollsAnswer>(`${ready.http}/v1/polls`)
}
