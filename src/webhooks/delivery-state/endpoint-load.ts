/**
 * Rebuilds the delivery state of an endpoint from its stored rows. If the log has a new epoch, was replaced by a backup, or
 * has dropped unread events, it decides where to continue and which rows are of no use.
 */
import type { Reader } from '../../archive/reading/reader.ts'
import { isOfPresentLog, type Resume, resumeAt, throughCursor } from '../../archive/reading/resume.ts'
import { type Cursor, decodeCursor } from '../../core/cursor.ts'
import {
  type DeliveryRow,
  type KeyedRow,
  type PositionRow,
  type ReplayRow,
  type RetryRow,
  readDeliveryRow,
} from './delivery-rows.ts'
import type { ReplayStart } from './endpoint-cursors.ts'
import type { StoredCondition } from './endpoint-failing.ts'
import type { Loaded } from './endpoint-state.ts'

/** An endpoint's rows with their keys. */
export type StoredRows = Iterable<readonly [key: string, row: DeliveryRow]>

/** The state to continue with. */
export interface LoadedEndpoint extends Loaded {
  /** Keys of rows that mean nothing in the log's present history: to be deleted. */
  useless: readonly string[]
  /** Ids of replays that ended because the log's epoch or history changed. */
  endedReplays: readonly string[]
  /** What the operator should know; null where it continues as it was left. */
  warning: 'epoch_changed' | 'fell_behind' | null
}

/**
 * Reads an endpoint's rows. `start`: the cursor after which it begins where there is no position row.
 *
 * After a change of epoch, or in a log that a backup has replaced, the old sequences mean nothing. The endpoint continues an
 * hour before the time of its position, or of its oldest waiting delivery, or earlier in a restored log, so nothing is lost.
 * A repeated delivery of the same content has the same `webhook-id`; what lies before its `start` it never got, and gets only
 * where a delivery of that waited.
 * @throws BridgeError `log_damaged` where a row cannot be read; `cursor_invalid` where `start` cannot
 */
export function loadEndpoint(
  start: string,
  rows: StoredRows,
  { reader, nowMs }: { reader: Reader; nowMs: number },
): LoadedEndpoint {
  const { position, retries, dead, replays, useless } = sorted(rows, reader)
  const waited = useless.filter(({ row }) => row.kind === 'retry')
  const unwanted = throughCursor(reader, start)
  const resumed = resumeAt(reader, position?.row.cursor ?? start, nowMs)
  const placeOf = (resume: Resume): number => (resume.kind === 'from' ? resume.after : reader.oldest - 1)
  const base = Math.min(
    Math.max(placeOf(resumed), unwanted),
    ...waited.map(({ row, cursor }) =>
      Math.max(placeOf(resumeAt(reader, row.cursor, nowMs)), Math.min(unwanted, cursor.sequence - 1)),
    ),
  )
  const isHere = position !== null && isOfPresentLog(reader, position.cursor)
  const isSame = isHere && base === position?.cursor.sequence
  return {
    base,
    isWritten: isSame,
    ahead: isSame ? position.row.ahead : [],
    ...conditionOf(position?.row ?? { failingSinceMs: null }),
    retries,
    dead: dead.sort((one, other) => one - other),
    replays: replays.sort((one, other) => one.createdAtMs - other.createdAtMs),
    useless: useless.map(({ key }) => key),
    endedReplays: useless.flatMap(({ row, place }) => (row.kind === 'replay' ? [place] : [])),
    warning: warningOf(position !== null && !isHere, resumed.kind === 'too_old'),
  }
}

function conditionOf(stored: StoredCondition): StoredCondition {
  const { failingSinceMs, failing, heldUntilMs, heldSinceMs, trouble, forgotten } = stored
  return {
    failingSinceMs,
    ...(failing !== undefined && { failing }),
    ...(heldUntilMs !== undefined && { heldUntilMs }),
    ...(heldSinceMs !== undefined && { heldSinceMs }),
    ...(trouble !== undefined && { trouble }),
    ...(forgotten !== undefined && { forgotten }),
  }
}

/** The rows by kind; `useless`: those that mean nothing in the present epoch. */
interface SortedRows {
  position: { row: PositionRow; cursor: Cursor } | null
  retries: Map<number, RetryRow>
  /** Sequences. */
  dead: number[]
  replays: ReplayStart[]
  useless: KeyedRow[]
}

function sorted(rows: StoredRows, reader: Reader): SortedRows {
  const found: SortedRows = { position: null, retries: new Map(), dead: [], replays: [], useless: [] }
  for (const [key, value] of rows) {
    const one = readDeliveryRow(key, value)
    const { row, place, cursor } = one
    if (row.kind === 'position') found.position = { row, cursor }
    else if (!isOfPresentLog(reader, cursor) || isBeyondRetention(one, reader)) found.useless.push(one)
    else if (row.kind === 'retry') found.retries.set(Number(place), row)
    else if (row.kind === 'dead') found.dead.push(Number(place))
    else found.replays.push(replayStart(place, row, cursor.sequence))
  }
  return found
}

/**
 * The highest sequence that the endpoint's rows, or its `start`, name in the present epoch; 0 where they name none. While it
 * is ahead of this node's replica, it is unknown whether the rows belong to the log's present history.
 * @throws BridgeError as `loadEndpoint`
 */
export function furthestSequence(start: string, rows: StoredRows, epoch: string | null): number {
  const cursors = [...rows].map(([key, value]) => readDeliveryRow(key, value).cursor)
  const present = [decodeCursor(start), ...cursors].filter((cursor) => cursor.epoch === epoch)
  return present.reduce((furthest, { sequence }) => Math.max(furthest, sequence), 0)
}

function replayStart(id: string, row: ReplayRow, base: number): ReplayStart {
  const { kind: _, cursor: __, ...stored } = row
  return { id, base, ...stored, isWritten: true }
}

/** A dead delivery whose event the log no longer keeps: it cannot be replayed. */
function isBeyondRetention({ row, place }: KeyedRow, reader: Reader): boolean {
  return row.kind === 'dead' && Number(place) < reader.oldest
}

function warningOf(isOtherEpoch: boolean, isTooOld: boolean): LoadedEndpoint['warning'] {
  if (isOtherEpoch) return 'epoch_changed'
  return isTooOld ? 'fell_behind' : null
}
