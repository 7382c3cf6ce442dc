/** Serves a generated document to everybody, with an `ETag` for caches. */
import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { openQuery } from '../../http/parameters.ts'
import type { OpenRoute } from '../../http/route.ts'
import { anyObject } from '../../http/schemas/json-schema.ts'

/** The document and its path. */
export interface ServedDocument {
  path: `/${string}`
  /** One line for the docs. */
  summary: string
  /** Called once, with the route under which it will be served. */
  write(route: OpenRoute): object
}

/** The route. */
export function documentRoute({ path, summary, write }: ServedDocument): OpenRoute {
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
    async handle({ url, request, response }) {
      openQuery(url, []).check()
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
