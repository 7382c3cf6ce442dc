import { createHmac, createSecretKey } from 'node:crypto'
import { expect, test } from 'vitest'
import type { DeliveryEndpoint } from '../../../src/webhooks/delivery-state/endpoint-state.ts'
import { postEvent, tryDelivery } from '../../../src/webhooks/send/delivery.ts'
import { DeliveryEvents } from '../../../src/webhooks/send/delivery-events.ts'
import { createStore } from '../../support/store.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

test('a retry carries the time of its own attempt and a signature over it, or receivers refuse it as a replay', async () => {
  const clock = createManualClock()
  const key = Buffer.alloc(32, 1)
  const endpoint = { id: 'ep_1', keys: [createSecretKey(key)], headers: {} } as unknown as DeliveryEndpoint
  const body = Buffer.from('{"id":"urn:newsml:example:1","data":{}}')
  const sent: { headers: Readonly<Record<string, string>>; atMs: number }[] = []
  const means = {
    clock,
    chance: () => 0.5,
    attempt: async (_: DeliveryEndpoint, { headers }: { headers: Readonly<Record<string, string>> }) => {
      sent.push({ headers, atMs: clock.now() })
      return { end: { kind: 'aborted' } } as never
    },
  }
  for (const waitMs of [0, 5000, 10 * 3_600_000]) {
    clock.advance(waitMs)
    await postEvent(endpoint, { eventId: 'urn:newsml:example:1', body }, means, {
      signal: new AbortController().signal,
      mayLeave: () => true,
    })
  }
  const ids = new Set(sent.map(({ headers }) => headers['webhook-id']))
  expect(ids.size).toBe(1)
  for (const { headers, atMs } of sent) {
    const timestamp = String(Math.floor(atMs / 1000))
    const signature = createHmac('sha256', key)
      .update(`${headers['webhook-id']}.${timestamp}.`)
      .update(body)
      .digest('base64')
    expect(headers).toMatchObject({ 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` })
  }
})

test('a delivery is not sent with the body of another event that has its sequence in a new epoch', async () => {
  const clock = createManualClock()
  const { signal } = new AbortController()
  const endpoint = { id: 'ep_1', keys: [createSecretKey(Buffer.alloc(32, 1))], headers: {} }
  const old = new DeliveryEvents(createStore(clock, 3).reader)
  const events = new DeliveryEvents(createStore(clock, 3, 1, 'Epoch002').reader)
  const found = await old.find(2, signal)
  if (found.kind !== 'event') throw new Error('the event is stored')
  const attempt = () => Promise.reject(new Error('nothing may be sent'))
  const start = { delivery: found.event.matched, attempt: 1, sort: 'first' } as const
  const means = { clock, chance: () => 0.5, attempt, events }
  const tried = await tryDelivery(endpoint as unknown as DeliveryEndpoint, start, means, {
    signal,
    mayLeave: () => true,
  })
  expect(tried).toEqual({ kind: 'later' })
})
