/**
 * Sends every operation of the running product with every kind of credential, and with ids of another tenant in every
 * place that takes one. What must be answered follows from one table, which nothing derives from the code.
 */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { ADMIN_TOKEN } from '../../support/bridge-process.ts'
import { eventually } from '../../support/http/api-client.ts'
import { NEEDS, REFUSED_OTHERWISE, SCOPES, SEE } from '../../support/product/scopes-needed.ts'
import {
  allows,
  bodyOf,
  collectionOf,
  credential,
  type Headers,
  NEVER,
  needOf,
  pathWith,
  wrongCredentials,
} from '../../support/product/sent-operations.ts'
import { type DocumentedOperation, type Product, startProduct } from '../../support/product/whole-product.ts'
import { createWire, type Wire, type WireAnswer } from '../../support/product/wire.ts'
import { openStream, type StreamClient } from '../../support/streams/ws-client.ts'
import { LOCAL_RECEIVERS } from '../../support/webhooks/endpoint-api.ts'
import { startReceiver, type WebhookReceiver } from '../../support/webhooks/webhook-receiver.ts'

/** Is in everything that the tenant `owner` stores: no answer to anybody else may hold it. */
const CANARY = 'zcanaryz'
interface Tenant {
  name: string
  /** With every scope. */
  token: string
}

let product: Product
let receiver: WebhookReceiver
let wire: Wire
/** Whose things the others try to reach. */
let owner: Tenant & {
  endpoint: string
  tokenId: string
  stream: string
  attempt: string
  eventId: string
  cursors: string[]
}
let other: Tenant
let identifier: string
let sent = 0
const clients: StreamClient[] = []
let deviations: string[] = []

beforeEach(() => {
  deviations = []
})

beforeAll(async () => {
  receiver = await startReceiver((response, { headers }) =>
    headers['x-key'] === CANARY ? response.writeHead(500).end(CANARY) : response.writeHead(204).end(),
  )
  product = await startProduct(LOCAL_RECEIVERS)
  wire = createWire(product.url)
  other = await tenantOf('other')
  owner = await ownerOf()
  const items = await ask('GET', '/v2/disclosures/sources/rns/items?pageSize=1', ADMIN_TOKEN)
  identifier = (JSON.parse(items.text) as { data: { guid: string }[] }).data[0]?.guid ?? ''
})

afterAll(async () => {
  for (const { webSocket } of clients) webSocket.terminate()
  wire[Symbol.dispose]()
  await product[Symbol.asyncDispose]()
  await receiver[Symbol.asyncDispose]()
})

async function tenantOf(name: string): Promise<Tenant> {
  return { name, token: (await makeToken(name, SCOPES)).token }
}

/** A tenant with an endpoint whose deliveries fail, a token, and the ids of all that. Each text of it has the canary. */
async function ownerOf(): Promise<typeof owner> {
  const name = `owner-${CANARY}`
  const { id: tokenId, token } = await makeToken(name, SCOPES, { name: CANARY })
  const made = await ask('POST', '/v1/webhooks', token, {
    url: `${receiver.url}/${CANARY}`,
    description: CANARY,
    headers: { 'x-key': CANARY },
    since: '2000-01-01T00:00:00Z',
  })
  const { id: endpoint } = JSON.parse(made.text) as { id: string }
  const page = async (list: string) => {
    const { text } = await ask('GET', `/v1/webhooks/${endpoint}/${list}?limit=1`, token)
    return JSON.parse(text) as { data: { id?: string; eventId: string }[]; next: string | null }
  }
  const attempts = await eventually(
    () => page('attempts'),
    ({ next }) => next !== null,
  )
  const deliveries = await page('deliveries')
  const [first] = attempts.data
  return {
    name,
    token,
    tokenId,
    stream: await streamOf(token),
    endpoint,
    attempt: first?.id ?? '',
    eventId: first?.eventId ?? '',
    cursors: [attempts.next ?? '', deliveries.next ?? ''],
  }
}

/** The id of a new stream of that token. */
async function streamOf(token: string): Promise<string> {
  const client = await openStream({ url: product.url, auth: { authorization: `Bearer ${token}` } })
  clients.push(client)
  await client.next('hello')
  const { text } = await ask('GET', '/v1/streams?limit=1000', token)
  return (JSON.parse(text) as { data: { id: string }[] }).data.at(-1)?.id ?? ''
}

