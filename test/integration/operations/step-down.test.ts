/** An operator moves the lead on Kafka: any node takes the order, another node leads, and no announcement is lost or repeated. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts'
import type { BridgeProcess } from '../../support/bridge-process.ts'
import { bearer, eventually, getJson, pullAll } from '../../support/http/api-client.ts'
import { sharedBrokers } from '../../support/kafka/for-tests.ts'
import { kafkaNodesOfTest } from '../../support/kafka/kafka-nodes.ts'
import { statusOf } from '../../support/product/bridge-status.ts'
import { compare, expectComplete } from '../../support/worlds/completeness.ts'

const brokers = await sharedBrokers()

describe.skipIf(brokers === null)('an order to step down on Kafka', () => {
  let sandbox: Sandbox
  beforeAll(async () => {
    sandbox = await startSandbox(
      { scenario: 'demo', plan: 'advanced', weeklyQuota: 1_000_000, seed: 9 },
      { clock: systemClock },
    )
  })
  afterAll(() => sandbox?.close())

  it('moves the lead there and back, while both processes go on, and is refused to the last one', async () => {
    const start = kafkaNodesOfTest('stepping', brokers, sandbox, { BRIDGE_BACKFILL: 'P1D' })
    const first = await start('poller,api')
    await eventually(
      () => statusOf(first),
      ({ leader, upstream }) => leader.self && upstream.state === 'ok',
    )
    expect(await stepDown(first)).toMatchObject([409, { code: 'not_now' }])
    const second = await start('poller,api')
    // Each node lists the other within its next row.
    await eventually(
      () => getJson<{ data: { roles: string[]; state: string }[] }>(`${first.ready.http}/v1/nodes`),
      ({ data }) => data.filter(({ state }) => state === 'up').length === 2,
      60_000,
    )
    const before = await statusOf(first)
    // Asked of the node that does not lead.
    await eventually(
      () => statusOf(second),
      ({ leader }) => leader.id === before.leader.id,
    )
    expect(await stepDown(second)).toEqual([200, { node: before.leader.id }])
    await eventually(
      () => statusOf(second),
      ({ leader, upstream }) => leader.self && upstream.lastGoodPoll !== null,
      60_000,
    )
    const after = await eventually(
      () => statusOf(first),
      ({ leader }) => !leader.self && leader.id !== before.leader.id,
      60_000,
    )
    expect(await stepDown(first)).toEqual([200, { node: after.leader.id }])
    await eventually(
      () => statusOf(first),
      ({ leader }) => leader.self,
      60_000,
    )
    expect(first.stderr()).toContain('leader.step_down_ordered')
    expect(second.stderr()).toContain('leader.step_down_ordered')
    const truth = [...sandbox.truth().items]
    const events = await eventually(
      () => pullAll(second.ready.http),
      (pulled) => compare(truth, pulled).missing.length === 0,
      60_000,
    )
    expectComplete(truth, events)
  }, 240_000)
})

async function stepDown({ ready }: BridgeProcess): Promise<[status: number, body: unknown]> {
  const response = await fetch(`${ready.http}/v1/admin/leader/step-down`, { method: 'POST', headers: bearer })
  return [response.status, await response.json()]
}
