import { execFile } from 'node:child_process'
import type { RequestListener } from 'node:http'
import { connect } from 'node:net'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { createApp } from '../../src/http/app.ts'
import { adminAuthenticate } from '../../src/http/auth.ts'
import { type Listener, listen } from '../../src/http/listener.ts'
import { HttpProblem, problemCodes } from '../../src/http/problem.ts'
import { plainText, readBody } from '../../src/http/read-body.ts'
import { type Route, sendJson } from '../../src/http/route.ts'
import { unreadFilter } from '../../src/http/schemas/filter-schema.ts'
import { ranged } from '../../src/http/schemas/json-schema.ts'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { keepingLogger } from '../support/keeping-logger.ts'
import { raw } from './raw.ts'

const TOKEN = 'a token of the tests'
const ORIGIN = 'https://desk.example'
const MAX_BYTES = 100_000

const echo = {
  method: 'POST',
  isReadOnly: true,
  path: '/v1/echo',
  scope: 'events:read',
  summary: '',
  parameters: {},
  answers: {},
  body: { maxBytes: MAX_BYTES, schema: z.strictObject({}) },
  handle: async ({ response, body }) => sendJson(response, 200, Buffer.from(JSON.stringify({ body }))),
} as const satisfies Route
const patch = {
  ...echo,
  method: 'PATCH',
  path: '/v1/patched',
  handle: async ({ response, body }) =>
    sendJson(response, 200, Buffer.from(JSON.stringify({ patched: body })), { ETag: '"1"' }),
} as const satisfies Route
const owned: Route = {
  ...patch,
  path: '/v1/owned/{id}',
  requireTarget: ({ segment, caller }) => {
    if (segment('id') !== caller.tenant) throw new HttpProblem('not_found', 'there is none')
  },
}
/** A route without a body, for both methods. */
const bare = {
  path: '/v1/both',
  scope: 'events:read',
  summary: '',
  parameters: {},
  answers: {},
  handle: async ({ response, body }) => sendJson(response, 200, Buffer.from(JSON.stringify(`${body}`))),
} as const satisfies Omit<Route, 'method'>
const routes: Route[] = [
  echo,
  patch,
  owned,
  { ...bare, method: 'GET' },
  { ...bare, method: 'POST', isReadOnly: true },
]

async function start(): Promise<Listener & AsyncDisposable> {
  const { logger } = keepingLogger()
  const app = createApp({ routes, authenticate: adminAuthenticate(TOKEN), corsOrigins: [ORIGIN], logger })
  const listener = await listen(app, { host: '127.0.0.1', port: 0, setting: 'X', clock: systemClock, logger })
  return { ...listener, [Symbol.asyncDispose]: () => listener.close(0) }
}

const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }

async function post(url: string, body: string | Uint8Array<ArrayBuffer>, more: Record<string, string> = {}) {
  const response = await fetch(url, { method: 'POST', headers: { ...headers, ...more }, body })
  return { status: response.status, body: (await response.json()) as { code?: string; detail?: string } }
}

/** Sends 20 MB from a process of its own, which reads nothing before all is written, and returns the status. */
async function sendLarge(url: string, more: Record<string, string>): Promise<number> {
  const script = `
    const { request } = require('node:http')
    const [url, headers] = JSON.parse(process.argv[1])
    const sent = request(url, { method: 'POST', headers }, (answer) => {
      answer.resume().on('end', () => process.stdout.write(String(answer.statusCode)))
    })
    sent.on('error', ({ code }) => process.stdout.write(code))
    sent.end('x'.repeat(20e6))`
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', script, JSON.stringify([url, more])])
  return Number(stdout)
}

