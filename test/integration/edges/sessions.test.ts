/** Tests what a browser's session opens of the whole product: every operation, the mirror and the streams. */
import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { ADMIN_TOKEN } from '../../support/bridge-process.ts'
import { BODIES } from '../../support/product/scopes-needed.ts'
import { type Product, startProduct } from '../../support/product/whole-product.ts'

let product: Product
/** Headers of a page of the console that has signed in. */
let session: Record<string, string>

beforeAll(async () => {
  product = await startProduct()
  session = await signIn(ADMIN_TOKEN)
})

afterAll(() => product[Symbol.asyncDispose]())

function send(
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: object,
): Promise<Response> {
  return fetch(`${product.url}${path}`, {
    method,
    headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
}

async function signIn(token: string): Promise<Record<string, string>> {
  const response = await send('POST', '/v1/sessions', {}, { token })
  expect(response.status).toBe(201)
  const [cookie = ''] = (response.headers.get('set-cookie') ?? '').split(';')
  return { cookie, 'sec-fetch-site': 'same-origin' }
}

/** Reads although it is a POST, or is about the session itself. */
const READS = /^POST \/v1\/(tickets|filters\/test|sessions.*)$|^DELETE \/v1\/sessions\/current$/
const ITS_OWN = /^(GET \/v1\/(stream|events)|.* \/v2\/.*)$/

test('a session reads what its token reads, and changes nothing by any operation until it is unlocked', async () => {
  const bearer = { authorization: `Bearer ${ADMIN_TOKEN}` }
  const changes: string[] = []
  for (const { name, method, path } of product.operations) {
    if (ITS_OWN.test(name) || READS.test(name)) continue
    const place = path.replaceAll(/\{\w+\}/g, 'no_such_thing')
    if (method === 'GET') {
      const [asSession, asToken] = [await send(method, place, session), await send(method, place, bearer)]
      await Promise.all([asSession.arrayBuffer(), asToken.arrayBuffer()])
      expect([name, asSession.status]).toEqual([name, asToken.status])
      continue
    }
    const refused = await send(method, place, session, BODIES[name] ?? {})
    expect([name, refused.status, await refused.json()]).toMatchObject([
      name,
      403,
      { code: 'session_locked' },
    ])
    changes.push(name)
  }
  expect(changes.length).toBeGreaterThan(8)
})

test('no cookie is looked at below /v2', async () => {
  const path = '/v2/disclosures/sources/rns/items?pageSize=1'
  expect((await send('GET', path, session)).status).toBe(401)
  expect((await send('GET', path, { ...session, 'x-api-key': ADMIN_TOKEN })).status).toBe(200)
})

test('no cookie opens a stream; a ticket of the session does', async () => {
  expect((await send('GET', '/v1/events', session)).status).toBe(401)
  expect((await send('GET', '/v1/stream', session)).status).toBe(401)
  const address = `${product.url.replace('http', 'ws')}/v1/stream`
  const firstOf = async (url: string, headers: Record<string, string>): Promise<string> => {
    const socket = new WebSocket(url, { headers })
    socket.once('open', () => socket.send(JSON.stringify({ action: 'subscribe', id: '1' })))
    const [data] = (await once(socket, 'message')) as [Buffer]
    socket.terminate()
    return data.toString()
  }
  expect(JSON.parse(await firstOf(address, session))).toMatchObject({ type: 'error', code: 401 })
  const { ticket } = (await (await send('POST', '/v1/tickets', session)).json()) as { ticket: string }
  expect(JSON.parse(await firstOf(`${address}?ticket=${ticket}`, {}))).toMatchObject({
    type: 'authenticated',
  })
})

test('a deleted token ends its sessions within a second, a long poll of theirs too', async () => {
  const bearer = { authorization: `Bearer ${ADMIN_TOKEN}` }
  const body = { tenant: 'desk', scopes: ['events:read'] }
  const made = (await (await send('POST', '/v1/tokens', bearer, body)).json()) as {
    id: string
    token: string
  }
  const desk = await signIn(made.token)
  const page = (await (await send('GET', '/v1/disclosures?tail=1', desk)).json()) as { cursor: string }
  let isOver = false
  const poll = send('GET', `/v1/disclosures?wait=30&q=nobody-has-this&after=${page.cursor}`, desk).then(
    async (response) => {
      isOver = true
      return [response.status, ((await response.json()) as { data: object[] }).data.length]
    },
  )
  await send('GET', '/v1/me', desk)
  expect(isOver).toBe(false)
  const startedMs = performance.now()
  expect((await send('DELETE', `/v1/tokens/${made.id}`, bearer)).status).toBe(204)
  expect((await send('GET', '/v1/me', desk)).status).toBe(401)
  expect(await poll).toEqual([200, 0])
  expect(performance.now() - startedMs).toBeLessThan(1000)
})
