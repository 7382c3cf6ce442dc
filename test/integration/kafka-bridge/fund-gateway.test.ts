/**
 * Tests requests for fund data and exchange references over several processes on Kafka: any node accepts them, and the
 * leader sends the upstream request and counts its cost.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts'
import { ADMIN_TOKEN, bridgeEnv, startBridge, temporaryDirectory } from '../../support/bridge-process.ts'
import { eventually } from '../../support/http/api-client.ts'
import { uniqueName } from '../../support/kafka/clients.ts'
import { sharedBrokers } from '../../support/kafka/for-tests.ts'

const brokers = await sharedBrokers()

describe.skipIf(brokers === null)('requests to the leader on Kafka', () => {
  let sandbox: Sandbox
  const kafka = {
    BRIDGE_KAFKA_BROKERS: (brokers ?? []).join(','),
    BRIDGE_TOPIC_PREFIX: uniqueName('funds'),
    BRIDGE_UPSTREAM_PLAN: 'advanced',
    BRIDGE_GATEWAY_WEEKLY_UNITS: '50',
    // Two seconds, as in other tests, are too few for a leader that steps down on a busy machine.
    BRIDGE_DRAIN_TIMEOUT: 'PT10S',
  }

  beforeAll(async () => {
    sandbox = await startSandbox(
      { scenario: 'quiet', plan: 'advanced', weeklyQuota: 1_000_000 },
      { clock: systemClock },
    )
  })
  afterAll(() => sandbox?.close())

  const start = (dataDir: string, roles: string) =>
    startBridge(bridgeEnv(sandbox, dataDir, { ...kafka, BRIDGE_ROLES: roles }))

  async function ask(base: string, path: string, key = ADMIN_TOKEN) {
    const response = await fetch(`${base}${path}`, { headers: { 'x-api-key': key } })
    const { status, headers } = response
    return { status, retryAfter: headers.get('retry-after'), text: await response.text() }
  }

  async function quotaUsed(http: string): Promise<number> {
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
    const status = (await (await fetch(`${http}/v1/status`, { headers })).json()) as {
      quota: { used: number }
    }
    return status.quota.used
  }

  async function leads(http: string): Promise<boolean> {
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` }
    const response = await fetch(`${http}/v1/status`, { headers })
    const { leader, upstream } = (await response.json()) as {
      leader: { self: boolean }
      upstream: { lastGoodPoll: string | null }
    }
    return leader.self && upstream.lastGoodPoll !== null
  }

  it('for references are answered within two seconds by a node that does not lead, and need no leader later', async () => {
    using first = temporaryDirectory()
    using second = temporaryDirectory()
    const reader = await start(second.path, 'api')
    const leader = await start(first.path, 'poller,api')
    await eventually(() => leads(leader.ready.http), Boolean)
    const at = `${reader.ready.http}/v2`
    for (const path of ['/XLON', '?pageSize=200', '/XPAR', '/XXXX']) {
      const startMs = performance.now()
      const ours = await ask(at, `/references/exchanges${path}`)
      const tookMs = performance.now() - startMs
      expect([path, ours]).toEqual([path, await ask(sandbox.url, `/references/exchanges${path}`)])
      expect(tookMs).toBeLessThan(2_000)
    }
    await leader.stop('SIGKILL')
    for (const path of ['', '/XPAR']) {
      expect((await ask(at, `/references/exchanges${path}`)).status).toBe(200)
    }
    expect(await ask(at, '/references/exchanges/XWBO')).toMatchObject({ status: 503, retryAfter: '5' })
    expect(await reader.stop()).toBe(0)
  })

  it('go through the leader; without one they answer 503 with Retry-After until the next leader takes over', async () => {
    using first = temporaryDirectory()
    using second = temporaryDirectory()
    using third = temporaryDirectory()
    const reader = await start(second.path, 'api')
    const leader = await start(first.path, 'poller,api')
    const at = `${reader.ready.http}/v2`
    const passed = await eventually(
      () => ask(at, '/nav?pageSize=3'),
      ({ status }) => status === 200,
    )
    const before = sandbox.usage().units
    const direct = await ask(sandbox.url, '/nav?pageSize=3', sandbox.key)
    expect(passed.text).toBe(direct.text)
    expect(await ask(`${leader.ready.http}/v2`, '/nav?pageSize=3')).toEqual(passed)
    // One request went to the sandbox directly, the rest are polls: the leader's count is never lower.
    await eventually(
      async () => (await quotaUsed(leader.ready.http)) - (sandbox.usage().units - 1),
      (more) => more === 0,
    )
    expect(sandbox.usage().units).toBeGreaterThan(before)

    await leader.stop('SIGKILL')
    const units = sandbox.usage().units
    const refused = await ask(at, '/nav?pageSize=4')
    expect(refused).toMatchObject({ status: 503, retryAfter: expect.stringMatching(/^\d+$/) })
    expect(sandbox.usage().units).toBe(units)

    const successor = await start(third.path, 'poller,api')
    const again = await eventually(
      () => ask(at, '/nav?pageSize=4'),
      ({ status }) => status === 200,
    )
    expect(again.text).toBe((await ask(sandbox.url, '/nav?pageSize=4', sandbox.key)).text)
    expect(await Promise.all([reader.stop(), successor.stop()])).toEqual([0, 0])
  })
})
