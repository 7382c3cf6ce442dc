import { describe, expect, onTestFinished, test } from 'vitest'
import { type ApiServer, startApi, until } from '../../support/http/api-server.ts'
import { openStream, type StreamClient, type StreamMessage } from '../../support/streams/ws-client.ts'

async function open(api: ApiServer, protocols: string[] = []): Promise<StreamClient> {
  const client = await openStream(api, { protocols })
  onTestFinished(() => client.webSocket.terminate())
  return client
}

const of = (client: StreamClient, id: string | undefined): StreamMessage[] =>
  client.messages.filter((message) => message.id === id)
const sequencesOf = (client: StreamClient, id: string | undefined): number[] =>
  of(client, id).flatMap(({ event }) => (event === undefined ? [] : [Number(event.sequence)]))
const typesOf = (client: StreamClient, id: string): string[] => of(client, id).map(({ type }) => type)
const live = (client: StreamClient, id: string): Promise<void> =>
  until(() => typesOf(client, id).includes('live'))

describe('several subscriptions of one connection', () => {
  test('each get their own events, in order, with their id, and are live once each', async () => {
    await using api = await startApi({ count: 30 })
    const client = await open(api)
    client.send({ action: 'subscribe', id: 'all', from: { tail: 3 } })
    client.send({ action: 'subscribe', id: 'results', filter: { fcaCategories: ['FR'] }, from: 'earliest' })
    client.send({ action: 'subscribe', from: { tail: 1 } })
    for (const id of ['all', 'results']) await live(client, id)
    await until(() => client.messages.some(({ type, id }) => type === 'live' && id === undefined))
    expect(sequencesOf(client, 'all')).toEqual([28, 29, 30])
    expect(sequencesOf(client, 'results')).toEqual([10, 20, 30])
    expect(sequencesOf(client, undefined)).toEqual([30])
    api.store.grow(10)
    await until(
      () => sequencesOf(client, 'all').length === 13 && sequencesOf(client, undefined).length === 11,
    )
    await until(() => sequencesOf(client, 'results').length === 4)
    expect(sequencesOf(client, 'results')).toEqual([10, 20, 30, 40])
    for (const id of ['all', 'results']) {
      expect(typesOf(client, id)[0]).toBe('subscribed')
      expect(typesOf(client, id).filter((type) => type === 'live')).toHaveLength(1)
    }
  })

  test('each send a heartbeat of their own, with the place that they resume from', async () => {
    await using api = await startApi({ count: 12 })
    const client = await open(api)
    client.send({ action: 'subscribe', id: 'a' })
    client.send({ action: 'subscribe', id: 'b', filter: { fcaCategories: ['BOA'] } })
    for (const id of ['a', 'b']) await live(client, id)
    api.clock.advance(16_000)
    for (const id of ['a', 'b']) await until(() => typesOf(client, id).includes('heartbeat'))
    const [{ cursor: end }] = client.messages.filter(({ type }) => type === 'live') as [StreamMessage]
    for (const id of ['a', 'b'])
      expect(of(client, id).find(({ type }) => type === 'heartbeat')).toMatchObject({ cursor: end })
  })

  test('share no id: the same one again replaces only its own', async () => {
    await using api = await startApi({ count: 10 })
    const client = await open(api)
    client.send({ action: 'subscribe', id: 'a', from: { tail: 1 } })
    client.send({ action: 'subscribe', id: 'b', from: { tail: 1 } })
    for (const id of ['a', 'b']) await live(client, id)
    client.send({ action: 'subscribe', id: 'a', filter: { fcaCategories: ['FR'] } })
    await until(() => typesOf(client, 'a').filter((type) => type === 'live').length === 2)
    api.store.grow(3)
    await until(() => sequencesOf(client, 'b').length === 4)
    expect(sequencesOf(client, 'a')).toEqual([10])
    expect(sequencesOf(client, 'b')).toEqual([10, 11, 12, 13])
  })

  test('end one by one, and nothing of an ended one follows', async () => {
    await using api = await startApi({ count: 3 })
    const client = await open(api)
    for (const id of ['a', 'b']) client.send({ action: 'subscribe', id })
    for (const id of ['a', 'b']) await live(client, id)
    client.send({ action: 'unsubscribe', id: 'a' })
    await until(() => typesOf(client, 'a').includes('unsubscribed'))
    api.store.grow(2)
    await until(() => sequencesOf(client, 'b').length === 2)
    expect(typesOf(client, 'a')).toEqual(['subscribed', 'live', 'unsubscribed'])
    client.send({ action: 'unsubscribe', id: 'a' })
    client.send({ action: 'unsubscribe' })
    await until(() => client.types().filter((type) => type === 'error').length === 2)
    expect(client.messages.filter(({ type }) => type === 'error')).toMatchObject([
      { code: 400, id: 'a', detail: expect.stringContaining('no subscription of this id') },
      { code: 400, detail: expect.stringContaining('no subscription without an id') },
    ])
    expect(client.webSocket.readyState).toBe(1)
  })

  test('are 16 at most, at once: one more is refused, and the others stay', async () => {
    await using api = await startApi({ count: 3 })
    const client = await open(api)
    for (let at = 0; at < 17; at++) {
      client.send({ action: 'subscribe', id: `${at}` })
      await until(() => of(client, `${at}`).length > 0)
    }
    expect(of(client, '16')).toMatchObject([
      { type: 'error', code: 406, name: 'connection_limit', detail: expect.stringContaining('16') },
    ])
    api.clock.advance(1100)
    client.send({ action: 'subscribe', id: '3', from: 'earliest' })
    await until(() => sequencesOf(client, '3').length === 3)
    client.send({ action: 'unsubscribe', id: '4' })
    client.send({ action: 'subscribe', id: '16' })
    await live(client, '16')
    api.store.grow(1)
    await until(() => sequencesOf(client, '16').length === 1)
  })

  test('all catch up while others have much to read', async () => {
    await using api = await startApi({ count: 3000 })
    const client = await open(api)
    for (const id of ['a', 'b', 'c']) client.send({ action: 'subscribe', id, from: 'earliest' })
    for (const id of ['a', 'b', 'c']) await live(client, id)
    const whole = Array.from({ length: 3000 }, (_, index) => index + 1)
    for (const id of ['a', 'b', 'c']) expect(sequencesOf(client, id)).toEqual(whole)
  })

  test('as CloudEvents are bare for the first, and have the id as an extension attribute for others', async () => {
    await using api = await startApi({ count: 2 })
    const client = await open(api, ['cloudevents.json'])
    client.send({ action: 'subscribe', id: 'first', from: 'earliest' })
    client.send({ action: 'subscribe', id: 'a"b', from: 'earliest' })
    await until(() => client.messages.filter(({ type }) => type === 'bridge.live.v1').length === 2)
    const events = client.messages.filter(({ type }) => type === 'disclosure.published.v1')
    const [marked, plain] = [true, false].map((isMarked) =>
      events.filter((event) => 'subscriptionid' in event === isMarked),
    )
    expect(marked).toEqual(plain?.map((event) => ({ subscriptionid: 'a"b', ...event })))
    expect(plain).toHaveLength(2)
  })
})
