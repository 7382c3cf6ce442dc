/**
 * `GET /openapi.json`: the document of what this node serves, open to everybody. Owns its address and how it is kept by
 * caches. Refuses to write it: `openapi/document.ts` does, once.
 */
import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { openQuery } from '../http/parameters.ts'
import type { OpenRoute } from '../http/route.ts'
import { type Described, openApiDocument } from './openapi/document.ts'

/** The route; its document has the route itself too, and holds for as long as these routes do. */
export function openApiRoute({ routes, mirror }: Described): OpenRoute {
  const route: OpenRoute = {
    method: 'GET',
    path: '/openapi.json',
    scope: 'open',
    summary: 'This API as an OpenAPI 3.1 document: the paths that this node serves.',
    parameters: {},
    headers: { 'If-None-Match': 'The `ETag` of a document that is known already.' },
    answers: {
      200: {
        meaning: 'The document.',
        schema: { type: 'object' },
        headers: { ETag: 'Changes with the document.' },
      },
      304: { meaning: 'It is the one that is known.', headers: { ETag: 'Changes with the document.' } },
    },
    async handle({ url, request, response }) {
      openQuery(url, []).check()
      // Asked for again each time, answered in full only after a change.
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
  const document = Buffer.from(JSON.stringify(openApiDocument({ routes: [...routes, route], mirror })))
  const tag = `"${createHash('sha256').update(document).digest('base64url').slice(0, 22)}"`
  return route
}

/** Whether the client has the document of that tag already; a weak comparison, as If-None-Match asks for. */
function knows({ headers }: IncomingMessage, tag: string): boolean {
  const tags = (headers['if-none-match'] ?? '').split(',').map((known) => known.trim().replace(/^W\//, ''))
  return tags.includes(tag) || tags.includes('*')
}
