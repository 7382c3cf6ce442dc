/**
 * Defines and parses the rows that keep the delivery state of webhook endpoints in the log. A row belongs to a shard, a
 * share of the endpoints that one process owns at a time. One attempt writes one row.
 */
import { z } from 'zod'
import { type Cursor, decodeCursor } from '../../core/cursor.ts'
import { BridgeError } from '../../errors.ts'

const count = z.int().min(0)
/** Sequences, rising. */
const sequences = z
  .array(count)
  .refine((all) => all.every((one, at) => at === 0 || one > (all[at - 1] ?? 0)), 'must be a rising list')
  .readonly()

/** Why a delivery is dead: no try was left, or the log no longer keeps the event. */
const deathCauses = ['tries', 'dropped'] as const
/** One of them. */
export type DeathCause = (typeof deathCauses)[number]

/** What is replayed: these sequences; `dead`: the dead deliveries; null: all that the endpoint's filter matches. */
export const replayOnly = z.union([sequences, z.literal('dead'), z.null()])
/** One of them. */
export type ReplayOnly = z.output<typeof replayOnly>

/** The rows by kind. Cursors are cursors of the log; times are ms since 1970. */
const rows = {
  position: z.object({
    kind: z.literal('position'),
    /** With epoch and time: it can be resumed after the epoch changed. */
    cursor: z.string(),
    /** Sequences after the cursor that are delivered or dead already. */
    ahead: sequences,
    /** Since when no attempt succeeded; null while the last one did. */
    failingSinceMs: count.nullable(),
    /** The failed tries since then; absent: none, or a build that did not count them wrote the row. */
    failing: z.object({ tries: count, lastMs: count }).exactOptional(),
    /** Until when a Retry-After holds all deliveries, and when it said so; absent: none does, or a build without `heldSinceMs`. */
    heldUntilMs: count.exactOptional(),
    heldSinceMs: count.exactOptional(),
    /** Notifications of the owner that are due; absent: none. */
    trouble: z
      .object({
        deaths: count,
        firstMs: count,
        lastMs: count,
        noticedMs: count.nullable(),
        troubledMs: count.nullable(),
        recoveredMs: count.nullable(),
      })
      .exactOptional(),
    /** How many of its dead deliveries were forgotten; absent: none. */
    forgotten: count.exactOptional(),
  }),
  retry: z.object({
    kind: z.literal('retry'),
    /** The cursor of the event itself. */
    cursor: z.string(),
    eventId: z.string(),
    /** The issuer's key, for `order: issuer`. */
    subject: z.string(),
    /** When the bridge recorded the event. */
    recordedMs: count,
    /** Attempts made. */
    tries: count,
    /** How many of these were answered with a Retry-After that is followed; absent: none. */
    asked: count.exactOptional(),
    /** When the next try is due. */
    dueMs: count,
    /** When that was decided; absent: by a build that did not store it. */
    setMs: count.exactOptional(),
    /** HTTP status of the last answer; null where there was none. */
    lastStatus: count.nullable(),
    /** The first sequence of the batch that it was tried in: these are tried together again. Absent: it was tried alone. */
    batch: count.exactOptional(),
  }),
  dead: z.object({
    kind: z.literal('dead'),
    cursor: z.string(),
    eventId: z.string(),
    tries: count,
    lastStatus: count.nullable(),
    cause: z.enum(deathCauses).catch('tries'),
    diedAtMs: count,
  }),
  replay: z.object({
    kind: z.literal('replay'),
    /** Everything up to here is decided, as in a position row. */
    cursor: z.string(),
    ahead: sequences,
    /** The last sequence that belongs to it. */
    until: count,
    only: replayOnly,
    createdAtMs: count,
    /** The cursor's first sequence, and how many deliveries it was to make; absent: a build that did not store them wrote the row. */
    from: count.exactOptional(),
    count: count.exactOptional(),
  }),
}

/**
 * The position of the endpoint's cursor over new events. Everything up to `cursor` is decided: delivered, not matching, dead
 * with a row, or kept in a retry row.
 */
export type PositionRow = z.output<typeof rows.position>
/** A delivery that waits for its next try, or (`tries` 0) for an earlier delivery of its issuer. */
export type RetryRow = z.output<typeof rows.retry>
/** What it says of its tries. */
export type KeptTries = Pick<RetryRow, 'tries' | 'asked' | 'dueMs' | 'setMs' | 'lastStatus' | 'batch'>
/** A delivery that was given up. It can be replayed while the log keeps the event. */
export type DeadRow = z.output<typeof rows.dead>
/** A second cursor of the endpoint, over events that it may have received before. */
export type ReplayRow = z.output<typeof rows.replay>
/** A row of a shard. */
export type DeliveryRow = PositionRow | RetryRow | DeadRow | ReplayRow

/** A row with its parsed key. `place`: the sequence of a retry or dead row, the id of a replay, else empty. */
export interface KeyedRow {
  key: string
  endpointId: string
  place: string
  row: DeliveryRow
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
export function readDeliveryRow(key: string, value: unknown): KeyedRow {
  const matched = KEY.exec(key)
  if (matched === null) throw damaged(key, 'the key has no known form')
  const [, endpointId = '', position, event, sequence, replay, replayId] = matched
  const kind = (position ?? event ?? replay) as DeliveryRow['kind']
  const { data: row, error } = rows[kind].safeParse(value)
  if (row === undefined) throw damaged(key, z.prettifyError(error))
  const cursor = cursorIn(key, row.cursor)
  if (sequence !== undefined && cursor.sequence !== Number(sequence)) {
    throw damaged(key, 'its cursor belongs to another event')
  }
  return { key, endpointId, place: sequence ?? replayId ?? '', row, cursor }
}

function cursorIn(key: string, cursor: string): Cursor {
  try {
    return decodeCursor(cursor)
  } catch (error) {
    throw damaged(key, 'its cursor cannot be decoded', error)
  }
}

function damaged(key: string, what: string, cause?: unknown): BridgeError {
  return new BridgeError('log_damaged', `the webhook delivery row ${key} cannot be read: ${what}`, {
    cause,
    hint:
      'Another program or a newer version wrote the row, or the storage is faulty. Stop, keep a copy of the stored data, ' +
      'and put the last good backup back with bridge restore; on Kafka, check who may write to the internal topics.',
  })
}
