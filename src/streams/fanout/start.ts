/**
 * Translates the starting point that a stream client asks for (now, a cursor, a time) into a position in the log.
 * WebSocket and server-sent events share it; each words its own refusal of a cursor that is too old.
 */
import type { Reader } from '../../archive/reading/reader.ts'
import { resumeAt, resumeAtOldest } from '../../archive/reading/resume.ts'
import type { Filter } from '../../core/filter/filter.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import type { SessionStart } from './session.ts'

/** Most events that a stream may go back with `tail`. */
export const MAX_TAIL = 1000

/** Where a client asks to start. */
export type From =
  | { kind: 'live' }
  | { kind: 'earliest' }
  | { kind: 'after'; cursor: string }
  /** At the lowest sequence whose time is at or after it; all later ones follow. */
  | { kind: 'since'; timeMs: number }
  /** At the last matching events, 1 to `MAX_TAIL`. */
  | { kind: 'tail'; count: number }

/** What to do with a cursor whose events are beyond retention. */
export type OnGap = 'refuse' | 'earliest'

/** A position to start at, or the oldest cursor that could be resumed from. */
export type ResolvedStart = { kind: 'from'; start: SessionStart } | { kind: 'too_old'; oldest: string }

/**
 * Resolves the start. An abort of `gone` ends a long search early.
 * @throws BridgeError `cursor_invalid` when the text is no cursor of this bridge
 */
export async function startAt(
  parts: { reader: Reader; clock: Clock },
  wanted: { from: From; filter: Filter | null; onGap: OnGap; caller?: string },
  gone: AbortSignal,
): Promise<ResolvedStart> {
  const { reader, clock } = parts
  const { from, onGap } = wanted
  const { epoch } = reader
  if (from.kind !== 'after') {
    const after = await positionOf(reader, from, wanted, gone)
    // The log was started afresh during the search: its result is no position in the new one.
    if (reader.epoch !== epoch) return await startAt(parts, wanted, gone)
    return { kind: 'from', start: { epoch, after, cursor: reader.cursorAt(after), localGap: null } }
  }
  const resume = resumeAt(reader, from.cursor, clock.now())
  if (resume.kind === 'from') return { kind: 'from', start: { epoch, ...resume } }
  if (onGap === 'refuse') return resume
  return { kind: 'from', start: { epoch, ...resumeAtOldest(reader, from.cursor, clock.now()) } }
}

async function positionOf(
  reader: Reader,
  from: Exclude<From, { kind: 'after' }>,
  { filter, caller }: { filter: Filter | null; caller?: string },
  gone: AbortSignal,
): Promise<number> {
  switch (from.kind) {
    case 'live':
      return reader.latest
    case 'earliest':
      return reader.oldest - 1
    case 'since':
      return reader.sequenceSince(from.timeMs)
    case 'tail':
      return await reader.beforeLast(filter, from.count, gone, caller)
  }
}
