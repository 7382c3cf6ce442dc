import { describe, expect, test } from 'vitest'
import { settingsCaller } from '../../../src/http/auth.ts'
import { BURST_SECONDS } from '../../../src/http/bounds/request-rate.ts'
import { RateLimits } from '../../../src/http/rate-limits.ts'
import { raw } from '../../http/raw.ts'
import { type ApiServer, startApi } from '../../support/http/api-server.ts'
import { smallRates } from '../../support/http/small-rates.ts'
import { openRaw } from '../../support/streams/raw-stream.ts'
import { openStream } from '../../support/streams/ws-client.ts'
import { createManualClock } from '../../support/time/manual-clock.ts'

const ORIGIN = 'https://desk.example'

/** The handshake as bytes; `changes` replace headers, null leaves one out. */
function handshake(api: ApiServer, changes: Record<string, string | null> = {}, path = '/v1/stream') {
  const headers: Record<string, string | null> = {
    Host: 'x',
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
    Authorization: api.auth.authorization ?? '',
    ...changes,
  }
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    value === null ? [] : [`${name}: ${value}\r\n`],
  )
  return raw(api.listener.port, `GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
}

describe('before the upgrade to a WebSocket', () => {
  test.each([
    ['a page of another origin', { Origin: 'https://evil.example' }, '/v1/stream', 403, 'origin_refused'],
    ['a page without origin', { Origin: 'null' }, '/v1/stream', 403, 'origin_refused'],
    ['query parameters', {}, '/v1/stream?tail=5', 400, 'parameter_invalid'],
    ['broken percent-encoding', {}, '/v1/stream?%', 400, 'url_malformed'],
    ['an older version', { 'Sec-WebSocket-Version': '8' }, '/v1/stream', 426, 'upgrade_required'],
    ['a missing key', { 'Sec-WebSocket-Key': null }, '/v1/stream', 400, 'request_malformed'],
    [
      'a broken subprotocol list',
      { 'Sec-WebSocket-Protocol': 'a,,' },
      '/v1/stream',
      400,
      'request_malformed',
    ],
    ['another path', {}, '/v1/streaming', 404, 'not_found'],
    ['no upgrade', { Upgrade: null, Connection: null }, '/v1/stream', 426, 'upgrade_required'],
    ['an upgrade to something else', { Upgrade: 'h2c' }, '/v1/stream', 426, 'upgrade_required'],
    ['no upgrade and no token', { Upgrade: null, Authorization: null }, '/v1/stream', 401, 'unauthorised'],
  ])('%s gets the response of plain HTTP', async (_what, changes, path, status, code) => {
    await using api = await startApi({ corsOrigins: [ORIGIN] })
    const answer = await handshake(api, changes, path)
    expect(answer.status).toBe(status)
    expect(answer.headers['content-type']).toBe('application/problem+json; charset=utf-8')
    expect(JSON.parse(answer.body)).toMatchObject({ status, code, detail: expect.any(String) })
    if (status === 426) {
      expect(answer.headers).toMatchObject({ upgrade: 'websocket', 'sec-websocket-version': '13' })
    }
  })

  test.each([
    ['an unknown parameter', {}, '/v1/stream?tail=5', 400],
    ['broken percent-encoding', {}, '/v1/stream?%', 400],
    ['an older version', { 'Sec-WebSocket-Version': '8' }, '/v1/stream', 426],
  ])('a credential that opens nothing is refused before %s', async (_what, changes, path, fault) => {
    await using api = await startApi()
    const wanted = { tenant: 'desk', name: null, expiresAtMs: null }
    const made = await api.tokens.create({ ...wanted, scopes: ['webhooks:read'] })
    if (typeof made === 'string') throw new Error(made)
    const statusOf = async (authorization: string | null) => {
      const { status } = await handshake(api, { ...changes, Authorization: authorization }, path)
      return status
    }
    expect(await statusOf('Bearer wrong')).toBe(401)
    expect(await statusOf('Basic eDp5')).toBe(401)
    expect(await statusOf(`Bearer ${made.text}`)).toBe(403)
    expect(await statusOf(api.auth.authorization ?? '')).toBe(fault)
    // Its first frame may bring a token yet.
    expect(await statusOf(null)).toBe(fault)
    const counted = (await api.metrics.scrape()).match(/^bridge_http_unauthorised_total.*$/gm)
    expect(counted).toEqual([
      'bridge_http_unauthorised_total{code="401"} 2',
      'bridge_http_unauthorised_total{code="403"} 1',
    ])
  })

  test('a ticket that opens nothing is refused before an unknown parameter, and one that is good stays good', async () => {
    await using api = await startApi()
    const { ticket } = api.tickets.give(settingsCaller)
    const ask = (query: string, Authorization: string | null = null) =>
      handshake(api, { Authorization }, `/v1/stream?${query}`)
    const wrong = await ask('tail=5&ticket=wrong')
    expect(JSON.parse(wrong.body)).toMatchObject({ status: 401, code: 'unauthorised' })
    expect(wrong.headers['www-authenticate']).toBe(undefined)
    expect((await ask(`ticket=${ticket}`, 'Bearer wrong')).status).toBe(401)
    expect((await ask(`tail=5&ticket=${ticket}`)).status).toBe(400)
    const client = await openStream(api, { headers: {}, path: `/v1/stream?ticket=${ticket}` })
    await client.next('hello')
  })

  test('an address that sends too many handshakes gets 429 with its headers, before its token is looked at', async () => {
    await using api = await startApi({ rates: smallRates({ perAddress: 1 }) })
    for (let count = 0; count < BURST_SECONDS; count += 1) {
      expect((await handshake(api, { 'Sec-WebSocket-Version': '8' })).status).toBe(426)
    }
    const { status, headers, body } = await handshake(api, { Authorization: null })
    expect(status).toBe(429)
    expect(headers).toMatchObject({
      connection: 'close',
      'retry-after': '1',
      'ratelimit-limit': '20',
      'ratelimit-remaining': '0',
      'ratelimit-reset': '20',
      'ratelimit-policy': '20;w=20',
      'content-type': 'application/problem+json; charset=utf-8',
    })
    expect(JSON.parse(body)).toMatchObject({ status: 429, code: 'rate_limited' })
    expect((await fetch(`${api.url}/v1/status`)).status).toBe(429)
  })

  test('a fault of the bridge is answered 500, and the log names it', async () => {
    const addressOf = () => {
      throw new Error('broken')
    }
    const clock = createManualClock()
    const rates = new RateLimits({
      perToken: null,
      perAddress: 1,
      addressOf,
      clock,
      onRefused: () => undefined,
    })
    await using api = await startApi({ rates })
    expect((await handshake(api)).status).toBe(500)
    expect(api.lines.filter(({ event }) => event === 'http.request_failed')).toMatchObject([
      { fields: { method: 'GET', path: '/v1/stream', error: { message: 'broken' } } },
    ])
  })

  test('426 ends the connection of a client that asks for its end, and no other', async () => {
    await using api = await startApi()
    const connectionOf = async (Connection: string | null) => {
      const { status, headers } = await handshake(api, { Upgrade: null, Connection })
      return [status, headers.connection]
    }
    expect(await connectionOf(null)).toEqual([426, 'Upgrade'])
    expect(await connectionOf('close')).toEqual([426, 'Upgrade, close'])
  })

  test.each([
    ['below it', 'https://desk.example.evil.example'],
    ['above it', 'https://evil.desk.example'],
    ['that begins with it', 'https://desk.examples.test'],
    ['that ends with it', 'https://mydesk.example'],
    ['on another port', 'https://desk.example:8443'],
    ['with its port written out', 'https://desk.example:443'],
    ['without TLS', 'http://desk.example'],
    ['in capitals', 'https://DESK.example'],
    ['with a slash', `${ORIGIN}.`],
    ['with a user', 'https://desk.example@evil.example'],
    ['beside another', 'https://desk.example https://evil.example'],
    ['of a list', 'https://desk.example,https://evil.example'],
    ['with a dot', `${ORIGIN}.`],
    ['without scheme', 'desk.example'],
    ['that is null', 'null'],
    ['that is empty', ''],
  ])('an origin %s is not the listed one: %s', async (_what, origin) => {
    await using api = await startApi({ corsOrigins: [ORIGIN, 'http://127.0.0.1:3000'] })
    const answer = await handshake(api, { Origin: origin })
    expect(answer.status).toBe(403)
    expect(JSON.parse(answer.body)).toMatchObject({ code: 'origin_refused' })
  })

  test('a page that the bridge serves itself is accepted, by the name that its client used', async () => {
    await using api = await startApi()
    const client = await openStream(api, { headers: { ...api.auth, origin: api.url } })
    await client.next('hello')
    const ask = (Origin: string, Host: string) => handshake(api, { Origin, Host })
    for (const [origin, host] of [
      ['https://bridge.example', 'bridge.example'],
      ['https://bridge.example', 'Bridge.Example:443'],
      ['http://localhost', 'localhost:80'],
      ['http://[::1]:8080', '[::1]:8080'],
    ] as const)
      expect((await ask(origin, host)).status, host).not.toBe(403)
    // Any name may be made to lead to this machine; only a certificate proves it.
    expect((await ask('http://evil.example', 'evil.example')).status).toBe(403)
    expect((await ask('ftp://localhost', 'localhost')).status).toBe(403)
    expect((await ask('https://bridge.example', 'bridge.example:8443')).status).toBe(403)
    expect((await ask('https://evil.example', 'bridge.example')).status).toBe(403)
  })

  test("without the role console no page is the bridge's own", async () => {
    await using api = await startApi({ servesPages: false })
    const own = { Origin: 'https://bridge.example', Host: 'bridge.example' }
    expect((await handshake(api, own)).status).toBe(403)
  })

  test('a page of a listed origin is accepted', async () => {
    await using api = await startApi({ corsOrigins: [ORIGIN] })
    const client = await openStream(api, { headers: { ...api.auth, origin: ORIGIN } })
    await client.next('hello')
  })

  test('compression that a client offers is not negotiated', async () => {
    await using api = await startApi()
    const headers = 'Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits, x-other\r\n'
    const client = await openRaw(api, { headers })
    expect(client.head).toMatch(/^HTTP\/1\.1 101 /)
    expect(client.head).not.toMatch(/extensions/i)
    client.destroy()
  })

  test('another method is refused, and an upgrade that no path accepts is ignored', async () => {
    await using api = await startApi()
    const post = await raw(
      api.listener.port,
      'POST /v1/stream HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
    )
    expect(post.status).toBe(405)
    expect((await handshake(api, {}, '/v1/disclosures')).status).toBe(200)
  })
})
