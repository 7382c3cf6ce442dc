/**
 * Tests the OpenAPI generator over sample routes. `test/integration/openapi.test.ts` tests the document of the running
 * product.
 */
import { expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { documentedRoutes } from '../../docs/generate.ts'
import { type FundSource, fundRoutes } from '../../src/api/mirror/fund-routes.ts'
import { referenceRoutes } from '../../src/api/mirror/reference-routes.ts'
import { openApiDocument } from '../../src/api/openapi/document.ts'
import { operationId, pagesByName, tagOf, titleOf } from '../../src/api/openapi/words.ts'
import { openApiRoute } from '../../src/api/routes/document-route.ts'
import { createFundGateway, fundsOff } from '../../src/api/routes/fund-gateway.ts'
import { createApp } from '../../src/http/app.ts'
import { listen } from '../../src/http/listener.ts'
import type { Route } from '../../src/http/route.ts'
import { eventSchema } from '../../src/http/schemas/event-schema.ts'
import { anyObject } from '../../src/http/schemas/json-schema.ts'
import { systemClock } from '../../src/lifecycle/clock.ts'
import { openApiRules, operationsOf } from '../support/house/openapi-rules.ts'
import { type OpenApi, openApiShape } from '../support/house/openapi-shape.ts'
import { keepingLogger } from '../support/keeping-logger.ts'
import { createMemoryLog } from '../support/memory-log.ts'

const mirror = {
  prefix: '/v2',
  routes: [...referenceRoutes({ list: () => [], detail: () => null }), ...fundRoutes(fundsOff)],
}

function route(parts: Partial<Route>): Route {
  return {
    method: 'GET',
    path: '/v1/things',
    scope: 'events:read',
    summary: 'Things.',
    parameters: {},
    answers: { 200: { meaning: 'They.', schema: anyObject } },
    handle: async () => {},
    ...parts,
  } as Route
}

function documentOf(...routes: Route[]): OpenApi {
  return openApiDocument({ routes, mirror }) as OpenApi
}

test('the document of all routes has the shape of OpenAPI 3.1, and breaks no rule', () => {
  const document: unknown = JSON.parse(
    JSON.stringify(openApiDocument({ routes: documentedRoutes(), mirror })),
  )
  const shaped = openApiShape.parse(document)
  expect(openApiRules.flatMap((rule) => rule(shaped).map((breach) => `${rule.name}: ${breach}`))).toEqual([])
  expect(operationsOf(shaped).length).toBeGreaterThan(15)
  const { tags } = document as { tags: { name: string; description?: string }[] }
  expect(tags.filter(({ description }) => description === undefined)).toEqual([])
})

test('a route appears as its definition describes it', () => {
  const { paths, components } = documentOf(
    route({
      method: 'POST',
      path: '/v1/things/{id}/parts',
      scope: 'admin',
      summary: 'Makes a part: 201 with it. See [tokens.md](tokens.md#on-kafka).',
      parameters: { dry: 'Nothing is done.' },
      headers: { 'If-Match': 'The version.' },
      body: {
        maxBytes: 10,
        schema: z.strictObject({
          name: z.string().describe('Its name, see [tokens.md](tokens.md).'),
          any: z.unknown().optional().describe('Anything.'),
        }),
      },
      answers: {
        201: { meaning: 'The part.', schema: anyObject, headers: { ETag: 'Its version.' } },
      },
      problems: ['limit_reached'],
    }),
  )
  const operation = paths['/v1/things/{id}/parts']?.post
  expect(operation).toMatchObject({
    operationId: 'postV1ThingsByIdParts',
    tags: ['things'],
    summary: 'Makes a part',
    description: 'Makes a part: 201 with it. See docs/use/tokens.md#on-kafka.',
    security: [{ bearer: ['admin'] }, { session: [] }],
    parameters: [
      { name: 'id', in: 'path', required: true, description: 'As `/v1/things` gives it.' },
      { name: 'dry', in: 'query', schema: { type: 'string' } },
      { name: 'If-Match', in: 'header', schema: { type: 'string' } },
    ],
    requestBody: {
      content: {
        'application/json': {
          schema: {
            properties: {
              name: { type: 'string', description: 'Its name, see docs/use/tokens.md.' },
              any: { description: 'Anything.' },
            },
            required: ['name'],
            additionalProperties: false,
          },
        },
      },
    },
    responses: {
      201: { description: 'The part.', headers: { ETag: { description: 'Its version.' } } },
      403: { $ref: '#/components/responses/forbidden.limit_reached' },
      404: { $ref: '#/components/responses/not_found' },
      415: { $ref: '#/components/responses/media_type_unsupported' },
    },
  })
  expect(components.responses['forbidden.limit_reached']?.content).toEqual({
    'application/problem+json': {
      schema: {
        allOf: [
          { $ref: '#/components/schemas/Problem' },
          { properties: { code: { enum: ['forbidden', 'limit_reached'] } } },
        ],
      },
    },
  })
})

test('a response with Retry-After documents that header', () => {
  const { responses } = documentOf(route({ problems: ['too_many', 'unavailable'] })).components
  for (const name of ['too_many.rate_limited', 'unavailable']) {
    expect(responses[name]?.headers).toHaveProperty('Retry-After')
  }
  expect(responses.not_found?.headers).toBeUndefined()
})

test('every operation has 429 with Retry-After and the headers of a rate, which a good answer has too', () => {
  const routes = documentedRoutes()
  const document = openApiShape.parse(JSON.parse(JSON.stringify(openApiDocument({ routes, mirror }))))
  const { components } = document
  const rates = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset', 'RateLimit-Policy']
  const pointers = Object.fromEntries(rates.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
  expect(Object.keys(components.headers ?? {})).toEqual(rates)
  for (const { method, path, operation } of operationsOf(document)) {
    for (const [status, response] of Object.entries(operation.responses)) {
      const isGood = /^2/.test(status)
      if (!isGood && status !== '429') continue
      const answer =
        '$ref' in response ? components.responses[response.$ref.split('/').at(-1) ?? ''] : response
      const expected = isGood ? pointers : { 'Retry-After': expect.any(Object), ...pointers }
      expect([method, path, status, answer?.headers]).toEqual([
        method,
        path,
        status,
        expect.objectContaining(expected),
      ])
    }
    expect(Object.keys(operation.responses), `${method} ${path}`).toContain('429')
  }
  expect(Object.keys(document.paths).filter((path) => path.startsWith('/v2/')).length).toBeGreaterThan(5)
})

test('fund paths have the gateway’s statuses only if the gateway is on', () => {
  const log = createMemoryLog()
  onTestFinished(() => log.close())
  const gateway = createFundGateway({ requests: log.requests, clock: systemClock })
  const statusesOf = (source: FundSource): Record<string, string[]> => {
    const routes = [...mirror.routes.filter(({ key }) => key === 'none'), ...fundRoutes(source)]
    const { paths } = openApiDocument({ routes: [route({})], mirror: { prefix: '/v2', routes } }) as OpenApi
    return Object.fromEntries(
      Object.entries(paths).map(([path, { get }]) => [path, Object.keys(get?.responses ?? {})]),
    )
  }
  const [on, off] = [statusesOf(gateway), statusesOf(fundsOff)]
  for (const path of ['/v2/nav', '/v2/nav/{identifier}', '/v2/dividends/{identifier}/history']) {
    expect(on[path]).toEqual(expect.arrayContaining(['502', '503', '504']))
    expect(off[path]).toContain('503')
    expect(off[path]?.filter((status) => ['502', '504'].includes(status))).toEqual([])
  }
  expect(on['/v2/references/exchanges']).not.toContain('502')
})

test('a filter is documented field by field, lists with commas, and as JSON', () => {
  const { paths } = documentOf(route({ takesFilter: true }))
  const parameters = paths['/v1/things']?.get?.parameters ?? []
  expect(parameters.find(({ name }) => name === 'isins')).toMatchObject({
    style: 'form',
    explode: false,
    schema: { type: 'array' },
  })
  expect(parameters.find(({ name }) => name === 'filter')).toMatchObject({
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Filter' } } },
  })
})

test('each rule and the schema reject a wrong document', () => {
  const answers = { 200: { meaning: 'Events.', schema: eventSchema } }
  const good = documentOf(route({ takesFilter: true, answers }))
  const get = good.paths['/v1/things']?.get
  if (get === undefined) throw new Error('there is no such path')
  const withGet = (parts: object): OpenApi => ({
    ...good,
    paths: { ...good.paths, '/v1/things': { get: { ...get, ...parts } } },
  })
  const broken = (document: OpenApi): string[] => openApiRules.flatMap((rule) => rule(document))
  expect(broken(good)).toEqual([])
  expect(broken(withGet({ operationId: 'getV2Nav' }))).toEqual(['getV2Nav names two operations'])
  const named = {
    200: { description: 'x', content: { 'a/b': { schema: { $ref: '#/components/schemas/X' } } } },
  }
  expect(broken(withGet({ responses: { ...get.responses, ...named } }))).toContain(
    '#/components/schemas/X does not exist',
  )
  expect(broken(withGet({ parameters: [] }))).toContain('#/components/schemas/Filter is not used')
  const id = { name: 'id', in: 'path', required: true, description: 'x', schema: {} }
  expect(broken(withGet({ parameters: [...get.parameters, id, id] }))).toEqual([
    'get /v1/things has no path id',
    'get /v1/things has no path id',
    'get /v1/things has path id twice',
  ])
  expect(broken({ ...good, paths: { ...good.paths, '/a/{b}': { get } } })).toContain(
    'get /a/{b} lacks path b',
  )
  expect(broken(withGet({ security: [{ magic: [] }] }))).toEqual([
    'get /v1/things: there is no access by magic',
  ])
  const { 200: _well, 401: _stranger, ...others } = get.responses
  expect(broken(withGet({ responses: others }))).toEqual(
    expect.arrayContaining(['get /v1/things never answers well', 'get /v1/things lacks 401']),
  )
  const schemas = { ...good.components.schemas, Gap: { properties: {}, required: ['x'] } }
  expect(broken({ ...good, components: { ...good.components, schemas } })).toContain(
    'x is required and no member',
  )
  expect(broken(withGet({ summary: '[a](b.md)' }))).toEqual(['"[a](b.md)" has a link'])
  for (const wrong of [
    withGet({ sumary: 'x' }),
    withGet({ description: '' }),
    withGet({ parameters: [{ name: 'a', in: 'query', schema: {} }] }),
    withGet({ parameters: [{ name: 'a', in: 'query', description: 'x', schema: { typ: 'string' } }] }),
    withGet({ parameters: [{ ...id, required: false }] }),
    withGet({ responses: { ok: { description: 'x' } } }),
  ]) {
    expect(openApiShape.safeParse(wrong).success).toBe(false)
  }
  expect(openApiShape.safeParse(good).error).toBeUndefined()
})

test('the document needs no token, has an ETag, and is not sent again to clients that have it', async () => {
  const { logger } = keepingLogger()
  const routes = [openApiRoute({ routes: [route({})], mirror })]
  const app = createApp({ routes, authenticate: () => 'unknown', corsOrigins: [], logger })
  const listener = await listen(app, { host: '127.0.0.1', port: 0, setting: 'X', clock: systemClock, logger })
  onTestFinished(() => listener.close(0))
  const url = `${listener.url}/openapi.json`
  const first = await fetch(url)
  const text = await first.text()
  expect(first.status).toBe(200)
  expect(first.headers.get('content-type')).toBe('application/json; charset=utf-8')
  expect(first.headers.get('cache-control')).toBe('no-cache')
  expect(Object.keys((JSON.parse(text) as OpenApi).paths)).toContain('/openapi.json')
  const tag = first.headers.get('etag') ?? ''
  expect(tag).toMatch(/^"[\w-]{22}"$/)
  for (const known of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
    const again = await fetch(url, { headers: { 'if-none-match': known } })
    expect([known, again.status, await again.text(), again.headers.get('etag')]).toEqual([
      known,
      304,
      '',
      tag,
    ])
  }
  const other = await fetch(url, { headers: { 'if-none-match': '"other"', authorization: 'Bearer wrong' } })
  expect([other.status, await other.text()]).toEqual([200, text])
  const head = await fetch(url, { method: 'HEAD' })
  expect([head.status, head.headers.get('content-length')]).toEqual([200, String(Buffer.byteLength(text))])
  expect((await fetch(`${url}?x=1`)).status).toBe(400)
})

test('names and titles are derived from paths and sentences', () => {
  expect(operationId('DELETE', '/v1/tokens/{id}')).toBe('deleteV1TokensById')
  expect(operationId('GET', '/openapi.json')).toBe('getOpenapiJson')
  expect([tagOf('/v1/tokens/{id}'), tagOf('/openapi.json')]).toEqual(['tokens', 'openapi.json'])
  expect(titleOf('Pull: `{data}`, more.')).toBe('Pull')
  expect(titleOf('Reads openapi.json. Then not.')).toBe('Reads openapi.json')
  expect(pagesByName('a [b](c-d.md#e), f')).toBe('a docs/use/c-d.md#e, f')
  expect(pagesByName('[b](../run/c.md)')).toBe('docs/run/c.md')
})
