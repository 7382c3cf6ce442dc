/** Defines the commands in the log's table `webhook-commands`: their keys, their JSON, and reading them back. */
import type { DisableReason } from '../delivery-state/endpoint-state.ts'

/** The table of the log that holds them. */
export const COMMANDS_TABLE = 'webhook-commands'

/** Begin a replay: of what follows `after`, up to `until`, in the log of that epoch. */
export interface ReplayCommand {
  kind: 'replay'
  epoch: string
  after: number
  until: number
  /** These sequences alone, rising; what is dead; null: all that the endpoint's filter matches. */
  only: readonly number[] | 'dead' | null
  atMs: number
}

/** Count the dead deliveries after `after`, up to `until`: only the process that works on the endpoint knows them. */
export interface CountCommand {
  kind: 'count'
  after: number
  until: number
  atMs: number
}

/** The answer to a `CountCommand`, in its place. */
export interface CountedCommand {
  kind: 'counted'
  count: number
  atMs: number
}

/** Disable the endpoint, and notify the tenant's other endpoints that opted in. */
export interface DisableCommand {
  kind: 'disable'
  reason: DisableReason
  /** Version of the endpoint when this was decided; a changed endpoint is not disabled. */
  version: string
  /** The endpoint is disabled, only the notifications are missing; absent: it may not be disabled yet. */
  isDone?: true
  atMs: number
}

/** Send a system event to the endpoint. */
export interface NotificationCommand {
  kind: 'notice'
  eventId: string
  /** The body, as it is sent. */
  json: string
  /** Tries made. */
  tries: number
  /** How many of them the receiver answered with Retry-After; absent = none. */
  asked?: number
  /** When the next is due. */
  dueMs: number
  atMs: number
}

/** A command. `atMs`: when it was requested, ms since 1970. */
export type Command = ReplayCommand | CountCommand | CountedCommand | DisableCommand | NotificationCommand

/** A command with the members of its key. */
export interface KeyedCommand<C extends Command = Command> {
  key: string
  endpointId: string
  /** Id of the replay or of the request. */
  id: string
  command: C
}

/** The key of a command. */
export function commandKey(endpointId: string, id: string): string {
  return `${endpointId}/${id}`
}

/** Reads a row of the table; null where its form is not known to this version. */
export function readCommand(key: string, value: unknown): KeyedCommand | null {
  const at = key.indexOf('/')
  if (at < 1 || !isRecord(value)) return null
  const command = commandIn(value)
  return command === null ? null : { key, endpointId: key.slice(0, at), id: key.slice(at + 1), command }
}

type Fields = Readonly<Record<string, unknown>>

function commandIn(fields: Fields): Command | null {
  const { kind, epoch, after, until, only, count, atMs } = fields
  if (!isCount(atMs)) return null
  if (kind === 'disable') return disableIn(fields, atMs)
  if (kind === 'notice') return noticeIn(fields, atMs)
  if (kind === 'counted') return isCount(count) ? { kind, count, atMs } : null
  if (!isCount(after) || !isCount(until)) return null
  if (kind === 'count') return { kind, after, until, atMs }
  if (kind !== 'replay' || typeof epoch !== 'string') return null
  return isOnly(only) ? { kind, epoch, after, until, only, atMs } : null
}

function disableIn({ reason, version, isDone }: Fields, atMs: number): DisableCommand | null {
  if ((reason !== 'gone' && reason !== 'failing') || typeof version !== 'string') return null
  return { kind: 'disable', reason, version, ...(isDone === true && { isDone }), atMs }
}

function noticeIn(
  { eventId, json, tries, asked = 0, dueMs }: Fields,
  atMs: number,
): NotificationCommand | null {
  if (typeof eventId !== 'string' || typeof json !== 'string') return null
  return isCount(tries) && isCount(asked) && isCount(dueMs)
    ? { kind: 'notice', eventId, json, tries, ...(asked > 0 && { asked }), dueMs, atMs }
    : null
}

function isOnly(value: unknown): value is ReplayCommand['only'] {
  if (value === null || value === 'dead') return true
  return (
    Array.isArray(value) &&
    value.every((member, at) => isCount(member) && (at === 0 || member > Number(value[at - 1])))
  )
}

function isRecord(value: unknown): value is Fields {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}
