/**
 * Builds the AsyncAPI 3.0 document (`/asyncapi.json`) from the bridge's channels: Kafka topics, webhooks, WebSocket and
 * server-sent events.
 */
import { VERSION } from '../../core/version.ts'
import type { Channel, ChannelMessage, TakenMessage } from '../../http/channel.ts'
import { jsonSchema } from '../../http/schemas/json-schema.ts'
import { eventSchemas } from '../../http/shared-schemas.ts'
import { securitySchemes, servers } from './servers.ts'

/** Any object of the document. */
export type AsyncApiPart = Readonly<Record<string, unknown>>

const DESCRIPTION = [
  'UK regulatory announcements as one ordered stream that can be trusted: what the bridge sends by itself, and what stream clients send to it.',
  'All channels give the same events in the same order, each at least once, with a cursor; `/openapi.json` has pull, replay and the rest over HTTP.',
  'Kafka is there where the log is on Kafka. Every process with the role `feed` serves the streams, and those with the role `webhooks` deliver.',
  'Members, headers and types may be added; none changes its meaning.',
].join(' ')

/** The document. */
export function asyncApiDocument(channels: readonly Channel[]): AsyncApiPart {
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'disclosure-bridge',
      version: VERSION,
      description: DESCRIPTION,
      license: { name: 'Apache 2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    defaultContentType: 'application/json',
    servers,
    channels: Object.fromEntries(channels.map((channel) => [channel.key, channelPart(channel)])),
    operations: Object.assign({}, ...channels.map(operationsOf)),
    components: {
      securitySchemes,
      schemas: eventSchemas,
      messages: Object.fromEntries(
        channels.flatMap((channel) =>
          messagesOf(channel).map((message) => [messageKey(channel, message), messagePart(message)]),
        ),
      ),
    },
  }
}

function messagesOf({ sends, takes = [] }: Channel): ChannelMessage[] {
  return [...sends.messages, ...takes]
}

/** Names repeat from channel to channel. */
function messageKey({ key }: Channel, { name }: ChannelMessage): string {
  return `${key}.${name}`
}

function channelPart(channel: Channel): AsyncApiPart {
  const { address, title, description, server, parameters, bindings, extensions = {} } = channel
  return {
    ...(address === null ? {} : { address }),
    title,
    description,
    servers: [{ $ref: `#/servers/${server}` }],
    ...(parameters === undefined ? {} : { parameters }),
    ...(bindings === undefined ? {} : { bindings }),
    messages: Object.fromEntries(
      messagesOf(channel).map((message) => [
        message.name,
        { $ref: `#/components/messages/${messageKey(channel, message)}` },
      ]),
    ),
    ...extensions,
  }
}

function messagePart({
  name,
  summary,
  contentType,
  headers,
  payload,
  bindings,
}: ChannelMessage): AsyncApiPart {
  return {
    name,
    summary,
    contentType,
    ...(headers === undefined ? {} : { headers: jsonSchema(headers) }),
    payload: jsonSchema(payload),
    ...(bindings === undefined ? {} : { bindings }),
  }
}

/** The send and receive operations of a channel. */
function operationsOf(channel: Channel): Record<string, object> {
  const { key, title, sends, takes = [] } = channel
  const own = { $ref: `#/channels/${key}` }
  const messages = (names: readonly string[]) =>
    names.map((name) => ({ $ref: `#/channels/${key}/messages/${name}` }))
  const taking = (message: TakenMessage): [string, object] => [
    `take.${key}.${message.name}`,
    {
      action: 'receive',
      channel: own,
      title: `${title}: ${message.name}`,
      summary: message.summary,
      messages: messages([message.name]),
      reply: { channel: own, messages: messages(message.answers) },
    },
  ]
  return {
    [`send.${key}`]: {
      action: 'send',
      channel: own,
      title,
      description: sends.description,
      ...(sends.bindings === undefined ? {} : { bindings: sends.bindings }),
      messages: messages(sends.messages.map(({ name }) => name)),
    },
    ...Object.fromEntries(takes.map(taking)),
  }
}
