/**
 * Describes the WebSocket stream and the stream of server-sent events as AsyncAPI channels, with the messages of each.
 */
import { z } from 'zod'
import type { Channel, ChannelMessage } from '../http/channel.ts'
import { disclosureEventSchema, gapEventSchema } from '../http/schemas/event-schema.ts'
import { filterParameterSchemas } from '../http/schemas/filter-schema.ts'
import { isoTime, jsonSchema } from '../http/schemas/json-schema.ts'
import { MAX_TAIL } from './fanout/start.ts'
import { actions, type CommandName, commandSchemas } from './transport/commands.ts'
import {
  type ControlMessage,
  controlMessages,
  goingAwayMembers,
  liveMembers,
} from './transport/control-schema.ts'
import { closeMeanings } from './transport/refusal.ts'
import { MAX_SUBSCRIPTIONS } from './transport/subscriptions.ts'
import { type ControlName, type Subprotocol, subprotocols } from './transport/ws-frames.ts'

const JSON_TYPE = 'application/json'
const EVENT_TYPE = 'application/cloudevents+json'
const events = {
  disclosure: {
    summary: 'One event: an announcement, or later content of one.',
    schema: disclosureEventSchema,
  },
  gap: {
    summary: 'A gap was opened, filled or given up; or this node reports a hole before the start.',
    schema: gapEventSchema,
  },
} as const
type EventName = keyof typeof events
const eventNames = Object.keys(events) as EventName[]

/** What answers each command, by name. */
const answers: Readonly<Record<CommandName, readonly ControlName[]>> = {
  auth: ['authenticated', 'error'],
  ping: ['pong', 'error'],
  subscribe: ['subscribed', 'error'],
  unsubscribe: ['unsubscribed', 'error'],
}

/** Both streams. */
export function streamChannels(): Channel[] {
  return [...subprotocols.map(webSocketChannel), sseChannel()]
}

function webSocketChannel(subprotocol: Subprotocol): Channel {
  const control = Object.entries(controlMessages(subprotocol)) as [ControlName, ControlMessage][]
  const isPlain = subprotocol === 'bridge.v1.json'
  return {
    key: `websocket.${subprotocol}`,
    server: 'websocket',
    address: '/v1/stream',
    title: `WebSocket, subprotocol ${subprotocol}`,
    description: [
      isPlain
        ? 'Spoken too where no subprotocol is offered, or none that is known.'
        : 'The events alone, and every other message as a CloudEvent from `/bridge`.',
      'JSON in text frames, not compressed. After the handshake come `authenticated` and `hello`, then nothing until there is a subscription; then `subscribed`, events, `live` once, and what is new.',
      'docs/use/websocket.md has what each error does to the connection, docs/use/streams.md resuming and limits.',
    ].join(' '),
    bindings: {
      ws: {
        method: 'GET',
        headers: jsonSchema(handshakeHeaders(subprotocol)),
        query: jsonSchema(
          z.object({
            ticket: z
              .string()
              .optional()
              .describe('A ticket of `POST /v1/tickets`, in the place of the header.'),
          }),
        ),
        bindingVersion: '0.1.0',
      },
    },
    extensions: { 'x-close-codes': closeMeanings },
    sends: {
      messages: [
        ...eventNames.map((name) => (isPlain ? wrappedEvent(name) : bareEvent(name, EVENT_TYPE))),
        ...control.map(([name, message]) => (isPlain ? plainControl : controlEvent)(name, message)),
      ],
      description: 'As fast as the client takes it; one that takes nothing for 30 s is closed with 4108.',
    },
    takes: actions.map((action) => ({
      name: action,
      summary: commandSummaries[action],
      contentType: JSON_TYPE,
      payload: commandSchemas[action],
      answers: answers[action],
    })),
  }
}

const commandSummaries: Readonly<Record<CommandName, string>> = {
  auth: 'The first frame within 10 s, where the handshake had neither token nor ticket.',
  ping: 'Is answered `pong`.',
  subscribe: `Begins a subscription of this id, or replaces it. At most ${MAX_SUBSCRIPTIONS} a connection.`,
  unsubscribe: 'Ends the subscription of this id, or the one without an id.',
}