describe('a JSON body', () => {
  test('reaches its route as a value, at any size within the limit and any case of its type', async () => {
    await using listener = await start()
    const url = `${listener.url}/v1/echo`
    expect((await post(url, '{"a": [1, "ü"]}')).body).toEqual({ body: { a: [1, 'ü'] } })
    const long = 'x'.repeat(MAX_BYTES - 2)
    expect((await post(url, JSON.stringify(long))).body).toEqual({ body: long })
    const type = { 'content-type': 'Application/JSON; Charset="UTF-8"' }
    expect((await post(url, 'null', type)).body).toEqual({ body: null })
  })

  test.each([
    ['text/plain', '{}', {}],
    ['', '{}', {}],
    ['application/json; charset=latin1', '{}', {}],
    ['application/json', '{}', { 'content-encoding': 'gzip' }],
  ])('of type "%s" is refused with 415', async (type, body, more) => {
    await using listener = await start()
    const answer = await post(`${listener.url}/v1/echo`, body, { 'content-type': type, ...more })
    expect([answer.status, answer.body.code]).toEqual([415, 'media_type_unsupported'])
    expect(answer.body.detail).toContain(
      type === 'application/json' ? 'Content-Encoding' : 'application/json',
    )
  })

  test.each([
    ['{"a":', 'not JSON'],
    ['', 'there is none'],
    [Uint8Array.of(0x22, 0xff, 0x22), 'not UTF-8'],
    ['{} {}', 'not JSON'],
    ['{"a":1,"a":2}', '"a" twice in one object'],
    [`${'['.repeat(33)}${']'.repeat(33)}`, 'deeper than 32'],
  ])('that cannot be read is refused with 400', async (body, words) => {
    await using listener = await start()
    const answer = await post(`${listener.url}/v1/echo`, body)
    expect([answer.status, answer.body.code]).toEqual([400, 'body_malformed'])
    expect(answer.body.detail).toContain(words)
  })

  test('whose client disconnects before its end reaches no route, even if the received part is JSON', async () => {
    const bodies: unknown[] = []
    const keep: Route = { ...echo, handle: async ({ body }) => void bodies.push(body) }
    const gone = Promise.withResolvers<void>()
    const { logger } = keepingLogger()
    const app = createApp({
      ...{ routes: [keep], authenticate: adminAuthenticate(TOKEN), corsOrigins: [], logger },
    })
    const watched: RequestListener = (request, response) => {
      request.on('close', () => setImmediate(gone.resolve))
      app(request, response)
    }
    const parts = { host: '127.0.0.1', port: 0, setting: 'X', clock: systemClock, logger }
    const listener = await listen(watched, parts)
    onTestFinished(() => listener.close(0))
    const socket = connect(listener.port, '127.0.0.1')
    const head = `POST /v1/echo HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\n`
    socket.write(`${head}Content-Type: application/json\r\nContent-Length: 3\r\n\r\n{}`, () =>
      socket.destroy(),
    )
    await gone.promise
    expect(bodies).toEqual([])
  })

  test('above the limit of its route is refused with 413 and that limit, declared or not', async () => {
    await using listener = await start()
    const head = `POST /v1/echo HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: application/json\r\n`
    const declared = await raw(listener.port, `${head}Content-Length: ${MAX_BYTES + 1}\r\n\r\n`)
    const chunks = `2000\r\n${'x'.repeat(8192)}\r\n`.repeat(13)
    const endless = await raw(listener.port, `${head}Transfer-Encoding: chunked\r\n\r\n${chunks}`)
    for (const answer of [declared, endless]) {
      expect(answer.status).toBe(413)
      expect(JSON.parse(answer.body)).toMatchObject({
        code: 'body_too_large',
        detail: expect.stringContaining(String(MAX_BYTES)),
      })
    }
  })

  test('of an unauthenticated client is not read: the token is checked first', async () => {
    await using listener = await start()
    const answer = await post(`${listener.url}/v1/echo`, 'rubbish', { authorization: 'Bearer no' })
    expect([answer.status, answer.body.code]).toEqual([401, 'unauthorised'])
  })

  test.each([['{"a":1}'], ['[]'], ['null'], ['{}{}'], [' ']])(
    'is refused by a POST that accepts none: %s',
    async (body) => {
      await using listener = await start()
      const answer = await post(`${listener.url}/v1/both`, body)
      expect([answer.status, answer.body.code]).toEqual([400, 'body_unexpected'])
    },
  )

  test.each([
    ['', ''],
    ['{}', 'application/json'],
    [' {\r\n} ', 'text/plain'],
  ])(
    'that is nothing or an empty object is no body where none is wanted: %j of type %s',
    async (body, type) => {
      await using listener = await start()
      const more = { 'content-type': type }
      expect(await post(`${listener.url}/v1/both`, body, more)).toEqual({ status: 200, body: 'undefined' })
    },
  )

  test.each([
    ['/v1/echo', TOKEN, 413],
    ['/v1/both', TOKEN, 413],
    ['/v1/echo', 'wrong', 401],
    ['/v1/both', 'wrong', 401],
    ['/v1/nothing', TOKEN, 404],
  ])(
    'of 20 MB to %s with the token "%s" is answered, also where the connection ends',
    async (path, token, status) => {
      await using listener = await start()
      for (const connection of ['close', 'keep-alive']) {
        expect(
          await sendLarge(`${listener.url}${path}`, {
            ...headers,
            authorization: `Bearer ${token}`,
            connection,
          }),
        ).toBe(status)
      }
    },
  )
})

