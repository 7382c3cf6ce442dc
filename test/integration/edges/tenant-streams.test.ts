/**
 * Opens WebSockets of several subscriptions on the running product: with every scope, every way of authentication, a
 * filter each, and ids of another tenant wherever one fits. Events are the same for everybody; nothing else is.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ADMIN_TOKEN } from '../../support/bridge-process.ts'
import { eventually } from '../../support/http/api-client.ts'
import { until } from '../../support/http/api-server.ts'
import { SCOPES } from '../../support/product/scopes-needed.ts'
import { type Product, startProduct } from '../../support/product/whole-product.ts'
import { openStream, type StreamClient } from '../../support/streams/ws-client.ts'
import { LOCAL_RECEIVERS } from '../../support/webhooks/endpoint-api.ts'
import { startReceiver, type WebhookReceiver } from '../../support/webhooks/webhook-receiver.ts'

/** Is in everything that the tenant `owner` stores: no frame to anybody else may hold it. */
const CANARY = 'zcanaryz'

let product: Product
let receiver: WebhookReceiver
let owner: { token: string; ids: string[] }
let other: string
const clients: StreamClient[] = []

beforeAll(async () => {
  receiver = await startReceiver((response) => response.writeHead(500).end(CANARY))
  product = await startProduct(LOCAL_RECEIVERS)
  const { id, token } = await makeToken(`owner-${CANARY}`, SCOPES, { name: CANARY })
  const endpoint = await ask('POST', '/v1/webhooks', token, {
    url: `${receiver.url}/${CANARY}`,
    description: CANARY,
    since: '2000-01-01T00:00:00Z',
  })
  const { data, next } = await eventually(
    () => ask('GET', `/v1/webhooks/${endpoint.id}/attempts?limit=1`, token),
    (page) => page.next !== null,
  )
  owner = { token, ids: [endpoint.id, id, data[0].id, next, `owner-${CANARY}`] }
  other = (await makeToken('other', SCOPES)).token
})

afterAll(async () => {
  for (const { webSocket } of clients) webSocket.terminate()
  await product[Symbol.asyncDispose]()
  await receiver[Symbol.asyncDispose]()
})

