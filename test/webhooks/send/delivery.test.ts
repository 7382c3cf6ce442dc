import { createHash, createHmac, createSecretKey } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { storedEvent } from '../../../src/archive/store/stored.ts'
import { secretText, webhookId } from '../../../src/core/signature.ts'
import type { DeliveryEndpoint } from '../../../src/webhooks/delivery-state/endpoint-state.ts'
import { MOST_BATCH_BYTES, postEvent, tryDelivery } from '../../../src/webhooks/send/delivery.ts'
import { DeliveryEvents } from '../../../src/webhooks/send/delivery-events.ts'
import { createStore, EPOCH, eventAt } from '../../support/store.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

test('a retry carries the time of its own attempt and a signature over it, or receivers refuse it as a replay', async () => {
  const clock = createManualClock()
  const key = Buffer.alloc(32, 1)
  const endpoint = {
    id: 'ep_1',
    keys: [createSecretKey(key)],
    headers: {},
    maxBatch: null,
  } as unknown as DeliveryEndpoint
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

test('a delivery knows when the log stored its event, and when the bridge first held it', () => {
  const store = createStore(createManualClock(), 1)
  const committedMs = Date.parse(eventAt(2).recordedtime) + 4321
  store.archive.append([{ ...eventAt(2), committedMs }])
  const stored = storedEvent(store.archive.db, 2, EPOCH)
  if (stored === undefined) throw new Error('the event was appended')
  const recordedMs = Date.parse(eventAt(2).recordedtime)
  expect(new DeliveryEvents(store.reader).of(stored).matched).toMatchObject({ recordedMs, committedMs })
})

test('a delivery is not sent with the body of another event that has its sequence in a new epoch', async () => {
  const clock = createManualClock()
  const { signal } = new AbortController()
  const endpoint = { id: 'ep_1', keys: [createSecretKey(Buffer.alloc(32, 1))], headers: {}, maxBatch: null }
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

test('a batch is one signed JSON array of the events as they are, which the official library verifies', async () => {
  const clock = createManualClock(Date.now())
  const { signal } = new AbortController()
  const key = Buffer.alloc(32, 1)
  const events = new DeliveryEvents(createStore(clock, 3).reader)
  const bodies: string[] = []
  const matched = []
  for (const sequence of [1, 2, 3]) {
    const found = await events.find(sequence, signal)
    if (found.kind !== 'event') throw new Error('the event is stored')
    matched.push(found.event.matched)
    bodies.push(found.event.body.toString())
  }
  const [delivery, ...others] = matched
  if (delivery === undefined) throw new Error('there are three')
  const sent: { headers: Record<string, string>; body: string }[] = []
  const attempt = async (_: unknown, { headers, body }: { headers: object; body: Uint8Array }) => {
    sent.push({ headers: { ...headers }, body: Buffer.from(body).toString() })
    return { end: { kind: 'answered', status: 204, retryAfter: null } } as never
  }
  const endpoint = { id: 'ep_1', keys: [createSecretKey(key)], headers: {}, maxBatch: 5 } as never
  const means = { clock, chance: () => 0.5, attempt, events }
  const start = { delivery, others, attempt: 1, sort: 'first' } as const
  const tried = await tryDelivery(endpoint, start, means, { signal, mayLeave: () => true })
  expect(tried).toMatchObject({ kind: 'ended', count: 3 })
  const [{ headers, body } = { headers: {}, body: '' }] = sent
  expect([body, headers['content-type']]).toEqual([
    `[${bodies.join(',')}]`,
    'application/cloudevents-batch+json; charset=utf-8',
  ])
  expect(new Webhook(secretText(key)).verify(body, headers)).toHaveLength(3)
  const hash = createHash('sha256').update('ep_1')
  for (const text of bodies) {
    const { id, data } = JSON.parse(text)
    hash.update(`\n${id}\n${JSON.stringify(data)}`)
  }
  expect(headers['webhook-id']).toBe(`msg_${hash.digest('hex').slice(0, 32)}`)
  await tryDelivery(endpoint, { delivery, attempt: 1, sort: 'first' }, means, {
    signal,
    mayLeave: () => true,
  })
  const alone = JSON.parse(bodies[0] ?? '')
  expect(sent[1]?.body).toBe(`[${bodies[0]}]`)
  expect(sent[1]?.headers['webhook-id']).toBe(
    webhookId('ep_1', alone.id, Buffer.from(JSON.stringify(alone.data))),
  )
})

test('a batch is cut where it would be larger than a receiver reads, and events that are gone are named', async () => {
  const large = Buffer.from(`{"id":"x","data":"${'x'.repeat(MOST_BATCH_BYTES / 2)}"}`)
  const matchedAt = (sequence: number) => ({
    ...{ sequence, eventId: `e${sequence}`, subject: '', recordedMs: 0 },
    cursor: `c${sequence}`,
  })
  const lookup = (sequence: number) =>
    sequence === 9
      ? ({ kind: 'dropped' } as const)
      : ({ kind: 'event', event: { matched: matchedAt(sequence), body: large } } as const)
  const events = { find: async (sequence: number) => lookup(sequence) } as unknown as DeliveryEvents
  const attempt = async () => ({ end: { kind: 'answered', status: 204, retryAfter: null } }) as never
  const means = { clock: createManualClock(), chance: () => 0.5, attempt, events }
  const endpoint = { id: 'ep_1', keys: [], headers: {}, maxBatch: 5 } as never
  const started = (...[first = 0, ...rest]: number[]) => ({
    ...{ delivery: matchedAt(first), others: rest.map(matchedAt), attempt: 1, sort: 'first' as const },
  })
  const { signal } = new AbortController()
  expect(
    await tryDelivery(endpoint, started(1, 2, 3), means, { signal, mayLeave: () => true }),
  ).toMatchObject({
    count: 1,
  })
  expect(await tryDelivery(endpoint, started(1, 9), means, { signal, mayLeave: () => true })).toEqual({
    kind: 'dropped',
    gone: [9],
  })
})
