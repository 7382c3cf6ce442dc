/**
 * Lists the servers and security schemes of the AsyncAPI document (`/asyncapi.json`). Broker and host names are
 * variables there, because anybody may read the document.
 */
import type { ChannelServer } from '../../http/channel.ts'

/** The security schemes by name. */
export const securitySchemes: Readonly<Record<string, object>> = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'A token of this bridge with the scope `events:read`, see docs/use/tokens.md.',
  },
  ticket: {
    type: 'httpApiKey',
    in: 'query',
    name: 'ticket',
    description: 'A ticket of `POST /v1/tickets`, for browsers, see docs/use/tokens.md.',
  },
  saslPlain: { type: 'plain', description: 'SASL PLAIN, over TLS.' },
  saslScram256: { type: 'scramSha256', description: 'SASL SCRAM-SHA-256.' },
  saslScram512: { type: 'scramSha512', description: 'SASL SCRAM-SHA-512.' },
  clientCertificate: { type: 'X509', description: 'A client certificate.' },
  signature: {
    type: 'httpApiKey',
    in: 'header',
    name: 'webhook-signature',
    description:
      'By which a receiver knows the bridge (Standard Webhooks), see docs/use/webhooks-receivers.md.',
  },
}

const host = { description: 'Host and port of this bridge.', default: '127.0.0.1:8080' }

/** The servers by name. */
export const servers: Readonly<Record<ChannelServer, object>> = {
  kafka: {
    host: '{brokers}',
    protocol: 'kafka',
    description:
      'The brokers of the log. TLS, access and rights are as the brokers ask, which may be for nothing: docs/run/kafka-security.md.',
    variables: { brokers: { description: 'Some of the brokers, with ports.', default: '127.0.0.1:9092' } },
    security: schemes('saslPlain', 'saslScram256', 'saslScram512', 'clientCertificate'),
  },
  websocket: {
    host: '{host}',
    protocol: 'ws',
    description:
      'This bridge; `wss` behind a proxy with TLS. Without token or ticket in the handshake the first frame brings a token.',
    variables: { host },
    security: schemes('bearer', 'ticket'),
  },
  http: {
    host: '{host}',
    protocol: 'http',
    description: 'This bridge; `https` behind a proxy with TLS.',
    variables: { host },
    security: schemes('bearer'),
  },
  receiver: {
    host: '{receiver}',
    protocol: 'https',
    description: 'Your receiver of webhooks: the URL of each endpoint. The bridge is its client.',
    variables: { receiver: { description: 'Host and port of your receiver.', default: 'hooks.example' } },
    security: schemes('signature'),
  },
}

function schemes(...names: (keyof typeof securitySchemes)[]): object[] {
  return names.map((name) => ({ $ref: `#/components/securitySchemes/${name}` }))
}
