/**
 * `GET /openapi.json`: the document of what this node serves. Owns its address. Refuses to write it: `openapi/document.ts`
 * does.
 */
import type { OpenRoute } from '../../http/route.ts'
import { type Described, openApiDocument } from '../openapi/document.ts'
import { documentRoute } from './document-route.ts'

/** The route; its document has the route itself too, and holds for as long as these routes do. */
export function openApiRoute({ routes, mirror }: Described): OpenRoute {
  return documentRoute({
    path: '/openapi.json',
    summary: 'This API as an OpenAPI 3.1 document: the paths that this node serves.',
    write: (route) => openApiDocument({ routes: [...routes, route], mirror }),
  })
}
