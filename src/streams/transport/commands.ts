/**
 * What a WebSocket client may say (contract §8), read strictly: unknown names are refused with the near match. Owns the
 * grammar of commands. What is wrong inside `filter` or `from` is error 410, everything else 400; a text that is no cursor
 * ends the connection, because coming back with it leads nowhere. Refuses to act.
 */
import { decodeCursor } from '../../core/cursor.ts'
import { isoMillis, parseTimeBound } from '../../core/dates.ts'
import type { Filter } from '../../core/filter/filter.ts'
import { parseFilter } from '../../core/filter/filter-parse.ts'
import { readJson } from '../../core/json-structure.ts'
import { didYouMean } from '../../core/near.ts'
import { BridgeError } from '../../errors.ts'
import { type From, MAX_TAIL, type OnGap } from '../fanout/start.ts'
import { type Action, actions, commandMembers, LONGEST_ID } from './command-schema.ts'
import { type CloseCode, type ErrorNumber, StreamRefusal } from './refusal.ts'

/** One command. `id` is the client's own, told back. */
export type Command =
  | { action: 'auth'; token: string }
  | { action: 'ping'; id: string | null }
  | { action: 'subscribe'; id: string | null; filter: Filter | null; from: From; onGap: OnGap }

/** A JSON object that came from outside. */
export type Message = Readonly<Record<string, unknown>>

/** Characters of a wrong word that an answer repeats. */
const LONGEST_ECHO = 40

/** @throws StreamRefusal 400 when the text is no JSON object, or one that names a member twice or is nested too deep */
export function parseMessage(text: string): Message {
  const read = readJson(text)
  if (!read.ok) throw new StreamRefusal(400, `this ${read.reason}`)
  if (isObject(read.value)) return read.value
  throw new StreamRefusal(400, 'a message is a JSON object such as {"action":"subscribe"}')
}

/** The client's id of a message where it has a usable one. */
export function idOf({ id }: Message): string | null {
  return typeof id === 'string' && id.length <= LONGEST_ID ? id : null
}

/** @throws StreamRefusal 400 or 410 */
export function readCommand(message: Message): Command {
  const action = readAction(message)
  refuseUnknown(message, ['action', ...Object.keys(commandMembers[action])], `a member of ${action}`, 400)
  const id = readId(message)
  switch (action) {
    case 'auth':
      return { action, token: readToken(message) }
    case 'ping':
      return { action, id }
    case 'subscribe': {
      const filter = readFilter(message)
      return { action, id, filter, from: readFrom(message.from), onGap: readOnGap(message) }
    }
  }
}

/** The start as it was asked for, in one way of saying it. */
export function fromToJson(from: From): unknown {
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

function echo(text: string): string {
  return JSON.stringify(text.length > LONGEST_ECHO ? `${text.slice(0, LONGEST_ECHO)}…` : text)
}

function readAction({ action }: Message): Action {
  const known = actions.find((name) => name === action)
  if (known !== undefined) return known
  if (typeof action !== 'string') {
    throw new StreamRefusal(400, `a message needs an "action": ${actions.join(', ')}`)
  }
  throw new StreamRefusal(
    400,
    `${echo(action)} is no action${didYouMean(action, actions)}; there are ${actions.join(', ')}`,
  )
}

function refuseUnknown(value: Message, known: readonly string[], what: string, number: ErrorNumber): void {
  const unknown = Object.keys(value).find((name) => !known.includes(name))
  if (unknown === undefined) return
  throw new StreamRefusal(number, `${echo(unknown)} is not ${what}${didYouMean(unknown, known)}`)
}

function readId({ id }: Message): string | null {
  if (id === undefined) return null
  if (typeof id === 'string' && id.length <= LONGEST_ID) return id
  throw new StreamRefusal(400, `"id" must be text of at most ${LONGEST_ID} characters`)
}

function readToken({ token }: Message): string {
  if (typeof token === 'string' && token !== '') return token
  throw new StreamRefusal(400, '"token" must be the token as text')
}

function readFilter({ filter }: Message): Filter | null {
  return filter === undefined ? null : orRefuse(() => parseFilter(filter, 'filter'))
}

function readOnGap({ onGap }: Message): OnGap {
  if (onGap === undefined) return 'refuse'
  if (onGap === 'earliest') return onGap
  throw new StreamRefusal(400, '"onGap" can be "earliest", or left out')
}

const fromNames = ['after', 'since', 'tail'] as const

function readFrom(value: unknown): From {
  if (value === undefined || value === 'live') return { kind: 'live' }
  if (value === 'earliest') return { kind: 'earliest' }
  if (!isObject(value)) {
    const near = typeof value === 'string' ? didYouMean(value, ['live', 'earliest']) : ''
    throw new StreamRefusal(
      410,
      `"from" must be "live", "earliest", {"after":cursor}, {"since":time} or {"tail":n}${near}`,
    )
  }
  refuseUnknown(value, fromNames, 'a member of from', 410)
  const [name, ...more] = fromNames.filter((candidate) => Object.hasOwn(value, candidate))
  if (name === undefined || more.length > 0) {
    throw new StreamRefusal(410, `"from" takes exactly one of ${fromNames.join(', ')}`)
  }
  return name === 'tail' ? readTail(value.tail) : readPlace(name, value[name])
}

function readTail(tail: unknown): From {
  if (typeof tail === 'number' && Number.isInteger(tail) && tail >= 1 && tail <= MAX_TAIL) {
    return { kind: 'tail', count: tail }
  }
  throw new StreamRefusal(410, `"from.tail" must be a whole number from 1 to ${MAX_TAIL}`)
}

function readPlace(name: 'after' | 'since', value: unknown): From {
  if (typeof value !== 'string') throw new StreamRefusal(410, `"from.${name}" must be text`)
  if (name === 'since') {
    return orRefuse(() => ({ kind: 'since', timeMs: parseTimeBound(value).fromMs }))
  }
  orRefuse(() => decodeCursor(value), 4010)
  return { kind: 'after', cursor: value }
}

/** Turns our own refusal of a filter, a cursor or a time into an error 410 with all it says. */
function orRefuse<T>(read: () => T, closeCode: CloseCode | null = null): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof BridgeError)) throw error
    throw new StreamRefusal(410, [error.message, error.hint].filter(Boolean).join('. '), closeCode)
  }
}
