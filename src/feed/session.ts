/**
 * One connected reader: a filter, a position and a sink. Owns the pull loop: read, write, wait for room, wait for more,
 * sign of life. A slow reader costs a position, not memory; it is closed only when it makes no progress at all.
 * Refuses to know HTTP.
 */
import type { Reader } from '../archive/reader.ts'
import type { Notice } from '../archive/resume.ts'
import type { StoredEvent } from '../archive/stored.ts'
import type { Filter } from '../core/filter.ts'
import type { Clock } from '../lifecycle/clock.ts'
import { sleep } from '../lifecycle/clock.ts'
import { eventFrame, goingAwayFrame, heartbeatFrame, liveFrame, noticeFrame, RETRY_FRAME } from './sse-frames.ts'

/** Where frames go. */
export interface Sink {
  /** Takes the bytes; false when the reader is slow and `drained` should be awaited. */
  write(bytes: Buffer): boolean
  /** Resolves when there is room again, or the signal aborts. */
  drained(signal: AbortSignal): Promise<void>
}

export interface SessionOptions {
  reader: Reader
  filter: Filter | null
  after: number
  /** The resume point at `after`: the reader's own where it is ahead of this copy. */
  cursor: string
  /** Told before anything else. */
  notice: Notice | null
  sink: Sink
  clock: Clock
  /** Aborts when the reader has gone. */
  gone: AbortSignal
  /** Aborts when this node stops. */
  stopping: AbortSignal
  /** What a stopping node tells its readers to wait, ms. */
  reconnectInMs: number
  /** Told for each write of events: how many, and when they became readable; null while catching up. */
  onSent: (events: number, readableMs: number | null) => void
  /** Told when a write meets a full socket, and when there is room again. */
  onSlow: (slow: boolean) => void
}

/** Why a session ended. */
export type SessionEnd = 'gone' | 'drained' | 'too_slow'

/** Silence after which a sign of life is sent. */
const HEARTBEAT_MS = 15_000
/** A reader that takes not one block in this time makes no progress. */
const STALL_MS = 60_000
const BATCH = 500
const READ_BUDGET_MS = 1000
/** One write to a reader that keeps up. */
const BLOCK_BYTES = 256 * 1024
/** One write to a slow reader, so that its progress can be seen: 16 KB in 60 s is 270 bytes a second. */
const SLOW_BLOCK_BYTES = 16 * 1024

/** Serves the reader until it goes, stalls, or the node stops. */
export async function runSession(options: SessionOptions): Promise<SessionEnd> {
  const { reader, filter, sink, clock, gone, stopping } = options
  const ended = AbortSignal.any([gone, stopping])
  let position = options.after
  let { cursor } = options
  let live = false
  let readableMs: number | null = null
  let writtenMs = clock.now()

  const write = async (pieces: Buffer[]): Promise<boolean> => {
    writtenMs = clock.now()
    return writeBlocks(Buffer.concat(pieces), options)
  }

  const opening = [RETRY_FRAME, ...(options.notice === null ? [] : noticeFrame(options.notice))]
  if (!(await write(opening))) return gone.aborted ? 'gone' : 'too_slow'
  while (!ended.aborted) {
    const read = await reader.read({ after: position, filter, limit: BATCH, signal: ended, budgetMs: READ_BUDGET_MS })
    position = read.position
    if (position <= reader.latest) cursor = read.cursor
    const pieces = framesOf(read.events)
    const caughtUp = !read.more && position <= reader.latest
    if (caughtUp && !live) pieces.push(liveFrame(cursor))
    else if (pieces.length === 0 && clock.now() - writtenMs >= HEARTBEAT_MS) pieces.push(heartbeatFrame(cursor))
    if (pieces.length > 0 && !(await write(pieces))) break
    if (read.events.length > 0) options.onSent(read.events.length, live ? readableMs : null)
    live ||= caughtUp
    if (read.more) continue
    await waitForMore(reader, position, clock, writtenMs + HEARTBEAT_MS - clock.now(), ended)
    readableMs = clock.now()
  }
  if (gone.aborted) return 'gone'
  if (!stopping.aborted) return 'too_slow'
  sink.write(goingAwayFrame(options.reconnectInMs))
  return 'drained'
}

function framesOf(events: readonly StoredEvent[]): Buffer[] {
  return events.flatMap(eventFrame)
}

/** Writes in blocks, waiting for room after each that the reader does not take at once. False when it stalls or goes. */
async function writeBlocks(bytes: Buffer, options: SessionOptions): Promise<boolean> {
  const { sink, clock, gone } = options
  let blockBytes = BLOCK_BYTES
  for (let start = 0; start < bytes.length; ) {
    const block = bytes.subarray(start, start + blockBytes)
    start += block.length
    if (sink.write(block)) continue
    options.onSlow(true)
    const inTime = await roomInTime(sink, clock, gone)
    options.onSlow(false)
    if (!inTime) return false
    blockBytes = SLOW_BLOCK_BYTES
  }
  return !gone.aborted
}

async function roomInTime(sink: Sink, clock: Clock, gone: AbortSignal): Promise<boolean> {
  const stalled = new AbortController()
  const cancel = clock.after(STALL_MS, () => stalled.abort())
  await sink.drained(AbortSignal.any([gone, stalled.signal]))
  cancel()
  return !stalled.signal.aborted && !gone.aborted
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
