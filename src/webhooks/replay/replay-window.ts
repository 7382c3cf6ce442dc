/**
 * Translates a replay request into a range of the log's sequence numbers, or a list of them.
 */
import type { Reader } from '../../archive/reading/reader.ts'
import { NOT_OF_THIS_LOG, resumeAt, sequenceAt } from '../../archive/reading/resume.ts'
import type { FieldError } from '../../errors.ts'
import { MOST_ERRORS } from '../../errors.ts'
import { type HttpProblem, tooOld, wrongFields } from '../../http/problem.ts'
import type { LogPosition } from '../../http/read-body.ts'
import type { ReplayRequest } from './replay-request.ts'

/** Events behind `after`, up to `until`; `only`: these sequences of them, rising; null: all. */
export interface ReplayWindow {
  after: number
  until: number
  only: readonly number[] | null
}

/** Finds the sequences of those of these events that are kept. */
export type FindEvents = (ids: readonly string[]) => ReadonlyMap<string, number>

/**
 * The window that a request names. It never reaches beyond what this node holds: what comes later is delivered anyway.
 * @throws HttpProblem `cursor_too_old` with the oldest, `body_invalid`; BridgeError `cursor_invalid`
 */
export function windowOf(
  { from, until }: ReplayRequest,
  reader: Reader,
  find: FindEvents,
  nowMs: number,
): ReplayWindow {
  if (from.kind === 'ids') return windowAround(from.ids, find)
  const after = Math.min(beginning(from, reader, nowMs), reader.latest)
  const end = until === null ? reader.latest : ending(until, reader)
  if (end < after) throw wrong([{ field: 'until', message: 'is before the start of the window' }])
  return { after, until: Math.min(end, reader.latest), only: null }
}

function windowAround(ids: readonly string[], find: FindEvents): ReplayWindow {
  const found = find(ids)
  const missing = [...ids.entries()].filter(([, id]) => !found.has(id))
  const message = 'no disclosure of this id is kept'
  if (missing.length > 0) {
    throw wrong(missing.slice(0, MOST_ERRORS).map(([at]) => ({ field: `ids[${at}]`, message })))
  }
  const only = [...found.values()].sort((one, other) => one - other)
  const [first = 1] = only
  return { after: first - 1, until: only.at(-1) ?? first, only }
}

function beginning(place: LogPosition, reader: Reader, nowMs: number): number {
  if (place.kind === 'time') return reader.sequenceSince(place.fromMs)
  const resume = resumeAt(reader, place.text, nowMs)
  if (resume.kind === 'too_old') throw tooOld(resume.oldest)
  return resume.after
}

function ending(place: LogPosition, reader: Reader): number {
  if (place.kind === 'time') return reader.sequenceSince(place.toMs + 1)
  const until = sequenceAt(reader, place.text)
  if (until !== null) return until
  throw wrong([{ field: 'until', message: NOT_OF_THIS_LOG }])
}

function wrong(errors: readonly FieldError[]): HttpProblem {
  return wrongFields('body_invalid', errors)
}