function handshakeHeaders(subprotocol: Subprotocol) {
  const offered = z.literal(subprotocol)
  return z.object({
    Authorization: z
      .string()
      .optional()
      .describe('`Bearer <token>`; without it and a ticket the first frame is `auth`.'),
    'Sec-WebSocket-Protocol': subprotocol === subprotocols[0] ? offered.optional() : offered,
  })
}

function wrappedEvent(name: EventName): ChannelMessage {
  const { summary, schema } = events[name]
  const members = {
    id: z.string().optional().describe('The id of the subscription, where it has one.'),
    sent: isoTime('When the frame was built.'),
    event: schema,
  }
  return plainControl(name, { summary, members: z.object(members) })
}

function bareEvent(name: EventName, contentType: string): ChannelMessage {
  const { summary, schema } = events[name]
  return { name, summary, contentType, payload: schema }
}

/** The members with the name as `type`. */
function plainControl(name: string, { summary, members }: ControlMessage): ChannelMessage {
  const payload = z.object({ type: z.literal(name), ...members.shape }).meta(members.meta() ?? {})
  return { name, summary, contentType: JSON_TYPE, payload }
}

/** The members as the data of a CloudEvent. */
function controlEvent(name: ControlName, { summary, members }: ControlMessage): ChannelMessage {
  const payload = z.object({
    specversion: z.literal('1.0'),
    id: z.string().describe('Its own.'),
    source: z.literal('/bridge'),
    type: z.literal(`bridge.${name}.v1`),
    time: isoTime('When it was made.'),
    datacontenttype: z.literal(JSON_TYPE),
    data: members,
  })
  return { name, summary, contentType: EVENT_TYPE, payload }
}

function sseChannel(): Channel {
  const id = z
    .string()
    .describe('The cursor of the place behind it: send it as `Last-Event-ID` to go on from there.')
  const field = (name: string) => z.literal(name)
  return {
    key: 'sse',
    server: 'http',
    address: '/v1/events',
    title: 'Server-sent events',
    description: [
      '`text/event-stream`: here `event` and `id` of a block are shown as headers, and `data` as the payload.',
      'The first block is `retry: 3000`. Every 15 s come a comment and a block with `id` alone, which moves the resume point past what did not match.',
      'docs/use/streams.md has resuming and limits.',
    ].join(' '),
    sends: {
      messages: [
        ...eventNames.map((name) => ({
          ...bareEvent(name, JSON_TYPE),
          headers: z.object({ event: field(name), id }),
        })),
        {
          name: 'live',
          summary: 'Once: it has caught up, and what follows is new.',
          contentType: JSON_TYPE,
          headers: z.object({ event: field('live'), id }),
          payload: liveMembers,
        },
        {
          name: 'going_away',
          summary: 'This node stops; the end of the stream follows.',
          contentType: JSON_TYPE,
          headers: z.object({ event: field('going_away') }),
          payload: goingAwayMembers,
        },
      ],
      description: 'The answer to a GET, without end.',
      bindings: { http: { method: 'GET', query: sseQuery(), bindingVersion: '0.3.0' } },
    },
  }
}

function sseQuery() {
  const parameters = {
    ticket: z
      .string()
      .describe("A ticket of `POST /v1/tickets`, in the place of the header, for a browser's `EventSource`."),
    after: z.string().describe('Cursor to resume after; the header `Last-Event-ID` wins over it.'),
    since: z
      .string()
      .describe('Time, RFC 3339 or a partial one (UTC): start with the first event of that time or later.'),
    tail: z.int().min(1).max(MAX_TAIL).describe('Start with so many last ones.'),
    ...filterParameterSchemas,
    filter: z.string().describe('A whole filter as JSON text; excludes the other filter fields.'),
  }
  return jsonSchema(z.object(parameters).partial())
}
