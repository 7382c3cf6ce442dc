/** Serves `GET /asyncapi.json`. */
import type { Channel } from '../../http/channel.ts'
import type { OpenRoute } from '../../http/route.ts'
import { asyncApiDocument } from '../asyncapi/document.ts'
import { documentRoute } from './document-route.ts'

/** The route over these channels. */
export function asyncApiRoute(channels: readonly Channel[]): OpenRoute {
  return documentRoute({
    path: '/asyncapi.json',
    summary:
      'Kafka topics, webhooks, WebSocket and server-sent events as an AsyncAPI 3.0 document, see [asyncapi.md](asyncapi.md).',
    write: () => asyncApiDocument(channels),
  })
}
