/**
 * How a stream is put into bytes: the seam between the pull loop and a transport. Owns the shape only; `sse-frames.ts`
 * and `ws-frames.ts` stand behind it. Refuses to know sockets and positions.
 */
import type { Notice } from '../archive/resume.ts'
import type { StoredEvent } from '../archive/stored.ts'

/** The part of an event that is framed. */
export type FramedEvent = Pick<StoredEvent, 'type' | 'cursor' | 'json'>

/** Whole frames, as pieces that are written one behind the other: an event's own bytes are not copied on their way. */
export interface Framing {
  /** The events' frames, built at `sentMs`. */
  events(events: readonly FramedEvent[], sentMs: number): Buffer[]
  /** The frame of a gap event made by this node. */
  notice(notice: Notice, sentMs: number): Buffer[]
  /** Told once, when a reader has caught up. */
  live(cursor: string): Buffer[]
  /** A sign of life with the place where a narrow filter stands. */
  heartbeat(cursor: string): Buffer[]
  /** Told before a stop of this node closes the stream. */
  goingAway(reconnectInMs: number): Buffer[]
}
