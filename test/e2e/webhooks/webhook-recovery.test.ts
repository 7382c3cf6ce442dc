/** Tests replays, test events and notifications in the started product, over a log that has events already. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { type BridgeProcess, temporaryDirectory } from '../../support/bridge-process.ts'
import { bearer, eventually, getJson } from '../../support/http/api-client.ts'
import { eventAt } from '../../support/store.ts'
import { startWithoutUpstream, storeEvents } from '../../support/webhooks/bridge-over-events.ts'
import { askEndpoints, sequencesOf } from '../../support/webhooks/endpoint-api.ts'
import { startReceiver } from '../../support/webhooks/webhook-receiver.ts'

const EVENTS = 2100
const SLOTS = 16
/** The receiver's response time: the replay lasts some seconds, and is killed during them. */
const ANSWER_MS = 20

const directory = temporaryDirectory()
let bridge: BridgeProcess

const start = () => startWithoutUpstream(directory.path)

beforeAll(async () => {
  await storeEvents(directory.path, EVENTS)
  bridge = await start()
})
afterAll(async () => {
  await bridge.stop()
  directory[Symbol.dispose]()
})

async function kill(): Promise<void> {
  await bridge.stop('SIGKILL')
  bridge = await start()
}

async function post(path: string, body?: object): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(`${bridge.ready.http}/v1/webhooks/${path}`, {
    method: 'POST',
    headers: { ...bearer, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

const make = (body: object) => askEndpoints(bridge.ready.http, 'POST', '', body)

describe('a replay', () => {
  it('that was acknowledged completes over two kill -9, at once and in its middle; repeats stay within the slots', async () => {
    await using receiver = await startReceiver((response) => {
      systemClock.after(ANSWER_MS, () => response.writeHead(204).end())
    })
    const { id, secret } = await make({ url: receiver.url, maxConcurrency: SLOTS })
    const window = { since: eventAt(101).time }
    expect((await post(`${id}/replay`, { ...window, dryRun: true })).body).toEqual({
      id: null,
      count: 2000,
      waiting: 0,
      more: false,
    })
    const begun = await post(`${id}/replay`, window)
    expect([begun.status, begun.body.count]).toEqual([202, 2000])
    await kill()
    const received = await eventually(
      () => receiver.received.length,
      (count) => count > 300,
      30_000,
    )
    await kill()
    expect(received).toBeLessThan(2000)
    const got = await eventually(
      () => new Set(sequencesOf(receiver.received)),
      ({ size }) => size >= 2000,
      60_000,
    )
    expect([...got].sort((one, other) => one - other)).toEqual(
      Array.from({ length: 2000 }, (_, index) => 101 + index),
    )
    expect(new Set(receiver.verify(secret)).size).toBe(receiver.received.length)
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(2000)
    expect(receiver.received.length - 2000).toBeLessThanOrEqual(2 * SLOTS)
    await askEndpoints(bridge.ready.http, 'DELETE', `/${id}`)
  })
})

describe('a running bridge', () => {
  it('sends and lists a test, and notifies other endpoints of a disabled one despite a kill -9', async () => {
    await using told = await startReceiver((response, _request, count) => {
      response.writeHead(count === 2 ? 503 : 204).end()
    })
    await using gone = await startReceiver((response) => response.writeHead(410).end())
    const filter = { types: ['webhook.disabled'] }
    const { id: toldId, secret } = await make({ url: told.url, filter })
    const test = await post(`${toldId}/test`)
    expect(test).toMatchObject({ status: 200, body: { status: 204, outcome: 'ok' } })
    const listed = (webhookIds: string[]) =>
      eventually(
        () =>
          getJson<{ data: { webhookId: string }[] }>(
            `${bridge.ready.http}/v1/webhooks/${toldId}/attempts?outcome=ok`,
          ),
        ({ data }) => data.map(({ webhookId }) => webhookId).join() === webhookIds.join(),
      )
    // It is written a quarter of a second later; a kill before that would lose it.
    await listed([String(test.body.webhookId)])
    const { id: goneId } = await make({ url: gone.url, since: eventAt(EVENTS).time, description: 'the desk' })
    await eventually(
      () => told.received.length,
      (count) => count === 2,
    )
    await kill()
    expect(await askEndpoints(bridge.ready.http, 'GET', `/${goneId}`)).toMatchObject({ status: 'disabled' })
    await eventually(
      () => told.received.length,
      (count) => count === 3,
    )
    const notice = {
      type: 'webhook.disabled.v1',
      data: { endpointId: goneId, description: 'the desk', reason: 'gone' },
    }
    expect(told.verify(secret)).toMatchObject([
      { type: 'webhook.test.v1', data: { endpointId: toldId } },
      notice,
      notice,
    ])
    const [tested, first, again] = told.received.map(({ headers }) => String(headers['webhook-id']))
    expect(again).toBe(first)
    await listed([String(again), String(tested)])
  })
})
