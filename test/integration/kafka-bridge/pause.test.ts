/** A pause of polling on Kafka: asked of a follower, kept over a takeover, ended by the new leader. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts'
import type { BridgeProcess } from '../../support/bridge-process.ts'
import { bearer, eventually, pullAll } from '../../support/http/api-client.ts'
import { sharedBrokers } from '../../support/kafka/for-tests.ts'
import { kafkaNodesOfTest } from '../../support/kafka/kafka-nodes.ts'
import { statusOf } from '../../support/product/bridge-status.ts'
import { compare, expectComplete } from '../../support/worlds/completeness.ts'

const brokers = await sharedBrokers()

describe.skipIf(brokers === null)('a pause on Kafka', () => {
  let sandbox: Sandbox
  beforeAll(async () => {
    sandbox = await startSandbox(
      { scenario: 'quiet', plan: 'advanced', weeklyQuota: 1_000_000, seed: 9, backlog: 20 },
      { clock: systemClock },
    )
  })
  afterAll(() => sandbox?.close())

  it('holds on every node and over a takeover, until any node is asked to resume', async () => {
    const start = kafkaNodesOfTest('paused', brokers, sandbox, { BRIDGE_BACKFILL: 'P1D' })
    const first = await start('poller,api')
    await eventually(
      () => statusOf(first),
      ({ leader, upstream }) => leader.self && upstream.state === 'ok',
    )
    const second = await start('poller,api')
    expect(await post(second, 'pause', { reason: 'brokers move' })).toMatchObject({ paused: true })
    for (const node of [first, second]) {
      const status = await eventually(
        () => statusOf(node),
        ({ polling, upstream }) => polling.paused === true && upstream.nextPoll === null,
      )
      expect(status.polling).toMatchObject({ by: 'settings', reason: 'brokers move' })
    }
    await eventually(() => metricsOf(first), says('bridge_polling_paused 1'))
    expect(await metricsOf(second)).not.toMatch(/^bridge_polling_paused /m)
    // A poll that began before the pause may still leave.
    await afterThreePolls(sandbox)
    const { units } = sandbox.usage()
    publish(sandbox, 150)
    await first.stop('SIGKILL')
    await eventually(
      () => statusOf(second),
      ({ leader, polling }) => leader.self && polling.paused === true,
      60_000,
    )
    await eventually(() => metricsOf(second), says('bridge_polling_paused 1'))
    // The new leader would have polled at once.
    await afterThreePolls(sandbox)
    expect(sandbox.usage().units).toBe(units)
    expect(await post(second, 'resume')).toMatchObject({ paused: false })
    const truth = [...sandbox.truth().items]
    const events = await eventually(
      () => pullAll(second.ready.http),
      (pulled) => compare(truth, pulled).missing.length === 0,
      60_000,
    )
    expectComplete(truth, events)
  }, 240_000)
})

async function post({ ready }: BridgeProcess, verb: string, body: object = {}): Promise<unknown> {
  const response = await fetch(`${ready.http}/v1/admin/polling/${verb}`, {
    method: 'POST',
    headers: { ...bearer, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  expect(response.status).toBe(200)
  return response.json()
}

function publish(sandbox: Sandbox, count: number): void {
  const timestamp = new Date(sandbox.marketNow()).toISOString()
  sandbox.publish(
    Array.from({ length: count }, (_, n) => ({
      guid: `urn:newsml:example:paused:${n}`,
      timestamp,
      headline: `Item ${n}`,
      issuer: { name: 'Alpha' },
    })),
  )
}

function afterThreePolls(sandbox: Sandbox): Promise<unknown> {
  const untilMs = sandbox.marketNow() + 3000
  return eventually(
    () => sandbox.marketNow(),
    (nowMs) => nowMs >= untilMs,
  )
}

async function metricsOf({ ready }: BridgeProcess): Promise<string> {
  return (await fetch(`${ready.ops}/metrics`)).text()
}

const says = (line: string) => (text: string) => text.includes(`\n${line}\n`)
