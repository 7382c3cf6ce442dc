/**
 * Parses and validates the messages of a WebSocket client with zod objects, from which `/asyncapi.json`
 * is made too. A fault inside `filter` or `from` is answered with error number 410, any other with 400. A text that is
 * not a cursor closes the connection with code 4010.
 */
import { z } from 'zod'
import { decodeCursor } from '../../core/cursor.ts'
import { isoMillis, parseTimeBound } from '../../core/dates.ts'
import type { Filter } from '../../core/filter/filter.ts'
import { parseFilter } from '../../core/filter/filter-parse.ts'
import { readJson } from '../../core/json-structure.ts'
import { didYouMean } from '../../core/near.ts'
import { BridgeError, echo } from '../../errors.ts'
import { withHint } from '../../http/problem.ts'
import { unreadFilter } from '../../http/schemas/filter-schema.ts'
import { type From, MAX_TAIL, type OnGap } from '../fanout/start.ts'
import { type CloseCode, type ErrorNumber, StreamRefusal } from './refusal.ts'

/** Most characters of a client's own id. */
const LONGEST_ID = 64

const id = z
  .string(`must be text of at most ${LONGEST_ID} characters`)
  .max(LONGEST_ID, `must be text of at most ${LONGEST_ID} characters`)
  .optional()
  .transform((text) => text ?? null)
  .describe("The client's own id; the answers repeat it.")
const tailRule = `must be a whole number from 1 to ${MAX_TAIL}`

/** The places to start from that are objects of one member. */
const places = {
  after: z
    .strictObject({ after: z.string('must be text').describe('Behind the place of that cursor.') })
    .transform(({ after }): From => ({ kind: 'after', cursor: after })),
  since: z
    .strictObject({
      since: z
        .string('must be text')
        .describe('With the first event of that time or later: RFC 3339, or a partial one (UTC).'),
    })
    .transform(
      ({ since }): From => ({ kind: 'since', timeMs: orRefuse(() => parseTimeBound(since).fromMs) }),
    ),
  tail: z
    .strictObject({
      tail: z.int(tailRule).min(1, tailRule).max(MAX_TAIL, tailRule).describe('With so many last ones.'),
    })
    .transform(({ tail }): From => ({ kind: 'tail', count: tail })),
}
const placeNames = Object.keys(places) as (keyof typeof places)[]
const words = ['live', 'earliest'] as const

/** Where a subscription may start. */
export const fromSchema = z
  .xor(
    [
      z
        .enum(words)
        .transform((kind): From => ({ kind }))
        .describe('With what comes next, or with the oldest event kept.'),
      places.after,
      places.since,
      places.tail,
    ],
    { error: ({ input }) => wrongFrom(input) },
  )
  .describe('Where to start.')

/** The messages that a client may send, by their `action`. */
export const commandSchemas = {
  auth: z.strictObject({
    action: z.literal('auth'),
    id,
    token: z
      .string('must be the token as text')
      .min(1, 'must be the token as text')
      .describe('The token of this bridge.'),
  }),
  ping: z.strictObject({ action: z.literal('ping'), id }),
  subscribe: z.strictObject({
    action: z.literal('subscribe'),
    id,
    filter: unreadFilter.optional(),
    from: fromSchema.optional().transform((from): From => from ?? { kind: 'live' }),
    onGap: z
      .enum(['earliest'], 'can be "earliest", or left out')
      .optional()
      .transform((onGap): OnGap => onGap ?? 'refuse')
      .describe('Where to start if the cursor is older than what is kept; without it 4010.'),
  }),
  unsubscribe: z.strictObject({ action: z.literal('unsubscribe'), id }),
}

/** The name of a command. */
export type CommandName = keyof typeof commandSchemas

/** Every command. */
export const actions = Object.keys(commandSchemas) as CommandName[]

