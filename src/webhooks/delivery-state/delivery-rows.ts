/**
 * The state of an endpoint's deliveries as small keyed rows of its shard: one attempt writes one of them. Owns keys, forms and
 * reading them back. Refuses to store, and to know when a row is written.
 */
import type { Cursor } from '../../core/cursor.ts'
import { BridgeError } from '../../errors.ts'
import type { ReadCursor } from './cursor-cache.ts'

/**
 * How far a cursor of the endpoint has come. Everything up to `cursor` is decided: delivered, filtered, dead with a record,
 * or durable in the retry set.
 */
export interface PositionRow {
  kind: 'position'
  /** Of the log, with epoch and time, so that it means something after a change of epoch too. */
  cursor: string
  /** Sequences behind the cursor that are delivered, or dead, already; rising. */
  ahead: readonly number[]
  /** When the failing began that no success has ended, ms since 1970; null while all is well. */
  failingSinceMs: number | null
}

/** A delivery that waits: for its next try, or (`tries` 0) behind an earlier one of its issuer. */
export interface RetryRow {
  kind: 'retry'
  /** Of the event's own place. */
  cursor: string
  eventId: string
  /** The issuer's key, which `order: issuer` goes by. */
  subject: string
  /** When the bridge first held the event, ms since 1970. */
  recordedMs: number
  /** Attempts made. */
  tries: number
  /** Of these, those after which the receiver said when to come back; absent = none. */
  asked?: number
  /** When the next try is due, ms since 1970. */
  dueMs: number
  /** Of the last answer; null where there was none. */
  lastStatus: number | null
}

/** Why a delivery is dead: no try was left, or the log no longer keeps the event. */
export type DeathCause = 'tries' | 'dropped'

/** A delivery that is given up. It can be replayed while the log keeps the event. */
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

/** What a replay is about: these sequences, rising; what is dead when it begins; null: all that the endpoint's filter matches. */
export type ReplayOnly = readonly number[] | 'dead' | null

/** A second cursor of the endpoint over events that it may have had before. */
export interface ReplayRow {
  kind: 'replay'
  /** As of a position: everything up to here is decided. */
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

/** A row with its key and what that says. `place`: the sequence of a retry or a death, the id of a replay, else empty. */
export interface KeyedRow<R extends DeliveryRow = DeliveryRow> {
  key: string
  endpointId: string
  place: string
  row: R
  /** What the row's cursor says. */
  cursor: Cursor
}

const KEY = /^([^/]+)\/(?:(position)|(retry|dead)\/([1-9]\d{0,15})|(replay)\/([^/]+))$/

/** The key of the endpoint's position. */
export function positionKey(endpointId: string): string {
  return `${endpointId}/position`
}

/** The key of what waits, of the event at this sequence. */
export function retryKey(endpointId: string, sequence: number): string {
  return `${endpointId}/retry/${sequence}`
}

/** The key of a delivery that was given up. */
export function deadKey(endpointId: string, sequence: number): string {
  return `${endpointId}/dead/${sequence}`
}

/** The key of a replay. */
export function replayKey(endpointId: string, replayId: string): string {
  return `${endpointId}/replay/${replayId}`
}

/** Whose row this is, without reading it; what stands before the first slash. */
export function endpointOf(key: string): string {
  return key.slice(0, Math.max(0, key.indexOf('/')))
}

/**
 * The row under that key. Fields of a later version are passed over.
 * @throws BridgeError `log_damaged` where it has no form of this version's, or contradicts its key
 */
export function readDeliveryRow(key: string, value: unknown, readCursor: ReadCursor): KeyedRow {
  const parts = KEY.exec(key)
  if (parts === null) throw damaged(key, 'no such key is written')
  const [, endpointId = '', position, event, sequence, replay, replayId] = parts
  const fields = fieldsOf(key, value)
  const row = readers[(position ?? event ?? replay) as DeliveryRow['kind']](key, fields)
  const cursor = cursorIn(key, row.cursor, readCursor)
  if (sequence !== undefined && cursor.sequence !== Number(sequence)) {
    throw damaged(key, 'its cursor is of another event')
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
  if (value === null || typeof value !== 'object') throw damaged(key, 'it is no object')
  return value as Fields
}

function text(key: string, fields: Fields, name: string): string {
  const value = fields[name]
  if (typeof value !== 'string') throw damaged(key, `${name} is no text`)
  return value
}

function number(key: string, fields: Fields, name: string): number {
  const value = fields[name]
  if (!isCount(value)) throw damaged(key, `${name} is no whole number from 0`)
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
  if (!rises) throw damaged(key, `${name} is no rising list of sequences`)
  return value
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function cursorIn(key: string, cursor: string, readCursor: ReadCursor): Cursor {
  try {
    return readCursor(cursor)
  } catch (error) {
    throw damaged(key, 'its cursor is none', error)
  }
}

function damaged(key: string, what: string, cause?: unknown): BridgeError {
  return new BridgeError('log_damaged', `what is stored of deliveries under ${key} cannot be read: ${what}`, {
    cause,
    hint:
      'Somebody else has written there, a newer version has, or the storage is faulty. Stop, keep a copy of what is ' +
      'stored, and restore the last good backup; on Kafka, look who may write to the internal topics.',
  })
}
