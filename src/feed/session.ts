/**
 * One connected reader: a filter, a position and a sink. Owns the pull loop: read, write, wait for room, wait for more,
 * sign of life. A slow reader costs a position, not memory; it is closed only when it makes no progress at all or when
 * what it has not read yet is dropped. Refuses to know transports: framing and sink are arguments.
 */
import type { Reader } from '../archive/reader.ts'
import { type Notice, resumeAt } from '../archive/resume.ts'
import type { Filter } from '../core/filter.ts'
import type { Clock } from '../lifecycle/clock.ts'
import { sleep } from '../lifecycle/clock.ts'
import type { Framing } from './framing.ts'
import type { Sink } from './sink.ts'

/** Where a session begins. */
export interface SessionStart {
  after: number
  /** The resume point at `after`: the reader's own where it is ahead of this copy. */
  cursor: string
  /** Told before anything else. */
  notice: Notice | null
}

export interface SessionOptions {
  reader: Reader
  filter: Filter | null
  start: SessionStart
  framing: Framing
  /** Whole frames that go out before anything else. */
  opening: Buffer
  sink: Sink
  clock: Clock
  /** Aborts when the client has gone. */
  gone: AbortSignal
  /** Aborts when this node stops. */
  stopping: AbortSignal
  /** What a stopping node tells its clients to wait, ms. */
  reconnectInMs: number
  /** Told for each write of events: how many, and when they became readable; null while catching up. */
  onSent: (events: number, readableMs: number | null) => void
  /** Told after each write: the resume point behind it. */
  onCursor: (cursor: string) => void
  /** Told when a write meets a full socket, and when there is room again. */
  onSlow: (slow: boolean) => void
}

/** Why a session ended: the client left, this node stops, no progress, or what comes next is no longer kept. */
export type SessionEnd = 'gone' | 'drained' | 'too_slow' | 'fell_behind'

/** Silence after which a sign of life is sent. */
export const HEARTBEAT_MS = 15_000
/** Most events in one write: about 500 KB, which bounds what a slow client holds of our memory. */
const BATCH = 200
const READ_BUDGET_MS = 1000

/** Serves the client until it goes, stalls, falls behind, or the node stops. */
export async function runSession(options: SessionOptions): Promise<SessionEnd> {
  const { reader, filter, framing, sink, clock, gone, stopping } = options
  const ended = AbortSignal.any([gone, stopping])
  let { epoch } = reader
  let { after: position, cursor } = options.start
  let live = false
  let readableMs: number | null = null
  let writtenMs = clock.now()
  const { notice } = options.start
  let frames = [options.opening, ...(notice === null ? [] : framing.notice(notice, writtenMs))]

  while (!ended.aborted) {
    if (reader.epoch !== epoch) {
      epoch = reader.epoch
      const resume = resumeAt(reader, cursor, clock.now())
      if (resume.kind === 'too_old') return 'fell_behind'
      position = resume.after
      cursor = resume.cursor
      if (resume.notice !== null) frames.push(...framing.notice(resume.notice, clock.now()))
    }
    const read = await reader.read({
      after: position,
      filter,
      limit: BATCH,
      signal: ended,
      budgetMs: READ_BUDGET_MS,
    })
    if (reader.oldest - 1 > position) return 'fell_behind'
    position = read.position
    if (position <= reader.latest) cursor = read.cursor
    frames.push(...framing.events(read.events, clock.now()))
    const caughtUp = !read.more && position <= reader.latest
    if (caughtUp && !live) frames.push(...framing.live(cursor))
    else if (frames.length === 0 && clock.now() - writtenMs >= HEARTBEAT_MS)
      frames.push(...framing.heartbeat(cursor))
    if (frames.length > 0) {
      const taken = sink.write(Buffer.concat(frames))
      frames = []
      writtenMs = clock.now()
      options.onCursor(cursor)
      if (read.events.length > 0) options.onSent(read.events.length, live ? readableMs : null)
      if (!taken && !(await roomFor(options, ended))) break
    }
    live ||= caughtUp
    if (read.more) continue
    await waitForMore(reader, position, clock, writtenMs + HEARTBEAT_MS - clock.now(), ended)
    readableMs = clock.now()
  }
  if (gone.aborted) return 'gone'
  if (!stopping.aborted) return 'too_slow'
  sink.write(Buffer.concat([...frames, ...framing.goingAway(options.reconnectInMs)]))
  return 'drained'
}

async function roomFor({ sink, onSlow }: SessionOptions, ended: AbortSignal): Promise<boolean> {
  onSlow(true)
  const hasRoom = await sink.room(ended)
  onSlow(false)
  return hasRoom
}

/** Resolves when the log goes on past the position, when it is time for a sign of life, or when the session ends. */
async function waitForMore(
  reader: Reader,
  position: number,
  clock: Clock,
  timeoutMs: number,
  ended: AbortSignal,
): Promise<void> {
  const enough = new AbortController()
  const signal = AbortSignal.any([ended, enough.signal])
  await Promise.race([reader.waitBeyond(position, signal), sleep(clock, timeoutMs, signal)])
  enough.abort()
}
