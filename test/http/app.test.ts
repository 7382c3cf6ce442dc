import { afterEach, describe, expect, test } from 'vitest'
import { createApp } from '../../src/http/app.ts'
import { type Authenticate, adminAuthenticate } from '../../src/http/auth.ts'
import { type Listener, listen } from '../../src/http/listener.ts'
import { HttpProblem, problemCodes } from '../../src/http/problem.ts'
import { type Route, sendJson } from '../../src/http/route.ts'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { knows } from '../support/http/callers.ts'
import { keepingLogger } from '../support/keeping-logger.ts'
import { raw } from './raw.ts'

const TOKEN = 'a token of the tests'
const open: Listener[] = []
const { logger, lines } = keepingLogger()

afterEach(async () => {
  for (const listener of open.splice(0)) await listener.close(0)
  lines.length = 0
})

function route(path: string, handle: Route['handle'], scope: Route['scope'] = 'events:read'): Route {
  return { method: 'GET', path, scope, summary: '', parameters: {}, answers: {}, handle }
}

const routes: Route[] = [
  route('/v1/status', async ({ response, caller }) =>
    sendJson(response, 200, Buffer.from(JSON.stringify(caller))),
  ),
  route('/v1/disclosures', async () => {
    throw new HttpProblem('cursor_too_old', 'gone', { extra: { oldest: 'c' } })
  }),
  route('/v1/fault', async () => {
    throw new Error('secret inside')
  }),
  route('/v1/half', async ({ response }) => {
    response.writeHead(200).write('half')
    throw new Error('broke in the middle')
  }),
  route('/v1/admin', async ({ response }) => sendJson(response, 200, Buffer.from('{}')), 'admin'),
]

async function start(
  options: {
    authenticate?: Authenticate
    corsOrigins?: string[]
    headersTimeoutMs?: number
    requestTimeoutMs?: number
  } = {},
): Promise<Listener> {
  const { authenticate = adminAuthenticate(TOKEN), corsOrigins = [], ...timeouts } = options
  const app = createApp({ routes, authenticate, corsOrigins, logger })
  const listener = await listen(app, {
    host: '127.0.0.1',
    port: 0,
    setting: 'BRIDGE_HTTP_PORT',
    clock: systemClock,
    logger,
    ...timeouts,
  })
  open.push(listener)
  return listener
}

const auth = { authorization: `Bearer ${TOKEN}` }
const head = `Host: x\r\nAuthorization: Bearer ${TOKEN}\r\n`

/** The response as status, code and headers; checks that an error is a complete problem document. */
async function ask(url: string, init: RequestInit = {}) {
  const response = await fetch(url, { headers: auth, ...init })
  const text = await response.text()
  if (response.status >= 400 && init.method !== 'HEAD') {
    expect(response.headers.get('content-type')).toBe('application/problem+json; charset=utf-8')
    const body = JSON.parse(text)
    expect(body).toMatchObject({
      type: `urn:disclosure-bridge:problem:${body.code}`,
      title: expect.any(String),
      status: response.status,
      detail: expect.any(String),
      errors: expect.any(Array),
    })
    expect(Object.keys(problemCodes)).toContain(body.code)
  }
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: text === '' ? null : JSON.parse(text),
  }
}

describe('authentication', () => {
  test('accepts the admin token, whatever the case of the scheme, as tenant default with every scope', async () => {
    const { url } = await start()
    const { status, body } = await ask(`${url}/v1/status`, {
      headers: { authorization: `bEaReR   ${TOKEN}` },
    })
    expect(status).toBe(200)
    expect(body).toMatchObject({
      tenant: 'default',
      scopes: expect.arrayContaining(['admin', 'events:read']),
    })
  })

  test.each([
    undefined,
    '',
    'Bearer',
    `Basic ${TOKEN}`,
    TOKEN,
    `Bearer ${TOKEN}x`,
    `Bearer ${TOKEN.slice(0, -1)}`,
    'Bearer ü',
    `Bearer ${'x'.repeat(10_000)}`,
  ])('answers 401 with a challenge to "%s"', async (authorization) => {
    const { url } = await start()
    const { status, headers, body, text } = await ask(`${url}/v1/status`, {
      headers: authorization === undefined ? {} : { authorization },
    })
    expect(status).toBe(401)
    expect(headers.get('www-authenticate')).toContain('Bearer realm=')
    expect(body.code).toBe('unauthorised')
    expect(text).not.toContain(TOKEN)
  })

  test('checks other tokens in the token registry, and refuses a token without the scope', async () => {
    const { url } = await start({
      authenticate: knows({ narrow: { tenant: 't' } }),
    })
    const narrow = { headers: { authorization: 'Bearer narrow' } }
    expect((await ask(`${url}/v1/status`, narrow)).body).toMatchObject({
      tenant: 't',
      scopes: ['events:read'],
    })
    const refused = await ask(`${url}/v1/admin`, narrow)
    expect(refused.status).toBe(403)
    expect(refused.body.detail).toContain('admin')
  })
})

