/**
 * The members of each WebSocket message that is no event, as JSON Schema (contract §8). Owns their description, one for
 * each name, so that a new message cannot be left out. Refuses to send: `connection.ts` and `session.ts` do.
 */
import { phases } from '../../core/calendar/calendar.ts'
import {
  type JsonSchema,
  object,
  oneWord,
  orNull,
  ref,
  text,
  time,
  whole,
} from '../../http/schemas/json-schema.ts'
import { HEARTBEAT_MS } from '../fanout/session.ts'
import { fromSchema } from './command-schema.ts'
import { type ErrorNumber, errorNames } from './refusal.ts'
import type { ControlName, Subprotocol } from './ws-frames.ts'

/** A message with the members that it has beside its name. */
export interface ControlMessage {
  summary: string
  members: JsonSchema
}

const cursor = text('The place that reading goes on from.')
const id = text('The id of the command, where it had one.')

/** `live` of either transport. */
export const liveMembers = object({ cursor })

/** `going_away` of either transport. */
export const goingAwayMembers = object({ reconnectInMs: whole('When to come back, ms.') })

/** Every message in this subprotocol. */
export function controlMessages(subprotocol: Subprotocol): Readonly<Record<ControlName, ControlMessage>> {
  return {
    authenticated: { summary: 'The token is good.', members: object({}) },
    hello: {
      summary: 'The log as this node has it. Nothing more comes until there is a subscription.',
      members: object({
        protocol: { type: 'string', const: subprotocol, description: 'What is spoken.' },
        epoch: orNull(text('The epoch of the log; null before it has one.')),
        oldest: whole('The earliest sequence that is kept.'),
        latest: whole('The last sequence.'),
        heartbeatMs: {
          type: 'integer',
          const: HEARTBEAT_MS,
          description: 'Silence before a heartbeat, ms.',
        },
      }),
    },
    subscribed: {
      summary: 'The subscription stands; no event of the one before it comes after this.',
      members: object({
        id: orNull(text("The command's id.")),
        filter: ref('Filter'),
        from: fromSchema,
      }),
    },
    live: {
      summary: 'Once a subscription: it has caught up, and what follows is new.',
      members: liveMembers,
    },
    heartbeat: {
      summary: 'After 15 s of silence; its cursor moves past what did not match.',
      members: object({
        cursor,
        lastGoodPoll: orNull(time('When upstream last answered well.')),
        nextPoll: orNull(time('When the next poll is due; null from a node that does not poll.')),
        phase: oneWord(phases, 'Where in the London day the market is.'),
      }),
    },
    pong: { summary: 'The answer to `ping`.', members: object({ id }, ['id']) },
    going_away: { summary: 'This node stops; close code 4200 follows.', members: goingAwayMembers },
    error: { summary: 'Something is wrong; docs/streams.md says what each means.', members: errorMembers },
  }
}

const errorNumbers = Object.keys(errorNames).map(Number) as ErrorNumber[]

const errorMembers: JsonSchema = {
  ...object(
    {
      code: { type: 'integer', enum: errorNumbers, description: 'What is wrong, as a number.' },
      name: oneWord(Object.values(errorNames), 'The same in a word.'),
      detail: text('What is wrong with this message.'),
      id,
    },
    ['id'],
  ),
  oneOf: errorNumbers.map((code) => ({
    properties: { code: { const: code }, name: { const: errorNames[code] } },
  })),
}
