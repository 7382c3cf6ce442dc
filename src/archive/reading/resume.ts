/**
 * Resolves a consumer's cursor to a position in the log. Handles cursors that are too old, ahead of this node's replica, or
 * of another history: of another epoch, or of a log that a backup has replaced. HTTP pull, streams and webhooks share it.
 */
import { type Cursor, decodeCursor } from '../../core/cursor.ts'
import { isoMillis } from '../../core/dates.ts'
import { HOUR_MS } from '../../core/durations.ts'
import { GAP_OPENED } from '../../core/event.ts'
import { NO_EPOCH } from '../store/archive.ts'
import type { Reader } from './reader.ts'

/**
 * A cursor of another epoch resumes this long before its time, and the reported gap begins there too. The old log may
 * have received events of that time after the cursor, and the new log may hold them in another order.
 */
const EPOCH_MARGIN_MS = HOUR_MS

/** A gap event made by this node and absent from the log: events between two epochs, or beyond retention. */
export interface LocalGap {
  cursor: string
  /** One line of UTF-8 JSON in the shape of an event. */
  json: Buffer
}

/** Where a cursor leads. */
export type Resume =
  /** Read what follows `after`, whose resume point is `cursor`; send `localGap` first unless it is null. */
  | { kind: 'from'; after: number; cursor: string; localGap: LocalGap | null }
  /** The next events are beyond retention. `oldest` is the earliest cursor that can be resumed from. */
  | { kind: 'too_old'; oldest: string }

/**
 * Whether a cursor belongs to the reader's epoch and history, so that its sequence names the same event here. A cursor ahead
 * of a replica may still turn out to be right or wrong: it must be checked again once the replica has reached it.
 */
export function isOfPresentLog(reader: Reader, cursor: Cursor): boolean {
  return cursor.epoch === reader.epoch && !isOfOtherHistory(reader, cursor)
}

/** What is wrong with a cursor at which a range cannot end. */
export const NOT_OF_THIS_LOG = 'is a cursor of another epoch or history of the log; give a time'

/**
 * The sequence at which a range ends; null for a cursor of another epoch or history.
 * @throws BridgeError `cursor_invalid` when the text is no cursor of this bridge
 */
export function sequenceAt(reader: Reader, text: string): number | null {
  const cursor = decodeCursor(text)
  return isOfPresentLog(reader, cursor) ? cursor.sequence : null
}

/** The last sequence of the log that is certainly not after that cursor; 0 where none is. */
export function throughCursor(reader: Reader, text: string): number {
  const cursor = decodeCursor(text)
  const { sequence, timeMs } = cursor
  if (isOfPresentLog(reader, cursor)) return sequence
  const isShared = sequence <= (sharedWith(reader, cursor.epoch) ?? 0)
  return isShared && reader.timeOf(sequence) === timeMs ? sequence : 0
}

/** The last sequence that the log may share with another epoch; null for its own, and where it was never restored. */
function sharedWith(reader: Reader, epoch: string): number | null {
  return epoch === reader.epoch ? null : reader.sharedThrough(epoch)
}

/**
 * Whether a cursor of the reader's epoch belongs to another history: a backup was put back without a new epoch, and the
 * sequence now names another event or none. The time of the cursor shows the difference.
 */
function isOfOtherHistory(reader: Reader, { sequence, timeMs }: Cursor): boolean {
  if (sequence === 0) return false
  const storedMs = reader.timeOf(sequence)
  // A cursor has time 0 where the node that made it stored no event.
  if (storedMs !== null) return timeMs !== 0 && storedMs !== timeMs
  return reader.replica.isLog && sequence > reader.latest
}

/**
 * Resolves a cursor. A position ahead of this replica is returned as it is: reading waits for it, and then resolves the
 * cursor again.
 * @throws BridgeError `cursor_invalid` when the text is no cursor of this bridge
 */
export function resumeAt(reader: Reader, text: string, nowMs: number): Resume {
  const cursor = decodeCursor(text)
  const { sequence } = cursor
  // A cursor without an epoch is before the first event, or was made while the replica was empty and is no position here.
  const isBefore = cursor.epoch === NO_EPOCH && sequence < reader.oldest
  if (isBefore || isOfPresentLog(reader, cursor)) {
    if (sequence >= reader.oldest - 1) return { kind: 'from', after: sequence, cursor: text, localGap: null }
    return { kind: 'too_old', oldest: reader.cursorAt(reader.oldest - 1) }
  }
  const sinceMs = cursor.timeMs - EPOCH_MARGIN_MS
  const after = startInOtherHistory(reader, cursor.epoch, sinceMs)
  const localGap = gapBefore(reader, after, nowMs, {
    id: `epoch-${cursor.epoch}-${reader.epoch ?? NO_EPOCH}`,
    fromMs: Math.max(0, Math.min(sinceMs, reader.timeOf(after + 1) ?? sinceMs)),
    cause: 'epoch',
  })
  return { kind: 'from', after, cursor: localGap.cursor, localGap }
}

/**
 * Where a reader of another epoch begins: before the lowest sequence whose time is at or after `sinceMs`, and in a restored
 * log no later than the first event that the reader's epoch may not have had. Such an event may have any time.
 */
function startInOtherHistory(reader: Reader, epoch: string, sinceMs: number): number {
  const after = reader.sequenceSince(sinceMs)
  const shared = sharedWith(reader, epoch)
  return shared === null ? after : Math.max(Math.min(after, shared), reader.oldest - 1)
}

/**
 * Where to resume instead of at a cursor that is too old: at the oldest event kept, after a gap event with `cause`
 * `retention` for what is missing.
 * @throws BridgeError `cursor_invalid` when the text is no cursor of this bridge
 */
export function resumeAtOldest(
  reader: Reader,
  text: string,
  nowMs: number,
): { after: number; cursor: string; localGap: LocalGap } {
  const { sequence, timeMs } = decodeCursor(text)
  const after = reader.oldest - 1
  const localGap = gapBefore(reader, after, nowMs, {
    id: `retention-${reader.epoch ?? NO_EPOCH}-${sequence}`,
    fromMs: timeMs,
    cause: 'retention',
  })
  return { after, cursor: localGap.cursor, localGap }
}

/** The gap event that a reader gets before the events after `after`. */
function gapBefore(
  reader: Reader,
  after: number,
  nowMs: number,
  { id, fromMs, cause }: { id: string; fromMs: number; cause: 'epoch' | 'retention' },
): LocalGap {
  const now = isoMillis(nowMs)
  const cursor = reader.cursorAt(after)
  const event = {
    specversion: '1.0',
    id: `gap:${id}:opened`,
    source: '/bridge',
    type: GAP_OPENED,
    time: now,
    subject: `gap:${id}`,
    sequence: after.toString().padStart(20, '0'),
    epoch: reader.epoch ?? NO_EPOCH,
    cursor,
    recordedtime: now,
    datacontenttype: 'application/json',
    data: { id, from: isoMillis(fromMs), to: now, cause, openedAt: now, found: 0, closedAt: null },
  }
  return { cursor, json: Buffer.from(JSON.stringify(event)) }
}
