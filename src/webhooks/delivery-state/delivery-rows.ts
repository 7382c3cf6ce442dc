/**
 * Defines the rows in which a shard keeps the state of its endpoints' deliveries: their keys, their JSON, and reading them
 * back. One attempt writes one of them.
 */
import type { Cursor } from '../../core/cursor.ts'
import { BridgeError } from '../../errors.ts'
import type { ReadCursor } from './cursor-decode-cache.ts'

/**
 * The position of the endpoint's cursor over new events. Everything up to `cursor` is decided: delivered, not matching, dead
 * with a row, or kept in a retry row.
 */
export interface PositionRow {
  kind: 'position'
  /** A cursor of the log, with epoch and time: it can be resumed after the epoch changed. */
  cursor: string
  /** Sequences after the cursor that are delivered or dead already; rising. */
  ahead: readonly number[]
  /** Since when no attempt succeeded, ms since 1970; null while the last one did. */
  failingSinceMs: number | null
}

/** A delivery that waits for its next try, or (`tries` 0) for an earlier delivery of its issuer. */
export interface RetryRow {
  kind: 'retry'
  /** The cursor of the event itself. */
  cursor: string
  eventId: string
  /** The issuer's key, for `order: issuer`. */
  subject: string
  /** When the bridge recorded the event, ms since 1970. */
  recordedMs: number
  /** Attempts made. */
  tries: number
  /** How many of these were answered with a Retry-After that is followed; absent: none. */
  asked?: number
  /** When the next try is due, ms since 1970. */
  dueMs: number
  /** HTTP status of the last answer; null where there was none. */
  lastStatus: number | null
}

/** Why a delivery is dead: no try was left, or the log no longer keeps the event. */
export type DeathCause = 'tries' | 'dropped'

/** A delivery that was given up. It can be replayed while the log keeps the event. */
export interface DeadRow {
  kind: 'dead'
  cursor: string
  eventId: string
  tries: number
  lastStatus: number | null
  cause: DeathCause
  /** ms since 1970. */
  diedAtMs: number
}

/** What is replayed: these sequences, rising; `dead`: the dead deliveries; null: all that the endpoint's filter matches. */
export type ReplayOnly = readonly number[] | 'dead' | null

/** A second cursor of the endpoint, over events that it may have received before. */
export interface ReplayRow {
  kind: 'replay'
  /** Everything up to here is decided, as in a position row. */
  cursor: string
  ahead: readonly number[]
  /** The last sequence that belongs to it. */
  until: number
  only: ReplayOnly
  /** ms since 1970. */
  createdAtMs: number
}

/** A row of a shard. */
export type DeliveryRow = PositionRow | RetryRow | DeadRow | ReplayRow

/** A row with its parsed key. `place`: the sequence of a retry or dead row, the id of a replay, else empty. */
export interface KeyedRow<R extends DeliveryRow = DeliveryRow> {
  key: string
  endpointId: string
  place: string
  row: R
  /** The row's cursor, decoded. */
  cursor: Cursor
}

const KEY = /^([^/]+)\/(?:(position)|(retry|dead)\/([1-9]\d{0,15})|(replay)\/([^/]+))$/

/** The key of the endpoint's position. */
export function positionKey(endpointId: string): string {
  return `${endpointId}/position`
}

/** The key of the retry row of the event at this sequence. */
export function retryKey(endpointId: string, sequence: number): string {
  return `${endpointId}/retry/${sequence}`
}

/** The key of the dead row of the event at this sequence. */
export function deadKey(endpointId: string, sequence: number): string {
  return `${endpointId}/dead/${sequence}`
}

/** The key of a replay. */
export function replayKey(endpointId: string, replayId: string): string {
  return `${endpointId}/replay/${replayId}`
}

/** The endpoint id of a key: what is before the first slash. */
export function endpointIdOf(key: string): string {
  return key.slice(0, Math.max(0, key.indexOf('/')))
}

/**
 * Reads the row of that key. Unknown fields are ignored.
 * @throws BridgeError `log_damaged` where the row has no form of this version or contradicts its key
 */
