/**
 * Defines and parses the rows of the log's table `webhook-commands`. A row holds one command, an operation on a webhook
 * endpoint such as a replay, for the process that delivers to the endpoint.
 */
import { z } from 'zod'
import { replayOnly } from '../delivery-state/delivery-rows.ts'

/** The table of the log that holds them. */
export const COMMANDS_TABLE = 'webhook-commands'

const count = z.int().min(0)

/** Reads a replay command. */
export const replayCommand = z.object({
  kind: z.literal('replay'),
  epoch: z.string(),
  after: count,
  until: count,
  only: replayOnly,
  /** How many deliveries it is to make; absent: a build that did not store it wrote the command. */
  count: count.exactOptional(),
  atMs: count,
})
const cancel = z.object({ kind: z.literal('cancel'), replay: z.string(), atMs: count })
const countDead = z.object({ kind: z.literal('count'), after: count, until: count, atMs: count })
const counted = z.object({ kind: z.literal('counted'), count, atMs: count })
const hasten = z.object({ kind: z.literal('hasten'), atMs: count })
const stop = z.object({ kind: z.literal('stop'), atMs: count })
const disable = z.object({
  kind: z.literal('disable'),
  reason: z.enum(['gone', 'failing']),
  /** Version of the endpoint when this was decided; a changed endpoint is not disabled. */
  version: z.string(),
  /** The endpoint is disabled, only the notifications are missing; absent: it may not be disabled yet. */
  isDone: z.literal(true).exactOptional(),
  atMs: count,
})
const notification = z.object({
  kind: z.literal('notice'),
  eventId: z.string(),
  /** The body, as it is sent. */
  json: z.string(),
  /** Tries made. */
  tries: count,
  /** How many of them the receiver answered with Retry-After; absent = none. */
  asked: count.exactOptional(),
  /** When the next is due. */
  dueMs: count,
  /** When that was decided; absent: before the first try, or by a build that did not store it. */
  setMs: count.exactOptional(),
  atMs: count,
})
const anyCommand = z.discriminatedUnion('kind', [
  replayCommand,
  cancel,
  countDead,
  counted,
  hasten,
  stop,
  disable,
  notification,
])

/** Begin a replay: of what follows `after`, up to `until`, in the log of that epoch. */
export type ReplayCommand = z.output<typeof replayCommand>
/** Count the dead deliveries after `after`, up to `until`: only the process that works on the endpoint knows them. */
export type CountCommand = z.output<typeof countDead>
/** Disable the endpoint, and notify the tenant's other endpoints that opted in. */
export type DisableCommand = z.output<typeof disable>
/** Send a system event to the endpoint. */
export type NotificationCommand = z.output<typeof notification>
/** A command; `cancel`: end the replay of that id, also one that waits; `hasten`: make all deliveries due that wait for a retry; `stop`: confirm, by removing it, that
 * nothing leaves for the endpoint any more; `counted` is the answer to a `count`, in its place. `atMs`: when it was requested, ms since 1970. */
export type Command = z.output<typeof anyCommand>

/** A command with the members of its key. */
export interface KeyedCommand {
  key: string
  endpointId: string
  /** Id of the replay or of the request. */
  id: string
  command: Command
}

/** The key of a command. */
export function commandKey(endpointId: string, id: string): string {
  return `${endpointId}/${id}`
}

/** Reads a row of the table; null where its form is not known to this version. */
export function readCommand(key: string, value: unknown): KeyedCommand | null {
  const at = key.indexOf('/')
  const command = anyCommand.safeParse(value).data
  if (at < 1 || command === undefined) return null
  return { key, endpointId: key.slice(0, at), id: key.slice(at + 1), command }
}