async function makeToken(
  tenant: string,
  scopes: readonly string[],
  parts: object = {},
): Promise<{ id: string; token: string }> {
  const made = await ask('POST', '/v1/tokens', ADMIN_TOKEN, { tenant, scopes, ...parts })
  expect([made.status, made.text]).toEqual([201, expect.anything()])
  return JSON.parse(made.text) as { id: string; token: string }
}

/** Sends it with the token in the header that the path reads. */
function ask(method: string, path: string, token: string, body?: object, headers: Headers = []) {
  return send(method, path, [credential(path, token), ...headers], body)
}

function send(method: string, path: string, headers: Headers, body?: object): Promise<WireAnswer> {
  sent += 1
  const type = body === undefined ? [] : [['content-type', 'application/json'] as const]
  const text = body === undefined ? {} : { body: JSON.stringify(body) }
  return wire.send({ method, path, headers: [...headers, ...type], ...text })
}

/** A new thing of that tenant for the path; an empty text where it takes none. A stream is opened with `opener`. */
async function freshId(
  operation: DocumentedOperation,
  tenant: Tenant,
  opener = tenant.token,
): Promise<string> {
  const collection = collectionOf(operation)
  if (collection === null) return ''
  if (collection === 'tokens') return (await makeToken(tenant.name, [SEE])).id
  if (collection === 'streams') return await streamOf(opener)
  const made = await ask('POST', '/v1/webhooks', tenant.token, { url: `${receiver.url}/fresh` })
  expect([made.status, made.text]).toEqual([201, expect.anything()])
  return (JSON.parse(made.text) as { id: string }).id
}

/** What an operation that may be done is answered. */
function judgeAllowed({ name }: DocumentedOperation, who: string, { status, text }: WireAnswer): void {
  const otherwise = REFUSED_OTHERWISE.find(([operations]) => operations.test(name))?.[1]
  const isRight = otherwise === undefined ? status >= 200 && status < 300 : status === otherwise
  if (!isRight) deviations.push(`${name} with ${who}: ${status} ${text.slice(0, 120)}`)
}

function judgeStatus({ name }: DocumentedOperation, who: string, answer: WireAnswer, wanted: number): void {
  if (answer.status !== wanted)
    deviations.push(`${name} with ${who}: ${answer.status}, not ${wanted}: ${answer.text.slice(0, 120)}`)
}

/** Nobody but the owner may see anything of it. */
function judgeSecrecy(where: string, { text, headers }: WireAnswer, asked = ''): void {
  const shown = `${text}${JSON.stringify(headers)}`
  const secrets = [CANARY, owner.endpoint, owner.tokenId, owner.stream, owner.attempt].filter(
    (id) => !asked.includes(id),
  )
  for (const secret of secrets)
    if (shown.includes(secret)) deviations.push(`${where} shows ${secret} of another tenant`)
}

test('every operation of the running product is in the table, and nothing else', () => {
  expect(Object.keys(NEEDS).sort()).toEqual(product.operations.map(({ name }) => name).sort())
})

