/**
 * Serves the API documents `GET /openapi.json` and `GET /asyncapi.json` without authentication, with an `ETag` for
 * caches.
 */
import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Channel } from '../../http/channel.ts'
import type { OpenRoute } from '../../http/route.ts'
import { anyObject } from '../../http/schemas/json-schema.ts'
import { asyncApiDocument } from '../asyncapi/document.ts'
import { type DescribedApi, openApiDocument } from '../openapi/document.ts'

/** The route of the OpenAPI document, which includes the route itself and is built once for these routes. */
export function openApiRoute({ routes, mirror }: DescribedApi): OpenRoute {
  return documentRoute(
    '/openapi.json',
    'This API as an OpenAPI 3.1 document: the paths that this node serves.',
    (route) => openApiDocument({ routes: [...routes, route], mirror }),
  )
}

/** The route of the AsyncAPI document of these channels. */
export function asyncApiRoute(channels: readonly Channel[]): OpenRoute {
  return documentRoute(
    '/asyncapi.json',
    'Kafka topics, webhooks, WebSocket and server-sent events as an AsyncAPI 3.0 document, see [asyncapi.md](asyncapi.md).',
    () => asyncApiDocument(channels),
  )
}

/** `write` is called once, with the route under which the document will be served. */
function documentRoute(path: string, summary: string, write: (route: OpenRoute) => object): OpenRoute {
  const route: OpenRoute = {
    method: 'GET',
    path,
    scope: 'open',
    summary,
    parameters: {},
    headers: { 'If-None-Match': 'The `ETag` of a document that is known already.' },
    answers: {
      200: {
        meaning: 'The document.',
        schema: anyObject,
        headers: { ETag: 'Changes with the document.' },
      },
      304: { meaning: 'It is the one that is known.', headers: { ETag: 'Changes with the document.' } },
    },
    async handle({ query, request, response }) {
      query.check()
      // Caches revalidate each time and receive the body only after a change.
      const headers = { ETag: tag, 'Cache-Control': 'no-cache' }
      if (knows(request, tag)) {
        response.writeHead(304, headers).end()
        return
      }
      response.writeHead(200, {
        ...headers,
        'Content-Type': 'application/json; charset=utf-8',
        'Content-Length': document.length,
      })
      response.end(document)
    },
  }
  const document = Buffer.from(JSON.stringify(write(route)))
  const tag = `"${createHash('sha256').update(document).digest('base64url').slice(0, 22)}"`
  return route
}

/** True if the client already has the document with this tag; a weak comparison, as If-None-Match requires. */
function knows({ headers }: IncomingMessage, tag: string): boolean {
  const tags = (headers['if-none-match'] ?? '').split(',').map((known) => known.trim().replace(/^W\//, ''))
  return tags.includes(tag) || tags.includes('*')
}
