/** Tests that a leading bridge goes on by itself, within seconds, after topics of categories with traffic were deleted. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { type Sandbox, startSandbox } from '../../../src/sandbox/sandbox.ts'
import { bridgeEnv, startBridge, temporaryDirectory } from '../../support/bridge-process.ts'
import { eventually, pullAll } from '../../support/http/api-client.ts'
import { kafkaClient, uniqueName } from '../../support/kafka/clients.ts'
import { sharedBrokers } from '../../support/kafka/for-tests.ts'

const brokers = (await sharedBrokers()) ?? []
/** The write that fails takes two seconds, the wait for the brokers and the claim less than one. */
const SOON_MS = 15_000

describe.skipIf(brokers.length === 0)('a leading bridge whose category topics are deleted', () => {
  let sandbox: Sandbox

  beforeAll(async () => {
    const flood = { scenario: 'flood', plan: 'advanced', weeklyQuota: 1_000_000, seed: 5 } as const
    sandbox = await startSandbox(flood, { clock: systemClock })
  })
  afterAll(() => sandbox?.close())

  it('makes them again and publishes what comes', async () => {
    using directory = temporaryDirectory()
    const prefix = uniqueName('deleted')
    const bridge = await startBridge(
      bridgeEnv(sandbox, directory.path, {
        BRIDGE_KAFKA_BROKERS: brokers.join(','),
        BRIDGE_TOPIC_PREFIX: prefix,
        BRIDGE_UPSTREAM_PLAN: 'advanced',
      }),
    )
    const published = () => pullAll(bridge.ready.http)
    await eventually(published, (events) => events.length > 0)
    const admin = kafkaClient(brokers).admin()
    await admin.connect()
    const own = (topic: string) => topic.startsWith(`${prefix}.fca.`) || topic.startsWith(`${prefix}.native.`)
    const topics = (await admin.listTopics()).filter(own)
    await admin.deleteTopics({ topics })
    const before = (await published()).length
    const after = await eventually(published, (events) => events.length > before + 20, SOON_MS)
    expect(after.length).toBeGreaterThan(before)
    expect(await admin.listTopics()).toEqual(expect.arrayContaining(topics))
    await admin.disconnect()
    expect(await bridge.stop()).toBe(0)
  })
})
