/**
 * Tests how the started product treats receivers that limit, fail, move and stop: pauses, retries, stops and what makes
 * waiting deliveries due.
 */
import { Socket } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SECOND_MS } from '../../../src/core/durations.ts'
import { systemClock } from '../../../src/lifecycle/clock.ts'
import { type BridgeProcess, temporaryDirectory } from '../../support/bridge-process.ts'
import { bearer, eventually } from '../../support/http/api-client.ts'
import { goal } from '../../support/quiet-machine.ts'
import { startWithoutUpstream, storeEvents } from '../../support/webhooks/bridge-over-events.ts'
import { type ConnectProxy, startConnectProxy } from '../../support/webhooks/connect-proxy.ts'
import { askEndpoints, sequencesOf } from '../../support/webhooks/endpoint-api.ts'
import { startReceiver, type WebhookReceiver } from '../../support/webhooks/webhook-receiver.ts'

const EVENTS = 300
const ALL = { since: '2000-01-01' }
/** How long a connection through the proxy takes. */
const CONNECT_MS = 1500
/** After an answered stop, what has left already may still arrive for so long. */
const UNDER_WAY_MS = 100

const directory = temporaryDirectory()
let bridge: BridgeProcess

const pause = (forMs: number) => new Promise<void>((resolve) => void systemClock.after(forMs, resolve))
const start = (settings: Record<string, string> = {}) => startWithoutUpstream(directory.path, settings)
const make = (body: object) => askEndpoints(bridge.ready.http, 'POST', '', { ...ALL, ...body })
const ask = (method: string, path: string, body?: object) =>
  askEndpoints(bridge.ready.http, method, `/${path}`, body)

beforeAll(async () => {
  await storeEvents(directory.path, EVENTS)
  bridge = await start()
})
afterAll(async () => {
  await bridge.stop()
  directory[Symbol.dispose]()
})

/** A receiver that keeps when each event came, and gives each answer by the count of its tries. */
async function timedReceiver(
  statusOf: (sequence: number, tries: number) => number,
  headers: Record<string, string> = {},
) {
  const times = new Map<number, number[]>()
  const accepted = new Map<number, number>()
  const receiver = await startReceiver((response, received) => {
    const [sequence = 0] = sequencesOf([received])
    const own = times.get(sequence) ?? []
    times.set(sequence, [...own, systemClock.now()])
    const status = statusOf(sequence, own.length + 1)
    if (status === 204) accepted.set(sequence, systemClock.now())
    response.writeHead(status, status === 204 ? {} : headers).end()
  })
  return { receiver, times, accepted }
}

describe('a receiver', () => {
  it('that asks for a pause gets nothing before it is over, first tries neither', async () => {
    let askedMs = 0
    const { receiver, times } = await timedReceiver(
      () => {
        if (askedMs === 0) askedMs = systemClock.now()
        return systemClock.now() - askedMs < 2 * SECOND_MS ? 503 : 204
      },
      { 'retry-after': '3' },
    )
    await using _ = receiver
    const { id } = await make({ url: receiver.url, maxConcurrency: 1 })
    await eventually(
      () => times.size,
      (size) => size > 20,
    )
    const [first = 0, second = 0] = [...times.values()].flat().sort((one, other) => one - other)
    expect(second - first).toBeGreaterThanOrEqual(3 * SECOND_MS - 20)
    expect(second - first).toBeLessThan(4 * SECOND_MS)
    await ask('DELETE', id)
  })

  it('that takes ten a second gets 300 events in 32 s, and one that fails 45 % twice by their own schedule', async () => {
    let [windowMs, count] = [0, 0]
    const limited = await timedReceiver(
      () => {
        const nowMs = systemClock.now()
        if (nowMs - windowMs >= SECOND_MS) [windowMs, count] = [nowMs, 0]
        count += 1
        return count <= 10 ? 204 : 429
      },
      { 'retry-after': '1' },
    )
    const failing = await timedReceiver((sequence, tries) =>
      (sequence * 7919) % 100 < 45 && tries <= 2 ? 500 : 204,
    )
    await using _limited = limited.receiver
    await using _failing = failing.receiver
    const beganMs = systemClock.now()
    const ids = [await make({ url: limited.receiver.url }), await make({ url: failing.receiver.url })]
    await eventually(
      () => [limited.accepted.size, failing.accepted.size],
      (sizes) => sizes.every((size) => size === EVENTS),
      60_000,
    )
    expect(Math.max(...limited.accepted.values()) - beganMs).toBeLessThanOrEqual(goal(32, 60) * SECOND_MS)
    for (const times of failing.times.values()) {
      const waits = times.slice(1).map((time, at) => time - (times[at] ?? 0))
      for (const [at, planned] of [5, 30].entries()) {
        expect(waits[at] ?? 0).toBeLessThanOrEqual((planned * 1.1 + 10) * SECOND_MS)
      }
    }
    for (const { id } of ids) await ask('DELETE', id)
  }, 90_000)

  it('that answers 410 at its former address does not disable the endpoint', async () => {
    const held: (() => void)[] = []
    await using former = await startReceiver((response) => {
      held.push(() => response.writeHead(410).end())
    })
    await using present = await startReceiver()
    const { id } = await make({ url: former.url, maxConcurrency: 4 })
    await eventually(
      () => held.length,
      (length) => length === 4,
    )
    await ask('PATCH', id, { url: present.url })
    for (const answer of held) answer()
    const got = await eventually(
      () => new Set(sequencesOf(present.received)),
      ({ size }) => size === EVENTS,
    )
    expect(got.size).toBe(EVENTS)
    expect((await ask('GET', id)).status).toBe('active')
    await ask('DELETE', id)
  })
})

