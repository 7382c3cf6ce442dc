/**
 * Where the deliveries to a new endpoint begin. Owns what `since` may say, a cursor or a time, and that it is decided once,
 * when the endpoint is made. Refuses to read events.
 */
import type { Reader } from '../../archive/reading/reader.ts'
import { resumeAt } from '../../archive/reading/resume.ts'
import { parseTimeBound } from '../../core/dates.ts'
import { isBridgeError } from '../../errors.ts'
import { tooOld } from '../../http/cursor-too-old.ts'
import type { Members } from '../../http/members.ts'

/** A time this far ahead may be a clock that differs; what is further ahead is a mistake. */
const CLOCK_MARGIN_MS = 60_000

/** What `since` says: a cursor, a time, or nothing (now). */
export type Since = { kind: 'cursor'; text: string } | { kind: 'time'; ms: number } | { kind: 'now' }

/** Reads the member `since`; what is wrong with it is noted in `members`. */
export function readSince(members: Members, nowMs: number): Since {
  const text = members.optional('since')
  if (text === undefined) return { kind: 'now' }
  if (typeof text !== 'string' || text === '') {
    members.refuse('since', 'must be a cursor, or a time such as 2027-01-31T12:00:00Z')
    return { kind: 'now' }
  }
  // No cursor begins with a digit: its first byte is the number of its form.
  if (!/^\d/.test(text)) return { kind: 'cursor', text }
  try {
    const ms = parseTimeBound(text).fromMs
    if (ms > nowMs + CLOCK_MARGIN_MS) members.refuse('since', 'is in the future; leave it out to begin now')
    return { kind: 'time', ms }
  } catch (error) {
    if (!isBridgeError(error, 'date_invalid')) throw error
    members.refuse('since', `is no time. ${error.hint ?? ''}`)
    return { kind: 'now' }
  }
}

/**
 * The cursor after which deliveries begin. A time before everything that is kept means everything that is kept; a cursor
 * of another epoch, or ahead of this node's copy, means what it means to a reader (`archive/reading/resume.ts`).
 * @throws BridgeError `cursor_invalid`; HttpProblem `cursor_too_old` with the oldest
 */
export function startOf(since: Since, reader: Reader, nowMs: number): string {
  if (since.kind === 'now') return reader.cursorAt(reader.latest)
  if (since.kind === 'time') return reader.cursorAt(reader.sequenceSince(since.ms))
  const resume = resumeAt(reader, since.text, nowMs)
  if (resume.kind === 'too_old') throw tooOld(resume.oldest)
  // The time in a cursor that came from outside is not believed where this copy knows it.
  return resume.after <= reader.latest ? reader.cursorAt(resume.after) : since.text
}
