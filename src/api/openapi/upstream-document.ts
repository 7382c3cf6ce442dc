/**
 * Builds the description of the mirrored upstream API alone, as an OpenAPI 3.1 document with the version of that interface,
 * and the route that serves it without a key.
 */
import { DESCRIPTION_PATH, UPSTREAM_VERSION } from '../../core/upstream-paths.ts'
import { anyObject, sharedSchemas } from '../../http/schemas/json-schema.ts'
import { upstreamErrorSchema } from '../../http/shared-schemas.ts'
import type { MirrorRoute } from '../mirror/route.ts'
import { mirroredOperation, mirroredPath } from './mirrored.ts'
import type { OpenApiPart } from './operation.ts'

/** Where the paths of the document begin, on the server that gives it. */
const BASE_PATH = '/v2'

/** The route of the description of these routes and itself. The document is built once, when it is first requested. */
export function descriptionRoute(routes: readonly MirrorRoute[]): MirrorRoute {
  let text: string | null = null
  const route: MirrorRoute = {
    path: DESCRIPTION_PATH,
    summary: 'This interface as an OpenAPI 3.1 document.',
    parameters: {},
    schema: anyObject,
    key: 'none',
    answer() {
      text ??= JSON.stringify(upstreamDocument([...routes, route]))
      return text
    },
  }
  return route
}

/** The document of these routes. */
export function upstreamDocument(routes: readonly MirrorRoute[]): OpenApiPart {
  const operations = routes.map((route) => ({
    path: mirroredPath(route, ''),
    operation: mirroredOperation(route, '', []),
  }))
  const tags = [...new Set(operations.flatMap(({ operation }) => operation.tags))].sort()
  return {
    openapi: '3.1.1',
    info: {
      title: 'Disclosure and Reference Data API',
      version: UPSTREAM_VERSION,
      description:
        'Regulatory announcements of UK markets, exchange references and fund data. ' +
        'A disclosure-bridge or its sandbox answers here in the form of the upstream service.',
      license: { name: 'Apache 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: BASE_PATH, description: 'The server that gave this document.' }],
    tags: tags.map((name) => ({ name, description: 'As the upstream API has it.' })),
    paths: Object.fromEntries(operations.map(({ path, operation }) => [path, { get: operation }])),
    components: {
      securitySchemes: {
        upstreamKey: {
          type: 'apiKey',
          in: 'header',
          name: 'x-api-key',
          description: 'The key; at a bridge, one of its tokens.',
        },
      },
      schemas: sharedSchemas(upstreamErrorSchema, ...routes.map(({ schema }) => schema)),
    },
  }
}
