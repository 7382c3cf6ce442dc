/**
 * What a WebSocket client may send, member by member, as JSON Schema (contract §8). Owns the names: `commands.ts` reads
 * messages by them, and `/asyncapi.json` shows them. Refuses to read.
 */
import { type JsonSchema, object, oneWord, ref, text } from '../../http/schemas/json-schema.ts'
import { MAX_TAIL } from '../fanout/start.ts'

/** Most characters of a client's own id. */
export const LONGEST_ID = 64

const id = text("The client's own, told back.", { maxLength: LONGEST_ID })

/** Where a subscription may start, in the one form in which each start is told back. */
export const fromSchema: JsonSchema = {
  description: 'Where to start.',
  oneOf: [
    oneWord(['live', 'earliest'], 'With what comes next, or with the oldest event kept.'),
    place('after', text('Behind the place of that cursor.')),
    place('since', text('With the first event of that time or later: RFC 3339, or a partial one (UTC).')),
    place('tail', { type: 'integer', minimum: 1, maximum: MAX_TAIL, description: 'With so many last ones.' }),
  ],
}

/** The members of each command beside `action`. */
export const commandMembers = {
  auth: { id, token: text('The token of this bridge.', { minLength: 1 }) },
  ping: { id },
  subscribe: {
    id,
    filter: ref('Filter'),
    from: fromSchema,
    onGap: oneWord(['earliest'], 'Where to start if the cursor is older than what is kept; without it 4010.'),
  },
} as const satisfies Record<string, Record<string, JsonSchema>>

/** The name of a command. */
export type Action = keyof typeof commandMembers

/** Every command. */
export const actions = Object.keys(commandMembers) as Action[]

/** What a message with that action may hold; nothing else is taken. */
export function commandSchema(action: Action): JsonSchema {
  const members: Readonly<Record<string, JsonSchema>> = commandMembers[action]
  const optional = Object.keys(members).filter((name) => name !== 'token')
  const typed = { action: { type: 'string', const: action }, ...members } as const
  return { ...object(typed, optional), additionalProperties: false }
}

function place(name: 'after' | 'since' | 'tail', value: JsonSchema): JsonSchema {
  return { ...object({ [name]: value }), additionalProperties: false }
}