test('no operation that needs a token is done with a credential that is none', async () => {
  const gone = await makeToken('other', SCOPES)
  await ask('DELETE', `/v1/tokens/${gone.id}`, ADMIN_TOKEN)
  const expiresAt = new Date(Date.now() + 3000).toISOString()
  const ended = await makeToken('other', SCOPES, { expiresAt })
  await eventually(
    () => Date.now(),
    (nowMs) => nowMs > Date.parse(expiresAt),
  )
  const { ticket } = JSON.parse((await ask('POST', '/v1/tickets', other.token)).text) as { ticket: string }
  const { token } = other
  const invalid = {
    'an empty token': '',
    'a beginning of a token': token.slice(0, -1),
    'a token and a letter': `${token}A`,
    'a token with another letter': `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`,
    'a token in capitals': token.toUpperCase(),
    'a deleted token': gone.token,
    'an expired token': ended.token,
    'the id of a token': owner.tokenId,
    'a ticket': ticket,
    'two tokens': `${gone.token}, ${token}`,
    'another administrator': `${ADMIN_TOKEN}x`,
  }
  for (const operation of product.operations) {
    const path = pathWith(operation, owner.endpoint, identifier)
    const headers = wrongCredentials(path, invalid, token)
    const queries = ['', 'token', 'access_token', 'authorization', 'api_key', 'x-api-key', 'ticket']
    const judge = (who: string, answer: WireAnswer): void => {
      judgeSecrecy(`${operation.name} with ${who}`, answer, path)
      if (needOf(operation) === 'open') judgeAllowed(operation, who, answer)
      else judgeStatus(operation, who, answer, 401)
    }
    const isOpen = needOf(operation) === 'open'
    for (const [who, own] of Object.entries(headers))
      judge(who, await send(operation.method, path, own, bodyOf(operation, 'other')))
    // Unknown parameters of an open path are refused as such.
    for (const query of isOpen ? [] : queries.slice(1))
      judge(`a token in ?${query}`, await send(operation.method, `${path}?${query}=${token}`, []))
    if (operation.method === 'GET') judge('HEAD without a token', await send('HEAD', path, []))
  }
  expect(deviations).toEqual([])
})

test('every operation is done with exactly the scope that it needs', async () => {
  const subsets = SCOPES.flatMap((scope) => [[scope], SCOPES.filter((one) => one !== scope)])
  const tokens = await Promise.all(subsets.map(async (scopes) => (await makeToken('other', scopes)).token))
  for (const operation of product.operations) {
    for (const [at, scopes] of subsets.entries()) {
      const id = allows(needOf(operation), scopes)
        ? await freshId(operation, other, tokens[at])
        : NEVER.webhooks
      // A token of few scopes may give no more than these.
      const body =
        operation.name === 'POST /v1/tokens'
          ? { tenant: 'other', scopes: ['admin'] }
          : bodyOf(operation, 'other')
      const answer = await ask(operation.method, pathWith(operation, id, identifier), tokens[at] ?? '', body)
      const who = `the scopes ${scopes.join(', ')}`
      judgeSecrecy(`${operation.name} with ${who}`, answer)
      if (allows(needOf(operation), scopes)) judgeAllowed(operation, who, answer)
      else judgeStatus(operation, who, answer, 403)
    }
  }
  expect(deviations).toEqual([])
})

test('an id of another tenant in a path is answered as one that never was, and the thing stays as it is', async () => {
  const central = await tenantOf('default')
  const before = await ask('GET', `/v1/webhooks/${owner.endpoint}`, owner.token)
  for (const operation of product.operations) {
    const collection = collectionOf(operation)
    if (collection === null) continue
    const id = { tokens: owner.tokenId, webhooks: owner.endpoint, streams: owner.stream }[collection]
    for (const { name, token } of [other, central]) {
      const body = bodyOf(operation, name)
      const headers: Headers = [['if-match', before.headers.etag?.toString() ?? '*']]
      for (const query of ['', `?tenant=${owner.name}`, `?after=${owner.cursors[0]}`]) {
        const foreign = await ask(
          operation.method,
          `${pathWith(operation, id, identifier)}${query}`,
          token,
          body,
          headers,
        )
        const never = await ask(
          operation.method,
          `${pathWith(operation, NEVER[collection], identifier)}${query}`,
          token,
          body,
        )
        const who = `a foreign id${query} of tenant ${name}`
        judgeStatus(operation, who, foreign, 404)
        judgeSecrecy(`${operation.name} with ${who}`, foreign, query)
        if (foreign.text !== never.text) deviations.push(`${operation.name}: a foreign id and none differ`)
      }
      const reader = (
        await makeToken(
          name,
          SCOPES.filter((scope) => scope !== needOf(operation)),
        )
      ).token
      judgeStatus(
        operation,
        'a foreign id, no scope',
        await ask(operation.method, pathWith(operation, id, identifier), reader, body),
        403,
      )
    }
    const own = await freshId(operation, other)
    const answer = await ask(
      operation.method,
      pathWith(operation, own, identifier),
      ADMIN_TOKEN,
      bodyOf(operation, 'other'),
    )
    judgeAllowed(operation, 'the token of the settings', answer)
  }
  const after = await ask('GET', `/v1/webhooks/${owner.endpoint}`, owner.token)
  expect(deviations).toEqual([])
  expect(settingsOf(after)).toEqual(settingsOf(before))
  expect(await ask('GET', '/v1/me', owner.token)).toMatchObject({ status: 200 })
})