describe('paths and methods', () => {
  test('suggest the closest match of an unknown path', async () => {
    const { url } = await start()
    const { status, body } = await ask(`${url}/v1/disclosure`)
    expect(status).toBe(404)
    expect(body.detail).toContain('/v1/disclosures')
    expect((await ask(`${url}/V1/STATUS`)).status).toBe(404)
  })

  test.each(['POST', 'PUT', 'DELETE', 'PATCH'])(
    'answer 405 with Allow to %s, with a body too',
    async (method) => {
      const { url } = await start()
      const { status, headers } = await ask(`${url}/v1/status`, { method, body: 'x'.repeat(100_000) })
      expect(status).toBe(405)
      expect(headers.get('allow')).toBe('GET, HEAD, OPTIONS')
    },
  )

  test('answer HEAD as GET without a body, and OPTIONS with Allow', async () => {
    const { url } = await start()
    const answer = await ask(`${url}/v1/status`, { method: 'HEAD' })
    expect(answer.status).toBe(200)
    expect(Number(answer.headers.get('content-length'))).toBeGreaterThan(0)
    const options = await fetch(`${url}/v1/status`, { method: 'OPTIONS' })
    expect(options.status).toBe(204)
    expect(options.headers.get('allow')).toContain('GET')
  })

  test('carry the extra members of a problem', async () => {
    const { url } = await start()
    const { status, body } = await ask(`${url}/v1/disclosures`)
    expect(status).toBe(410)
    expect(body).toMatchObject({ code: 'cursor_too_old', oldest: 'c' })
  })

  test('hide internal errors and the server software, and log the error', async () => {
    const { url } = await start()
    const { status, text, headers } = await ask(`${url}/v1/fault?token=x`)
    expect([status, headers.get('x-powered-by')]).toEqual([500, null])
    expect(text).not.toMatch(/secret|at |\.ts/)
    const fields = { path: '/v1/fault' }
    expect(lines).toMatchObject([{ level: 'error', event: 'http.request_failed', fields }])
  })

  test('cut the connection if a handler fails in the middle of its response', async () => {
    const { url } = await start()
    await expect(
      fetch(`${url}/v1/half`, { headers: auth }).then((response) => response.text()),
    ).rejects.toThrow()
    expect((await ask(`${url}/v1/status`)).status).toBe(200)
  })

  test('set the security headers for browsers', async () => {
    const { url } = await start()
    const { headers } = await ask(`${url}/nothing`)
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('content-security-policy')).toContain("default-src 'none'")
  })
})

describe('malformed input', () => {
  test.each([
    ['/v1/%', 400, 'url_malformed'],
    ['/v1/status?q=%zz', 400, 'url_malformed'],
    ['/v1/status?q=%C3%28', 400, 'url_malformed'],
    ['/v1/status%00', 400, 'url_malformed'],
    ['/v1/status?q=a%00b', 400, 'url_malformed'],
    [`/v1/status?q=${'a'.repeat(17_000)}`, 414, 'url_too_long'],
    ['/../../etc/passwd', 404, 'not_found'],
    ['//v1/status', 404, 'not_found'],
  ])('in the URL is refused: %s', async (path, status, code) => {
    const { port } = await start()
    const answer = await raw(port, `GET ${path} HTTP/1.1\r\n${head}\r\n`)
    expect(answer.status).toBe(status)
    expect(JSON.parse(answer.body).code).toBe(code)
  })

  test.each([
    ['declared and large', `Content-Length: 70000\r\n\r\n${'x'.repeat(70_000)}`, 413, 'body_too_large'],
    [
      'chunked and large',
      `Transfer-Encoding: chunked\r\n\r\n${`2000\r\n${'x'.repeat(8192)}\r\n`.repeat(9)}0\r\n\r\n`,
      413,
      'body_too_large',
    ],
    [
      'chunked and endless',
      `Transfer-Encoding: chunked\r\n\r\n${`2000\r\n${'x'.repeat(8192)}\r\n`.repeat(9)}`,
      413,
      'body_too_large',
    ],
    ['small', 'Content-Length: 2\r\n\r\n[]', 400, 'body_unexpected'],
    ['chunked and small', 'Transfer-Encoding: chunked\r\n\r\n2\r\n[]\r\n0\r\n\r\n', 400, 'body_unexpected'],
    ['empty', 'Content-Length: 0\r\n\r\n', 200, undefined],
    ['chunked and empty', 'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n', 200, undefined],
  ])('as a body that is %s gets the documented status', async (_name, rest, status, code) => {
    const { port } = await start()
    const answer = await raw(port, `GET /v1/status HTTP/1.1\r\n${head}${rest}`)
    expect(answer.status).toBe(status)
    expect(JSON.parse(answer.body).code).toBe(code)
  })

  test.each([
    ['no HTTP', 'hello\r\n\r\n', 400, 'request_malformed'],
    [
      'a second length',
      `GET /v1/status HTTP/1.1\r\n${head}Content-Length: 1\r\nContent-Length: 2\r\n\r\nx`,
      400,
      'request_malformed',
    ],
    ['a header with NUL', `GET /v1/status HTTP/1.1\r\nHost: x\r\nX: a\0b\r\n\r\n`, 400, 'request_malformed'],
    [
      'headers above 16 KB',
      `GET /v1/status HTTP/1.1\r\n${head}X: ${'a'.repeat(16_400)}\r\n\r\n`,
      431,
      'headers_too_large',
    ],
    [
      'no Host',
      `GET /v1/status HTTP/1.1\r\nAuthorization: Bearer ${TOKEN}\r\n\r\n`,
      400,
      'request_malformed',
    ],
  ])('as a request is refused: %s', async (_name, text, status, code) => {
    const { port } = await start()
    const answer = await raw(port, text)
    expect(answer.status).toBe(status)
    expect(answer.headers).toMatchObject({
      'content-type': 'application/problem+json; charset=utf-8',
      connection: 'close',
    })
    expect(JSON.parse(answer.body).code).toBe(code)
  })

  test('is not reported for HTTP/1.0 without Host or an unknown expectation', async () => {
    const { port } = await start()
    const authorised = `Authorization: Bearer ${TOKEN}\r\n`
    expect(await raw(port, `GET /v1/status HTTP/1.0\r\n${authorised}\r\n`)).toMatchObject({ status: 200 })
    const expecting = (path: string, expectation: string) =>
      raw(port, `GET ${path} HTTP/1.1\r\n${head}Expect: ${expectation}\r\n\r\n`)
    expect(await expecting('/v1/status', 'bogus')).toMatchObject({ status: 200 })
    const refused = await expecting('/nothing', 'bogus')
    expect([refused.status, JSON.parse(refused.body).code]).toEqual([404, 'not_found'])
    expect(await expecting('/v1/status', '100-continue')).toMatchObject({ status: 100 })
  })

  test('that never ends is cut off with 408', async () => {
    const { port } = await start({ headersTimeoutMs: 50, requestTimeoutMs: 50 })
    const answer = await raw(port, 'GET /v1/status HTTP/1.1\r\nHost')
    expect(answer.status).toBe(408)
    expect(JSON.parse(answer.body).code).toBe('request_timeout')
  })
})

