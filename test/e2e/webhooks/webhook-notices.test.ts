/** Tests the notifications of dead deliveries and of recovery in the started product, and the health beside them. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { HOUR_MS } from '../../../src/core/durations.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import type { DeliveryRow } from '../../../src/webhooks/delivery-state/delivery-rows.ts'
import { MOST_TRIES } from '../../../src/webhooks/delivery-state/outcome.ts'
import { SHARD_COUNT, SHARDS } from '../../../src/webhooks/worker/shard-of.ts'
import { type BridgeProcess, temporaryDirectory } from '../../support/bridge-process.ts'
import { eventually } from '../../support/http/api-client.ts'
import { eventAt } from '../../support/store.ts'
import { onLog, startWithoutUpstream, storeEvents } from '../../support/webhooks/bridge-over-events.ts'
import { askEndpoints } from '../../support/webhooks/endpoint-api.ts'
import { type Received, startReceiver } from '../../support/webhooks/webhook-receiver.ts'

const EVENTS = 20
const HOURS_MS = 2 * HOUR_MS

const directory = temporaryDirectory()
let bridge: BridgeProcess

const start = () => startWithoutUpstream(directory.path)
const ask = (method: string, path: string, body?: object) =>
  askEndpoints(bridge.ready.http, method, path, body)

beforeAll(async () => {
  await storeEvents(directory.path, EVENTS)
  bridge = await start()
})
afterAll(async () => {
  await bridge.stop()
  directory[Symbol.dispose]()
})

/** Two hours pass for the stopped bridge, in which everything that waits for a retry failed until one try is left. */
async function passHours(): Promise<void> {
  const nowMs = systemClock.now()
  const aged = (row: DeliveryRow): DeliveryRow => {
    if (row.kind === 'retry') return { ...row, tries: MOST_TRIES - 1, dueMs: nowMs }
    if (row.kind !== 'position' || row.failingSinceMs === null) return row
    return { ...row, failingSinceMs: row.failingSinceMs - HOURS_MS }
  }
  const stop = new AbortController()
  await onLog(directory.path, (log) =>
    log.shards<DeliveryRow>(SHARDS, SHARD_COUNT).own(async (shard) => {
      await shard.write([...shard.rows].map(([key, row]) => ({ key, value: aged(row) })))
      if (shard.number === SHARD_COUNT - 1) stop.abort()
    }, stop.signal),
  )
}

const typesOf = ({ received }: { received: readonly Received[] }): string[] =>
  received.flatMap(({ body }) => {
    const event = JSON.parse(body) as { type: string } | { type: string }[]
    return [event].flat().map(({ type }) => type)
  })

it('an owner is notified, over a kill -9, that deliveries were given up and that the endpoint works again; health follows', async () => {
  let works = false
  await using failing = await startReceiver((response) => response.writeHead(works ? 204 : 500).end())
  await using alone = await startReceiver()
  await using batched = await startReceiver((response, _, count) =>
    response.writeHead(count === 1 ? 503 : 204).end(),
  )
  await using deaf = await startReceiver()
  const types = ['webhook.exhausted', 'webhook.recovered']
  const one = await ask('POST', '', { url: alone.url, filter: { types } })
  const many = await ask('POST', '', { url: batched.url, filter: { types }, maxBatch: 5 })
  await ask('POST', '', { url: deaf.url, filter: { types: ['webhook.disabled'] } })
  const since = eventAt(EVENTS - 1).time
  const { id } = await ask('POST', '', {
    url: failing.url,
    since,
    description: 'the desk',
    maxConcurrency: 1,
  })
  const health = async () => (await ask('GET', `/${id}`)).health
  const waiting = await eventually(health, () => failing.received.length === 2)
  expect(waiting).toMatchObject({ pending: 2, oldestPending: since, dead: 0, lastSuccess: null })

  expect(await bridge.stop()).toBe(0)
  await passHours()
  bridge = await start()
  await eventually(
    () => failing.received.length,
    (count) => count === 4,
  )
  await eventually(
    () => [...typesOf(alone), ...typesOf(batched)],
    (all) => all.length >= 2,
  )
  const dead = await eventually(health, ({ pending }) => pending === 0)
  expect(dead).toMatchObject({ oldestPending: null, dead: 2, lastSuccess: null })
  expect(systemClock.now() - Date.parse(dead.failingSince ?? '')).toBeGreaterThan(HOURS_MS)
  expect(dead.p95Ms).toBeGreaterThanOrEqual(dead.p50Ms ?? Number.POSITIVE_INFINITY)

  // The batch endpoint refused its notification: that must outlive the kill, as must the dead deliveries.
  await bridge.stop('SIGKILL')
  bridge = await start()
  works = true
  await ask('POST', `/${id}/replay`, { since, dead: true })
  await eventually(
    () => [typesOf(alone), typesOf(batched)],
    ([two = [], three = []]) =>
      two.length === 2 && three.length === 3 && three.includes('webhook.recovered.v1'),
  )
  const after = await eventually(health, ({ pending, dead: left }) => pending === 0 && left === 0)
  expect(after.failingSince).toBeNull()
  const [exhausted, recovered] = alone.verify(one.secret)
  expect(exhausted).toMatchObject({
    type: 'webhook.exhausted.v1',
    data: { endpointId: id, description: 'the desk', count: 1, firstAt: expect.any(String) },
  })
  expect(recovered).toMatchObject({ data: { endpointId: id, troubledSince: dead.failingSince } })
  const arrays = batched.verify(many.secret)
  expect(arrays[0]).toEqual([exhausted])
  expect(arrays).toContainEqual([recovered])
  const [refused, ...others] = batched.received.map(({ headers }) => headers['webhook-id'])
  expect(others.filter((webhookId) => webhookId === refused)).toHaveLength(1)
  expect(batched.received[0]?.headers['content-type']).toMatch(/^application\/cloudevents-batch\+json/)
  expect(deaf.received).toEqual([])
})