// biome-ignore lint/suspicious/noExplicitAny: tests read whatever they expect
async function ask(method: string, path: string, token: string, body?: object): Promise<any> {
  const response = await fetch(`${product.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  expect([response.ok, text]).toEqual([true, expect.anything()])
  return text === '' ? null : JSON.parse(text)
}

function makeToken(
  tenant: string,
  scopes: readonly string[],
  parts: object = {},
): Promise<{ id: string; token: string }> {
  return ask('POST', '/v1/tokens', ADMIN_TOKEN, { tenant, scopes, ...parts })
}

async function open(headers: Record<string, string>, path?: string): Promise<StreamClient> {
  const client = await openStream(
    { url: product.url, auth: {} },
    { headers, ...(path !== undefined && { path }) },
  )
  clients.push(client)
  return client
}

function openWith(token: string): Promise<StreamClient> {
  return open({ authorization: `Bearer ${token}` })
}

/** Three subscriptions with a filter each, of which two take different events. */
const THREE: Readonly<Record<string, object>> = {
  all: { from: 'earliest' },
  few: { filter: { importance: 'high+' }, from: 'earliest' },
  none: { filter: { q: 'no headline says this' }, from: 'earliest' },
}

function subscribe(client: StreamClient, subscriptions: Readonly<Record<string, object>> = THREE): void {
  for (const [id, parts] of Object.entries(subscriptions)) client.send({ action: 'subscribe', id, ...parts })
}

function eventsOf({ messages }: StreamClient, id: string): string[] {
  return messages.flatMap((message) => (message.id === id && message.event ? [message.event.id] : []))
}

async function untilLive({ messages }: StreamClient, ids: readonly string[]): Promise<void> {
  await until(() =>
    ids.every((id) => messages.some((message) => message.type === 'live' && message.id === id)),
  )
}

test.each(
  SCOPES.flatMap((scope) => [[scope], SCOPES.filter((one) => one !== scope)]).map(
    (scopes) => [scopes.join(', '), scopes] as const,
  ),
)('a token with %s gets the events of all its subscriptions, or of none', async (_name, scopes) => {
  const { token } = await makeToken('other', scopes)
  const ways = [
    () => openWith(token),
    async () => {
      const client = await open({})
      client.send({ action: 'auth', token })
      return client
    },
  ]
  for (const way of ways) {
    const client = await way()
    subscribe(client)
    if (scopes.includes('events:read')) {
      await untilLive(client, Object.keys(THREE))
      expect(eventsOf(client, 'all').length).toBeGreaterThan(eventsOf(client, 'few').length)
      expect(eventsOf(client, 'all')).toEqual(expect.arrayContaining(eventsOf(client, 'few')))
      expect(eventsOf(client, 'none')).toEqual([])
      client.webSocket.terminate()
    } else {
      await until(() => client.types().includes('live') || client.webSocket.readyState === WebSocket.CLOSED)
      expect(client.types().filter((type) => type !== 'error')).toEqual([])
      expect(await client.closed).toMatchObject({ code: 4003 })
    }
  }
})

test('all tenants get the same events, and no frame holds anything of another tenant', async () => {
  const pairs = await Promise.all([owner.token, other, ADMIN_TOKEN].map(openWith))
  for (const client of pairs) subscribe(client)
  await Promise.all(pairs.map((client) => untilLive(client, Object.keys(THREE))))
  const [first, ...rest] = pairs
  if (first === undefined) throw new Error('no client')
  for (const client of rest) {
    for (const id of Object.keys(THREE)) {
      // The market goes on: what one has had more of is newer.
      const [fewer = [], more = []] = [eventsOf(first, id), eventsOf(client, id)].toSorted(
        (one, two) => one.length - two.length,
      )
      expect(more.slice(0, fewer.length)).toEqual(fewer)
    }
    expect(client.texts.join('\n')).not.toMatch(new RegExp([CANARY, ...owner.ids].join('|')))
  }
})

test('ids of another tenant are names like any other in a subscription, and no place to start', async () => {
  const client = await openWith(other)
  const subscriptions = Object.fromEntries(owner.ids.map((id) => [id.slice(0, 64), { from: { tail: 1 } }]))
  subscribe(client, subscriptions)
  await untilLive(client, Object.keys(subscriptions))
  const theirs = await openWith(owner.token)
  subscribe(theirs, subscriptions)
  await untilLive(theirs, Object.keys(subscriptions))
  for (const id of Object.keys(subscriptions)) client.send({ action: 'unsubscribe', id })
  await until(() => client.types().filter((type) => type === 'unsubscribed').length === owner.ids.length)
  const before = theirs.messages.length
  await until(() => theirs.messages.length >= before + owner.ids.length)
  expect(theirs.types()).not.toContain('unsubscribed')
  for (const id of owner.ids) {
    const stranger = await openWith(other)
    stranger.send({ action: 'subscribe', id: 'x', from: { after: id } })
    expect(await stranger.closed).toMatchObject({ code: 4010 })
    for (const member of ['tenant', 'token', 'endpoint']) {
      const refused = await openWith(other)
      refused.send({ action: 'subscribe', id: 'x', [member]: id })
      expect(await refused.next('error')).toMatchObject({ code: 400 })
      expect(refused.types()).not.toContain('subscribed')
      refused.webSocket.terminate()
    }
  }
})

test('a deleted token ends all subscriptions of its connections, and none of others', async () => {
  const made = await makeToken('other', ['events:read'])
  const [gone, stays] = await Promise.all([openWith(made.token), openWith(other)])
  subscribe(gone)
  subscribe(stays)
  await untilLive(gone, Object.keys(THREE))
  await ask('DELETE', `/v1/tokens/${made.id}`, other)
  expect(await gone.closed).toMatchObject({ code: 4001 })
  const before = eventsOf(stays, 'all').length
  await until(() => eventsOf(stays, 'all').length > before)
})

test('a ticket gives one connection with all its subscriptions, with the rights of its token only', async () => {
  const { ticket } = await ask('POST', '/v1/tickets', other)
  const client = await open({}, `/v1/stream?ticket=${ticket}`)
  subscribe(client)
  await untilLive(client, Object.keys(THREE))
  const again = await open({}, `/v1/stream?ticket=${ticket}`)
  expect(await again.closed).toMatchObject({ code: 4001 })
  expect(client.texts.join('\n')).not.toContain(CANARY)
})