describe('browsers', () => {
  test('of a listed origin may call the API, of any other not', async () => {
    const { url } = await start({ corsOrigins: ['https://desk.example'] })
    const preflight = await fetch(`${url}/v1/status`, {
      method: 'OPTIONS',
      headers: { origin: 'https://desk.example', 'access-control-request-method': 'GET' },
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-origin')).toBe('https://desk.example')
    expect(preflight.headers.get('access-control-allow-headers')).toContain('Last-Event-ID')
    const refused = await ask(`${url}/nothing`, { headers: { origin: 'https://desk.example' } })
    expect(refused.headers.get('access-control-allow-origin')).toBe('https://desk.example')
    const other = await ask(`${url}/v1/status`, { headers: { ...auth, origin: 'https://desk.example.evil' } })
    expect(other.headers.get('access-control-allow-origin')).toBeNull()
    expect(other.headers.get('vary')).toContain('Origin')
  })
})

describe('the listener', () => {
  test('fails with the remedy when its port is taken, which is no wrong setting', async () => {
    const { port } = await start()
    const again = listen(() => {}, {
      host: '127.0.0.1',
      port,
      setting: 'BRIDGE_HTTP_PORT',
      clock: systemClock,
      logger,
    })
    await expect(again).rejects.toMatchObject({
      code: 'failed',
      hint: expect.stringContaining('BRIDGE_HTTP_PORT'),
    })
  })

  test('completes responses in flight, refuses new requests on open connections, then closes', async () => {
    const begun = Promise.withResolvers<void>()
    const finish = Promise.withResolvers<void>()
    const listener = await listen(
      async (_request, response) => {
        begun.resolve()
        await finish.promise
        response.end('whole')
      },
      { host: '127.0.0.1', port: 0, setting: 'X', clock: systemClock, logger },
    )
    const answer = fetch(listener.url)
    await begun.promise
    const closed = listener.close(60_000)
    expect(listener.close(0)).toBe(closed)
    expect((await fetch(listener.url)).status).toBe(503)
    finish.resolve()
    expect(await (await answer).text()).toBe('whole')
    await closed
    await expect(fetch(listener.url)).rejects.toThrow()
  })

  test('cuts responses that do not end within the budget', async () => {
    const begun = Promise.withResolvers<void>()
    const listener = await listen(() => begun.resolve(), {
      host: '127.0.0.1',
      port: 0,
      setting: 'X',
      clock: systemClock,
      logger,
    })
    const answer = fetch(listener.url)
    const cut = expect(answer).rejects.toThrow()
    await begun.promise
    await listener.close(1)
    await cut
  })
})
