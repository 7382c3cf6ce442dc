/** Builds the OpenAPI 3.1 document of the routes that a node serves. */
import { UPSTREAM_VERSION } from '../../core/upstream-paths.ts'
import { VERSION } from '../../core/version.ts'
import type { AnyRoute } from '../../http/route.ts'
import { httpSchemas } from '../../http/shared-schemas.ts'
import type { MirrorRoute } from '../mirror/route.ts'
import { mirroredOperation, mirroredPath } from './mirrored.ts'
import { type OpenApiPart, type Operation, operationOf, sharedHeaders, sharedResponses } from './operation.ts'

/** What is described. */
export interface DescribedApi {
  routes: readonly AnyRoute[]
  /** Paths of the upstream API below `prefix`. */
  mirror: { prefix: string; routes: readonly MirrorRoute[] }
}

/** The tags that paths have, see `tagOf`, with a line about each. */
const tagSentences: Readonly<Record<string, string>> = {
  disclosures: 'Events by pull.',
  events: 'Events as server-sent events.',
  stream: 'Events over WebSocket.',
  filters: 'Filters, tried out.',
  webhooks: 'Endpoints of webhooks: their settings, attempts, deliveries and replays.',
  tokens: 'Who may do what.',
  me: 'The token that asks.',
  audit: 'Who changed what.',
  admin: 'Orders to the running bridge, such as pausing its polls.',
  sessions: 'Browsers that call with a cookie instead of a token.',
  rejected: 'Items that could not be read.',
  tickets: 'What opens a WebSocket or an EventSource in a browser.',
  status: 'How the bridge is.',
  doctor: 'What is wrong or soon will be, and what to do about it.',
  report: 'What each day brought.',
  arrivals: 'When the announcements of a day came.',
  categories: 'Codes that filters take.',
  issuers: 'Identifiers that filters take.',
  nodes: 'The processes of this bridge.',
  quota: 'What the requests to the upstream are spent on.',
  streams: 'Who reads live.',
  polls: 'What was asked of the upstream.',
  consumers: 'Who reads the topics of Kafka, and how far behind.',
  'openapi.json': 'What is asked and answered over HTTP, for tools.',
  'asyncapi.json': 'What Kafka topics, webhooks and streams deliver, described for tools.',
}
const METHODS = ['get', 'post', 'patch', 'delete']
const DESCRIPTION = [
  'UK regulatory announcements as one ordered stream that can be trusted.',
  'Every path with GET takes HEAD too. Unknown parameters and members are refused with the near match.',
  `Paths below /v2 are the upstream API, version ${UPSTREAM_VERSION}, answered from the copy of this bridge, with errors in its form.`,
  'Times are ISO 8601. Members may be added to answers; none changes its meaning.',
].join(' ')

/** The document. */
export function openApiDocument({ routes, mirror }: DescribedApi): OpenApiPart {
  const paths: Record<string, Record<string, OpenApiPart>> = {}
  const tags: string[] = []
  const add = (path: string, method: string, operation: Operation): void => {
    paths[path] = { ...paths[path], [method]: operation }
    tags.push(...operation.tags)
  }
  for (const route of routes) add(route.path, route.method.toLowerCase(), operationOf(route))
  for (const route of mirror.routes) {
    add(mirroredPath(route, mirror.prefix), 'get', mirroredOperation(route, mirror.prefix, ['events:read']))
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'disclosure-bridge',
      version: VERSION,
      description: DESCRIPTION,
      license: { name: 'Apache 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The node that gave this document.' }],
    tags: tagsOf(tags),
    paths: Object.fromEntries(Object.entries(paths).map(([path, item]) => [path, inOrder(item)])),
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'A token of this bridge, see docs/use/tokens.md.',
        },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: '__Host-bridge',
          description:
            'The session of a browser, see docs/use/console.md. It counts without a header Authorization, for pages of this origin.',
        },
        upstreamKey: {
          type: 'apiKey',
          in: 'header',
          name: 'x-api-key',
          description: 'The same token, where the upstream API has its key.',
        },
      },
      schemas: httpSchemas,
      headers: sharedHeaders,
      responses: sharedResponses(routes),
    },
  }
}

/** The methods of a path in the order in which OpenAPI has them, whatever the order of the routes. */
function inOrder(item: Readonly<Record<string, OpenApiPart>>): Record<string, OpenApiPart> {
  const named = METHODS.flatMap((method) =>
    item[method] === undefined ? [] : [[method, item[method]] as const],
  )
  return Object.fromEntries(named)
}

/** The tags of these names, each once, sorted by name. */
function tagsOf(names: readonly string[]): OpenApiPart[] {
  return [...new Set(names)].sort().map((name) => {
    const description = name.startsWith('upstream ')
      ? `As the upstream API ${UPSTREAM_VERSION} has it.`
      : tagSentences[name]
    return { name, ...(description !== undefined && { description }) }
  })
}