export function readDeliveryRow(key: string, value: unknown, readCursor: ReadCursor): KeyedRow {
  const matched = KEY.exec(key)
  if (matched === null) throw damaged(key, 'the key has no known form')
  const [, endpointId = '', position, event, sequence, replay, replayId] = matched
  const fields = fieldsOf(key, value)
  const row = readers[(position ?? event ?? replay) as DeliveryRow['kind']](key, fields)
  const cursor = cursorIn(key, row.cursor, readCursor)
  if (sequence !== undefined && cursor.sequence !== Number(sequence)) {
    throw damaged(key, 'its cursor belongs to another event')
  }
  return { key, endpointId, place: sequence ?? replayId ?? '', row, cursor }
}

type Fields = Readonly<Record<string, unknown>>

const readers: { [kind in DeliveryRow['kind']]: (key: string, fields: Fields) => DeliveryRow } = {
  position: (key, fields) => ({
    kind: 'position',
    cursor: text(key, fields, 'cursor'),
    ahead: sequences(key, fields, 'ahead'),
    failingSinceMs: orNull(key, fields, 'failingSinceMs'),
  }),
  retry: (key, fields) => ({
    kind: 'retry',
    cursor: text(key, fields, 'cursor'),
    eventId: text(key, fields, 'eventId'),
    subject: text(key, fields, 'subject'),
    recordedMs: number(key, fields, 'recordedMs'),
    tries: number(key, fields, 'tries'),
    ...(fields.asked !== undefined && { asked: number(key, fields, 'asked') }),
    dueMs: number(key, fields, 'dueMs'),
    lastStatus: orNull(key, fields, 'lastStatus'),
  }),
  dead: (key, fields) => ({
    kind: 'dead',
    cursor: text(key, fields, 'cursor'),
    eventId: text(key, fields, 'eventId'),
    tries: number(key, fields, 'tries'),
    lastStatus: orNull(key, fields, 'lastStatus'),
    cause: fields.cause === 'dropped' ? 'dropped' : 'tries',
    diedAtMs: number(key, fields, 'diedAtMs'),
  }),
  replay: (key, fields) => ({
    kind: 'replay',
    cursor: text(key, fields, 'cursor'),
    ahead: sequences(key, fields, 'ahead'),
    until: number(key, fields, 'until'),
    only: fields.only === null || fields.only === 'dead' ? fields.only : sequences(key, fields, 'only'),
    createdAtMs: number(key, fields, 'createdAtMs'),
  }),
}

function fieldsOf(key: string, value: unknown): Fields {
  if (value === null || typeof value !== 'object') throw damaged(key, 'it is not an object')
  return value as Fields
}

function text(key: string, fields: Fields, name: string): string {
  const value = fields[name]
  if (typeof value !== 'string') throw damaged(key, `${name} is not a string`)
  return value
}

function number(key: string, fields: Fields, name: string): number {
  const value = fields[name]
  if (!isCount(value)) throw damaged(key, `${name} is not a whole number from 0`)
  return value
}

function orNull(key: string, fields: Fields, name: string): number | null {
  return fields[name] === null ? null : number(key, fields, name)
}

function sequences(key: string, fields: Fields, name: string): number[] {
  const value = fields[name]
  const rises =
    Array.isArray(value) &&
    value.every((member, at) => isCount(member) && (at === 0 || member > value[at - 1]))
  if (!rises) throw damaged(key, `${name} is not a rising list of sequences`)
  return value
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function cursorIn(key: string, cursor: string, readCursor: ReadCursor): Cursor {
  try {
    return readCursor(cursor)
  } catch (error) {
    throw damaged(key, 'its cursor cannot be decoded', error)
  }
}

function damaged(key: string, what: string, cause?: unknown): BridgeError {
  return new BridgeError('log_damaged', `the webhook delivery row ${key} cannot be read: ${what}`, {
    cause,
    hint:
      'Another program or a newer version wrote the row, or the storage is faulty. Stop, keep a copy of the stored data, ' +
      'and restore the last good backup; on Kafka, check who may write to the internal topics.',
  })
}