/** One command. `id` is the client's own; the answers repeat it. */
export type StreamCommand =
  | z.output<(typeof commandSchemas)['auth' | 'ping' | 'unsubscribe']>
  | (Omit<z.output<(typeof commandSchemas)['subscribe']>, 'filter'> & { filter: Filter | null })

/** A JSON object that came from outside. */
export type Message = Readonly<Record<string, unknown>>

/** @throws StreamRefusal 400 when the text is no JSON object, or one that names a member twice or is nested too deep */
export function parseMessage(text: string): Message {
  const read = readJson(text)
  if (!read.ok) throw new StreamRefusal(400, `this ${read.reason}`)
  if (isObject(read.value)) return read.value
  throw new StreamRefusal(400, 'a message is a JSON object such as {"action":"subscribe"}')
}

/** The client's id of a message where it has a usable one. */
export function idOf(message: Message): string | null {
  return id.safeParse(message.id).data ?? null
}

/** @throws StreamRefusal 400 or 410 */
export function readStreamCommand(message: Message): StreamCommand {
  const action = readAction(message)
  const schema = commandSchemas[action]
  refuseUnknown(message, Object.keys(schema.shape), `a member of ${action}`, 400)
  const { data, error } = schema.safeParse(message)
  if (data === undefined) throw refusalOf(error.issues)
  if (data.action !== 'subscribe') return data
  const { filter, from } = data
  if (from.kind === 'after') orRefuse(() => decodeCursor(from.cursor), 4010)
  return { ...data, filter: filter === undefined ? null : orRefuse(() => parseFilter(filter, 'filter')) }
}

/** The start as it was asked for, in one way of saying it. */
export function fromToJson(from: From): z.input<typeof fromSchema> {
  switch (from.kind) {
    case 'after':
      return { after: from.cursor }
    case 'since':
      return { since: isoMillis(from.timeMs) }
    case 'tail':
      return { tail: from.count }
    default:
      return from.kind
  }
}

function isObject(value: unknown): value is Message {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

function readAction({ action }: Message): CommandName {
  const known = actions.find((name) => name === action)
  if (known !== undefined) return known
  if (typeof action !== 'string') {
    throw new StreamRefusal(400, `a message needs an "action": ${actions.join(', ')}`)
  }
  const near = didYouMean(action, actions)
  throw new StreamRefusal(400, `${echo(action)} is not an action${near}; there are ${actions.join(', ')}`)
}

function refuseUnknown(value: Message, known: readonly string[], what: string, number: ErrorNumber): void {
  const unknown = Object.keys(value).find((name) => !known.includes(name))
  if (unknown === undefined) return
  throw new StreamRefusal(number, `${echo(unknown)} is not ${what}${didYouMean(unknown, known)}`)
}

/** The refusal of the first member that is wrong. */
function refusalOf([first]: readonly z.core.$ZodIssue[]): StreamRefusal {
  const [name] = first?.path ?? []
  const where = first?.code === 'invalid_union' ? '' : `"${name?.toString()}" `
  return new StreamRefusal(name === 'from' ? 410 : 400, `${where}${first?.message}`)
}

/** What is wrong with a `from` that is none of its forms. */
function wrongFrom(from: unknown): string {
  if (!isObject(from)) {
    const near = typeof from === 'string' ? didYouMean(from, words) : ''
    return `"from" must be "live", "earliest", {"after":cursor}, {"since":time} or {"tail":n}${near}`
  }
  refuseUnknown(from, placeNames, 'a member of from', 410)
  const [name, ...more] = placeNames.filter((candidate) => Object.hasOwn(from, candidate))
  if (name === undefined || more.length > 0) return `"from" takes exactly one of ${placeNames.join(', ')}`
  return `"from.${name}" ${places[name].safeParse(from).error?.issues[0]?.message}`
}

/** Turns our own refusal of a filter, a cursor or a time into an error 410 with all it says. */
function orRefuse<T>(read: () => T, closeCode: CloseCode | null = null): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof BridgeError)) throw error
    throw new StreamRefusal(410, withHint(error), closeCode)
  }
}
