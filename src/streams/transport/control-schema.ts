/**
 * Defines the schemas of the WebSocket messages that carry no event, one schema for each message name.
 */
import { z } from 'zod'
import { phases } from '../../core/calendar/calendar.ts'
import { filterSchema } from '../../http/schemas/filter-schema.ts'
import { isoTime } from '../../http/schemas/json-schema.ts'
import { upstreamStates } from '../../obs/metrics.ts'
import { HEARTBEAT_MS } from '../fanout/session.ts'
import { fromSchema } from './commands.ts'
import { type ErrorNumber, errorNames } from './refusal.ts'
import type { ControlName, Subprotocol } from './ws-frames.ts'

/** A message with the members that it has beside its name. */
export interface ControlMessage {
  summary: string
  members: z.ZodObject
}

const cursor = z.string().describe('The place that reading goes on from.')
const id = z.string().optional().describe('The id of the command, where it had one.')
const subscription = z.string().optional().describe('The id of the subscription, where it has one.')

/** `live` of either transport. */
export const liveMembers = z.object({ cursor })

/** `going_away` of either transport. */
export const goingAwayMembers = z.object({ reconnectInMs: z.int().describe('When to come back, ms.') })

/** Every message in this subprotocol. */
export function controlMessages(subprotocol: Subprotocol): Readonly<Record<ControlName, ControlMessage>> {
  return {
    authenticated: { summary: 'The token is good.', members: z.object({}) },
    hello: {
      summary: 'The log as this node has it. Nothing more comes until there is a subscription.',
      members: z.object({
        protocol: z.literal(subprotocol).describe('What is spoken.'),
        epoch: z.string().describe('The epoch of the log; null before it has one.').nullable(),
        oldest: z.int().describe('The earliest sequence that is kept.'),
        latest: z.int().describe('The last sequence.'),
        heartbeatMs: z
          .literal(HEARTBEAT_MS)
          .meta({ type: 'integer', description: 'Silence before a heartbeat, ms.' }),
      }),
    },
    subscribed: {
      summary: 'The subscription is active; no event of an earlier one with this id follows.',
      members: z.object({
        id: z.string().describe("The command's id.").nullable(),
        filter: filterSchema,
        from: fromSchema,
      }),
    },
    unsubscribed: {
      summary: 'The subscription has ended; nothing of it follows.',
      members: z.object({ id: z.string().describe("The subscription's id.").nullable() }),
    },
    live: {
      summary: 'Once a subscription: it has caught up, and what follows is new.',
      members: liveMembers.extend({ id: subscription }),
    },
    heartbeat: {
      summary:
        'After 15 s of silence, and where the leader falls silent; its cursor moves past what did not match.',
      members: z.object({
        id: subscription,
        cursor,
        upstreamState: z
          .enum(upstreamStates)
          .describe('What upstream last did to the leader; null where this node has not heard of it.')
          .nullable(),
        lastGoodPoll: isoTime(
          'When upstream last answered well; null where this node has not heard of it.',
        ).nullable(),
        nextPoll: isoTime('When the leader polls next; null where this node has not heard of it.').nullable(),
        openGaps: z
          .int()
          .describe('How many gaps are open, where another node leads 1,000 at most; null: not known.')
          .nullable(),
        quotaRemaining: z.int().describe('Units left this week; null: not known.').nullable(),
        leader: z
          .string()
          .describe(
            'The id of the leader, for every token the code that `GET /v1/status` shows to tokens of tenants; null: not known.',
          )
          .nullable(),
        leaderSince: isoTime('Since when the leader leads; null: not known.').nullable(),
        phase: z.enum(phases).describe('Where in the London day the market is.'),
        asOf: isoTime(
          'When the leader said so, at most 7 s ago while it is well; null where this node has heard from no leader.',
        ).nullable(),
      }),
    },
    pong: { summary: 'The answer to `ping`.', members: z.object({ id }) },
    going_away: { summary: 'This node stops; close code 4200 follows.', members: goingAwayMembers },
    error: {
      summary: 'Something is wrong; docs/use/websocket.md says what each means.',
      members: errorMembers,
    },
  }
}

const errorNumbers = Object.keys(errorNames).map(Number) as ErrorNumber[]

const errorMembers = z
  .object({
    code: z.literal(errorNumbers).meta({ type: 'integer', description: 'What is wrong, as a number.' }),
    name: z.enum(Object.values(errorNames)).describe('The same in a word.'),
    detail: z.string().describe('What is wrong with this message.'),
    id,
  })
  .meta({
    oneOf: errorNumbers.map((code) => ({
      properties: { code: { const: code }, name: { const: errorNames[code] } },
    })),
  })
