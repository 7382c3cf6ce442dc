/**
 * Reads `since` (a cursor or a time) from the request for a new endpoint, and finds the cursor after which its
 * deliveries begin.
 */
import type { z } from 'zod'
import type { Reader } from '../../archive/reading/reader.ts'
import { resumeAt } from '../../archive/reading/resume.ts'
import { tooOld } from '../../http/problem.ts'
import { placeText } from '../../http/read-body.ts'

/** Tolerance for clocks that differ; a time further in the future is an error. */
export const CLOCK_MARGIN_MS = 60_000

/** The member `since`: a cursor, a time, or nothing (now). */
export function sinceText(nowMs: number) {
  return placeText('must be a cursor, or a time such as 2027-01-31T12:00:00Z')
    .refine(
      (place) => place.kind === 'cursor' || place.fromMs <= nowMs + CLOCK_MARGIN_MS,
      'is in the future; leave it out to begin now',
    )
    .optional()
    .describe('Cursor after which, or time from which on, deliveries begin; default: now.')
}

/** The parsed `since`. */
export type Since = z.output<ReturnType<typeof sinceText>>

/**
 * The cursor after which deliveries begin. A time before everything that is kept means everything that is kept; a cursor
 * of another epoch, or ahead of this node's replica, means what it means to a reader (`archive/reading/resume.ts`).
 * @throws BridgeError `cursor_invalid`; HttpProblem `cursor_too_old` with the oldest
 */
export function startOf(since: Since, reader: Reader, nowMs: number): string {
  if (since === undefined) return reader.cursorAt(reader.latest)
  if (since.kind === 'time') return reader.cursorAt(reader.sequenceSince(since.fromMs))
  const resume = resumeAt(reader, since.text, nowMs)
  if (resume.kind === 'too_old') throw tooOld(resume.oldest)
  // A client's cursor may have a wrong time, so the replica's own time is used where it has the event.
  return resume.after <= reader.latest ? reader.cursorAt(resume.after) : since.text
}
