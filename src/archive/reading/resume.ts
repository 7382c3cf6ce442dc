/**
 * From a reader's cursor to a position in this log. Owns what a cursor that is too old, ahead of this copy, or of
 * another epoch means (contract §8); pull and streams share it. Refuses to read events.
 */
import type { Cursor } from '../../core/cursor.ts'
import { decodeCursor } from '../../core/cursor.ts'
import { isoMillis } from '../../core/dates.ts'
import { GAP_OPENED } from '../../core/event.ts'
import { NO_EPOCH } from '../store/archive.ts'
import type { Reader } from './reader.ts'

/**
 * A cursor of another epoch starts this long before its time, and so does the hole that is told: the old log may still have
 * got things of that time behind the cursor, and the new one may have got them in another order.
 */
const EPOCH_MARGIN_MS = 3_600_000

/** A gap event of this node, not of the log: what is missing between two epochs, or is no longer kept, cannot be told. */
export interface Notice {
  cursor: string
  /** One line of UTF-8 JSON in the shape of an event. */
  json: Buffer
}

export type Resume =
  /** Read what comes after this position, whose resume point is `cursor`; tell the notice first where there is one. */
  | { kind: 'from'; after: number; cursor: string; notice: Notice | null }
  /** What lies between is no longer kept. `oldest` is the earliest cursor that can be resumed from. */
  | { kind: 'too_old'; oldest: string }

/**
 * Where reading resumes. A position ahead of this copy is given as it is: reading waits for it.
 * `readCursor` is for who resumes often from the same few texts.
 * @throws BridgeError `cursor_invalid` when the text is no cursor of this bridge
 */
export function resumeAt(
  reader: Reader,
  text: string,
  nowMs: number,
  readCursor: (text: string) => Cursor = decodeCursor,
): Resume {
  const cursor = readCursor(text)
  const { sequence } = cursor
  // One of no epoch is before the first event, or was made while the copy was emptied: it is no place among these then.
  const isBefore = cursor.epoch === NO_EPOCH && sequence < reader.oldest
  if (cursor.epoch === reader.epoch || isBefore) {
    if (sequence >= reader.oldest - 1) return { kind: 'from', after: sequence, cursor: text, notice: null }
    return { kind: 'too_old', oldest: reader.cursorAt(reader.oldest - 1) }
  }
  const after = reader.sequenceSince(cursor.timeMs - EPOCH_MARGIN_MS)
  const notice = epochNotice(reader, cursor, after, nowMs)
  return { kind: 'from', after, cursor: notice.cursor, notice }
}

/**
 * Where reading resumes instead of a cursor that is too old: at the oldest event kept, behind a notice of what is
 * missing (`cause` `retention`).
 * @throws BridgeError `cursor_invalid` when the text is no cursor of this bridge
 */
export function resumeAtOldest(
  reader: Reader,
  text: string,
  nowMs: number,
): { after: number; cursor: string; notice: Notice } {
  const { sequence, timeMs } = decodeCursor(text)
  const after = reader.oldest - 1
  const notice = noticeOf(reader, after, nowMs, {
    id: `retention-${reader.epoch ?? NO_EPOCH}-${sequence}`,
    fromMs: timeMs,
    cause: 'retention',
  })
  return { after, cursor: notice.cursor, notice }
}

function epochNotice(reader: Reader, cursor: Cursor, after: number, nowMs: number): Notice {
  const id = `epoch-${cursor.epoch}-${reader.epoch ?? NO_EPOCH}`
  const fromMs = Math.max(0, cursor.timeMs - EPOCH_MARGIN_MS)
  return noticeOf(reader, after, nowMs, { id, fromMs, cause: 'epoch' })
}

function noticeOf(
  reader: Reader,
  after: number,
  nowMs: number,
  { id, fromMs, cause }: { id: string; fromMs: number; cause: 'epoch' | 'retention' },
): Notice {
  const now = isoMillis(nowMs)
  const resumed = reader.cursorAt(after)
  const event = {
    specversion: '1.0',
    id: `gap:${id}:opened`,
    source: '/bridge',
    type: GAP_OPENED,
    time: now,
    subject: `gap:${id}`,
    sequence: String(after).padStart(20, '0'),
    epoch: reader.epoch ?? NO_EPOCH,
    cursor: resumed,
    recordedtime: now,
    datacontenttype: 'application/json',
    data: { id, from: isoMillis(fromMs), to: now, cause, openedAt: now, found: 0, closedAt: null },
  }
  return { cursor: resumed, json: Buffer.from(JSON.stringify(event)) }
}
