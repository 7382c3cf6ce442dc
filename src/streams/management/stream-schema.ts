/** Defines the body of `GET /v1/streams` as zod objects: the open streams of a node, each with what it reads. */
import { z } from 'zod'
import { pageOf } from '../../http/page.ts'
import { filterSchema } from '../../http/schemas/filter-schema.ts'
import { isoTime } from '../../http/schemas/json-schema.ts'
import { transports } from '../../obs/metrics.ts'

const subscriptionSchema = z.object({
  id: z
    .string()
    .nullable()
    .describe('The id that the client gave it; `null` where it gave none, and for server-sent events.'),
  filter: filterSchema,
  cursor: z.string().describe('The resume point after all that was written to the client.'),
  sequence: z
    .int()
    .nullable()
    .describe(
      'The sequence up to which all that matches was written. `null` while this node fills its copy of the log, or a new epoch has begun.',
    ),
  lagEvents: z
    .int()
    .nullable()
    .describe('How many events of the log come after that, whether they match or not; `null` as `sequence`.'),
  lagSeconds: z
    .number()
    .nullable()
    .describe(
      'How long ago the bridge first held the next of these events, seconds; 0 where there is none. `null` as `sequence`, and where that event is no longer kept.',
    ),
  live: z.boolean().describe('Whether it has caught up with the log once.'),
})

const streamSchema = z.object({
  id: z.string().meta({ description: 'Names it on this node, until it ends.', pattern: '^str_' }),
  transport: z.enum(transports).describe('WebSocket, or server-sent events.'),
  tenant: z.string().nullable().describe('Whose it is; `null` until its client has authenticated.'),
  token: z
    .object({
      id: z.string().describe('Of the token that opened it; `settings` is `BRIDGE_ADMIN_TOKEN`.'),
      name: z.string().nullable().describe('What the token is for.'),
    })
    .nullable()
    .describe('`null` until its client has authenticated.'),
  openedAt: isoTime('When it was opened.'),
  slowSince: isoTime(
    'Since when its client has not taken all that was written; `null` while it has. After 30 s in which it takes nothing, the stream is ended.',
  ).nullable(),
  eventsSent: z.int().describe('Events that were written to it.'),
  remoteAddress: z
    .string()
    .nullable()
    .describe(
      'Where its client is: an IPv4 address, or the first 64 bits of an IPv6 one. `null` for a caller without the scope `admin`.',
    ),
  subscriptions: z.array(subscriptionSchema).describe('What it reads. Server-sent events have one.'),
})

/** A page of streams, and whose they are. */
export const streamsPage = pageOf(streamSchema).extend({
  node: z
    .string()
    .describe(
      'The node that answers and has these streams open: host and process id for `BRIDGE_ADMIN_TOKEN`, a name that says neither for others.',
    ),
})

/** An open stream as it is shown. */
export type ShownStream = z.infer<typeof streamSchema>
/** What a stream reads, as it is shown. */
export type ShownSubscription = z.infer<typeof subscriptionSchema>