/** An endpoint as its owner set it. */
function settingsOf({ text }: WireAnswer): object {
  const { health: _, ...settings } = JSON.parse(text) as { health?: unknown }
  return settings
}

test('ids of another tenant in queries, bodies and headers show and change nothing', async () => {
  const own = await freshId({ path: '/v1/webhooks/{id}' } as DocumentedOperation, other)
  const ids = [
    owner.endpoint,
    owner.tokenId,
    owner.stream,
    owner.attempt,
    owner.eventId,
    owner.name,
    ...owner.cursors,
  ]
  const lists = [
    '/v1/webhooks',
    '/v1/tokens',
    '/v1/streams',
    '/v1/rejected',
    `/v1/webhooks/${own}/attempts`,
    `/v1/webhooks/${own}/deliveries`,
  ]
  for (const id of ids) {
    for (const list of lists) {
      const answer = await ask('GET', `${list}?limit=1000&after=${encodeURIComponent(id)}`, other.token)
      judgeSecrecy(`${list} after a foreign id`, answer, id)
      if (answer.status !== 200)
        judgeStatus({ name: list } as DocumentedOperation, 'a foreign place', answer, 400)
    }
    const replayed = await ask('POST', `/v1/webhooks/${own}/replay`, other.token, { ids: [id] })
    const { count } = JSON.parse(replayed.text) as { count?: number }
    // Disclosures are the same for everybody: the id of one may be replayed.
    const isOwn = id === owner.eventId ? replayed.status === 202 : replayed.status === 400 || count === 0
    if (!isOwn) deviations.push(`replay of ${id}: ${replayed.status} ${replayed.text}`)
    judgeSecrecy('replay', replayed, id)
    const members = { id, tenant: id, endpointId: id, tokenId: id, owner: id }
    for (const [member, value] of Object.entries(members)) {
      const body = { url: 'https://hooks.example/in', [member]: value }
      const made = await ask('POST', '/v1/webhooks', other.token, body)
      judgeStatus({ name: 'POST /v1/webhooks' } as DocumentedOperation, `the member ${member}`, made, 400)
    }
  }
  expect(deviations).toEqual([])
})

test('tokens and keys of one tenant give no other tenant anything', async () => {
  for (const wanted of [
    { tenant: owner.name, scopes: [SEE] },
    { tenant: 'default', scopes: SCOPES },
  ]) {
    const answer = await ask('POST', '/v1/tokens', other.token, wanted)
    judgeStatus({ name: 'POST /v1/tokens' } as DocumentedOperation, `tenant ${wanted.tenant}`, answer, 403)
  }
  const key: Headers = [['idempotency-key', 'one key of all']]
  const body = { url: 'https://hooks.example/once' }
  const first = await ask('POST', '/v1/webhooks', owner.token, body, key)
  const repeat = await ask('POST', '/v1/webhooks', owner.token, body, key)
  const foreign = await ask('POST', '/v1/webhooks', other.token, body, key)
  const colleague = await makeToken(owner.name, SCOPES)
  const another = await ask('POST', '/v1/webhooks', colleague.token, body, key)
  const made = [first, repeat, foreign, another].map(
    ({ text }) => JSON.parse(text) as { id: string; secret: string },
  )
  expect(made[1]).toEqual(made[0])
  expect(new Set(made.map(({ id }) => id)).size).toBe(3)
  expect(new Set(made.map(({ secret }) => secret)).size).toBe(3)
  judgeSecrecy('a repeated key', foreign)
  const rewrapped = await ask('POST', '/v1/webhooks/rewrap', other.token)
  judgeSecrecy('rewrap', rewrapped)
  for (const path of [
    '/v1/status',
    '/v1/report',
    '/v1/me',
    '/v1/rejected',
    '/v1/tokens',
    '/v1/webhooks',
    '/v1/streams',
  ])
    judgeSecrecy(path, await ask('GET', path, other.token))
  expect(deviations).toEqual([])
})

test('so many requests were sent', () => {
  expect(sent).toBeGreaterThan(1700)
})
