/** Serves `GET /openapi.json`. */
import type { OpenRoute } from '../../http/route.ts'
import { type DescribedApi, openApiDocument } from '../openapi/document.ts'
import { documentRoute } from './document-route.ts'

/** Builds the route; its document includes the route itself and is built once for these routes. */
export function openApiRoute({ routes, mirror }: DescribedApi): OpenRoute {
  return documentRoute({
    path: '/openapi.json',
    summary: 'This API as an OpenAPI 3.1 document: the paths that this node serves.',
    write: (route) => openApiDocument({ routes: [...routes, route], mirror }),
  })
}