describe('a PATCH', () => {
  test('has a body like a POST, and browsers of allowed origins may send its precondition and read the ETag', async () => {
    await using listener = await start()
    const url = `${listener.url}/v1/patched`
    const patched = await fetch(url, {
      method: 'PATCH',
      headers: { ...headers, origin: ORIGIN },
      body: '{"a":1}',
    })
    expect(await patched.json()).toEqual({ patched: { a: 1 } })
    expect(patched.headers.get('etag')).toBe('"1"')
    expect(patched.headers.get('access-control-expose-headers')).toContain('ETag')
    const asked = { origin: ORIGIN, 'access-control-request-method': 'PATCH' }
    const preflight = await fetch(url, { method: 'OPTIONS', headers: asked })
    expect(preflight.headers.get('access-control-allow-methods')).toBe('PATCH')
    expect(preflight.headers.get('access-control-allow-headers')).toContain('If-Match')
  })
})

describe('who may do it is decided before what was sent is judged', () => {
  test.each([
    ['/v1/both?x=%zz', 'wrong', 401],
    ['/v1/owned/default?x=%zz', 'wrong', 401],
    ['/v1/owned/other?x=%zz', TOKEN, 404],
    ['/v1/owned/default?x=%zz', TOKEN, 400],
    ['/v1/owned/default', TOKEN, 400],
  ])('a broken request to %s with the token "%s" is answered %i', async (path, token, status) => {
    await using listener = await start()
    const method = path.startsWith('/v1/both') ? 'POST' : 'PATCH'
    const authorization = `Bearer ${token}`
    const answer = await fetch(`${listener.url}${path}`, {
      method,
      headers: { ...headers, authorization },
      body: '{"broken',
    })
    expect(answer.status).toBe(status)
  })
})

describe('methods', () => {
  test.each([
    ['/v1/echo', 'GET', 'POST, OPTIONS'],
    ['/v1/echo', 'HEAD', 'POST, OPTIONS'],
    ['/v1/both', 'PUT', 'GET, HEAD, POST, OPTIONS'],
  ])('of %s are in the 405 response to %s', async (path, method, allow) => {
    await using listener = await start()
    const { status, headers: answered } = await fetch(`${listener.url}${path}`, { method, headers })
    expect([status, answered.get('allow')]).toEqual([405, allow])
  })

  test('are listed per path in Allow and for browsers', async () => {
    await using listener = await start()
    const preflight = { origin: ORIGIN, 'access-control-request-method': 'POST' }
    const ask = (path: string, more: Record<string, string>): Promise<Response> =>
      fetch(`${listener.url}${path}`, { method: 'OPTIONS', headers: more })
    expect((await ask('/v1/echo', {})).headers.get('allow')).toBe('POST, OPTIONS')
    const methods = 'access-control-allow-methods'
    expect((await ask('/v1/echo', preflight)).headers.get(methods)).toBe('POST')
    expect((await ask('/v1/both', preflight)).headers.get(methods)).toBe('GET, HEAD, POST')
    expect((await ask('/v2/anything', preflight)).headers.get(methods)).toBe('GET, HEAD')
  })
})

describe('body members', () => {
  const schema = z.strictObject({
    filter: unreadFilter,
    last: ranged({ low: 1, high: 10, otherwise: 3 }, 'Last'),
  })
  const read = (body: unknown): HttpProblem | null => {
    try {
      readBody(schema, body)
      return null
    } catch (error) {
      return error as HttpProblem
    }
  }

  test('are refused all at once, unknown ones with the closest match', () => {
    expect(read({ fliter: {}, last: 11 })).toMatchObject({
      code: 'body_invalid',
      parts: {
        errors: [
          { field: 'fliter', message: 'is not a member of this body – did you mean "filter"?' },
          { field: 'filter', message: 'is missing; it is required' },
          { field: 'last', message: 'must be a whole number from 1 to 10' },
        ],
      },
    })
    expect(read({ filter: 0, last: 10 })).toBeNull()
  })

  test.each([[[]], [null], ['text'], [7]])('of the body %j are refused: it is no object', (body) => {
    expect(read(body)).toMatchObject({
      code: 'body_invalid',
      message: expect.stringContaining('filter, last'),
    })
  })

  test.each([[''], ['x'.repeat(11)], [7], [null], ['a\u001b[2J'], ['\u202eabc'], ['\ud800'], ['a\nb']])(
    'of type text refuse %j',
    (name) => {
      const named = z.strictObject({ name: plainText(10).optional() })
      expect(() => readBody(named, { name })).toThrow(/name/)
      expect(readBody(named, { name: 'Büro 7 𝄞' })).toEqual({ name: 'Büro 7 𝄞' })
      expect(readBody(named, {})).toEqual({})
    },
  )

  test.each([['5'], [1.5], [null], [Number.MAX_VALUE]])('of type number refuse %j', (last) => {
    expect(read({ filter: {}, last })?.code).toBe('body_invalid')
  })

  test('have error codes of the documented list', () => {
    for (const code of ['body_invalid', 'body_malformed', 'media_type_unsupported'])
      expect(Object.keys(problemCodes)).toContain(code)
  })
})