describe('what waits for a retry', () => {
  it.each([
    ['a replay', (id: string) => ask('POST', `${id}/replay`, ALL)],
    ['a test that succeeds', (id: string) => ask('POST', `${id}/test`)],
    ['enabling, though it is active', (id: string) => ask('POST', `${id}/enable`)],
    [
      'a pause and its end',
      async (id: string) => {
        await ask('PATCH', id, { status: 'paused' })
        await ask('PATCH', id, { status: 'active' })
      },
    ],
  ])('is due at once after %s', async (_, hasten) => {
    let isRepaired = false
    const { receiver, times, accepted } = await timedReceiver((sequence) =>
      sequence <= 5 && !isRepaired ? 500 : 204,
    )
    await using _receiver = receiver
    const { id } = await make({ url: receiver.url })
    await eventually(
      () => [1, 2, 3, 4, 5].every((sequence) => times.get(sequence)?.length === 2),
      (isTriedTwice) => isTriedTwice,
    )
    await pause(300)
    isRepaired = true
    const askedMs = systemClock.now()
    await hasten(id)
    await eventually(
      () => [1, 2, 3, 4, 5].every((sequence) => accepted.has(sequence)),
      (isAccepted) => isAccepted,
    )
    const lastMs = Math.max(...[1, 2, 3, 4, 5].map((sequence) => accepted.get(sequence) ?? 0))
    expect(lastMs - askedMs).toBeLessThan(3 * SECOND_MS)
    await ask('DELETE', id)
  })

  it('is counted by the answer to a replay', async () => {
    const { receiver, times } = await timedReceiver((sequence) => (sequence <= 5 ? 500 : 204))
    await using _ = receiver
    const { id } = await make({ url: receiver.url })
    await eventually(
      () => times.size,
      (size) => size === EVENTS,
    )
    const counted = async (): Promise<unknown> => {
      const response = await fetch(`${bridge.ready.http}/v1/webhooks/${id}/replay`, {
        method: 'POST',
        headers: { ...bearer, 'content-type': 'application/json' },
        body: JSON.stringify({ ...ALL, dryRun: true }),
      })
      return await response.json()
    }
    // Once the outcome of the last attempt is stored.
    const expected = { id: null, count: EVENTS, waiting: 5, more: false }
    await eventually(counted, (count) => isDeepStrictEqual(count, expected))
    await ask('DELETE', id)
  })
})

describe('over connections that take long', () => {
  let proxy: ConnectProxy
  let receiver: WebhookReceiver

  beforeAll(async () => {
    proxy = await startConnectProxy({
      onward: (target) => {
        const { hostname, port } = new URL(`http://${target}`)
        const socket = new Socket()
        systemClock.after(CONNECT_MS, () => socket.connect(Number(port), hostname))
        return socket
      },
    })
    receiver = await startReceiver()
    await bridge.stop()
    bridge = await start({ BRIDGE_WEBHOOK_PROXY: proxy.url })
  })
  afterAll(async () => {
    await receiver[Symbol.asyncDispose]()
    await proxy[Symbol.asyncDispose]()
  })

  it.each([
    ['a deletion', (id: string) => ask('DELETE', id)],
    ['disabling', (id: string) => ask('POST', `${id}/disable`)],
    ['a pause', (id: string) => ask('PATCH', id, { status: 'paused' })],
  ])('nothing leaves any more once %s was answered', async (_, stop) => {
    await using own = await startReceiver()
    const asked = proxy.asked.length
    const { id } = await make({ url: own.url })
    await eventually(
      () => proxy.asked.length,
      (length) => length >= asked + 8,
    )
    await stop(id)
    await pause(UNDER_WAY_MS)
    const before = own.received.length
    await pause(2 * CONNECT_MS)
    expect(own.received.length).toBe(before)
  })

  it('an endpoint that was paused before its first connection delivers everything once it is active again', async () => {
    const before = receiver.received.length
    const asked = proxy.asked.length
    const { id } = await make({ url: receiver.url, maxConcurrency: 64 })
    await eventually(
      () => proxy.asked.length,
      (length) => length > asked,
    )
    await ask('PATCH', id, { status: 'paused' })
    await ask('PATCH', id, { status: 'active' })
    const got = await eventually(
      () => new Set(sequencesOf(receiver.received.slice(before))),
      ({ size }) => size === EVENTS,
    )
    expect(got.size).toBe(EVENTS)
    await ask('DELETE', id)
  })
})
