/** Tests the audit journal over one Kafka: two nodes with the role `api` list the same changes, also after one was down. */
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { startSandbox } from '../../../src/sandbox/sandbox.ts'
import { ADMIN_TOKEN, temporaryDirectory } from '../../support/bridge-process.ts'
import { bearer, eventually, getJson } from '../../support/http/api-client.ts'
import { sharedBrokers } from '../../support/kafka/for-tests.ts'
import { kafkaNodes } from '../../support/kafka/kafka-nodes.ts'

const brokers = await sharedBrokers()

interface Entry {
  action: string
  outcome: string
  target: string | null
}

describe.skipIf(brokers === null)('the audit journal on Kafka', () => {
  it('lists the changes of all nodes alike on each, also of the time in which it was down', async () => {
    using own = temporaryDirectory()
    using other = temporaryDirectory()
    const sandbox = await startSandbox(
      { scenario: 'demo', plan: 'advanced', weeklyQuota: 1_000_000 },
      { clock: systemClock },
    )
    const start = kafkaNodes('audit', brokers, sandbox)
    const first = await start(own.path, 'poller,api')
    let second = await start(other.path, 'api')
    const create = async (base: string, name: string): Promise<string> => {
      const response = await fetch(`${base}/v1/tokens`, {
        method: 'POST',
        headers: { ...bearer, 'content-type': 'application/json' },
        body: JSON.stringify({ tenant: 'desk', scopes: ['events:read'], name }),
      })
      expect(response.status).toBe(201)
      return ((await response.json()) as { id: string }).id
    }
    const list = async (base: string): Promise<Entry[]> =>
      (await getJson<{ data: Entry[] }>(`${base}/v1/audit`)).data
    const bothList = async (ids: string[]): Promise<void> => {
      const [here] = await eventually(
        () => Promise.all([list(first.ready.http), list(second.ready.http)]),
        ([one, two]) =>
          isDeepStrictEqual(one, two) &&
          one.length === ids.length &&
          one.every(({ outcome }) => outcome === 'done'),
        30_000,
      )
      expect(here.map(({ action, target }) => [action, target])).toEqual(
        [...ids].reverse().map((id) => ['token.created', id]),
      )
    }
    try {
      const ids = [await create(first.ready.http, 'one'), await create(second.ready.http, 'two')]
      await bothList(ids)
      await second.stop()
      ids.push(await create(first.ready.http, 'three'))
      second = await start(other.path, 'api')
      await bothList(ids)
      expect(JSON.stringify(await list(second.ready.http))).not.toContain(ADMIN_TOKEN)
    } finally {
      await Promise.all([first.stop(), second.stop()])
      await sandbox.close()
    }
  }, 120_000)
})
