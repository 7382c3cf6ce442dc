/**
 * How a stream is put into bytes: the seam between what is read and a transport. Owns the shapes only; `sse-frames.ts`
 * and `ws-frames.ts` stand behind them. Refuses to know sockets and positions.
 */
import type { LocalGap } from '../../archive/reading/resume.ts'
import type { StoredEvent } from '../../archive/store/stored.ts'

/** The part of an event that is framed. */
export type FramedEvent = Pick<StoredEvent, 'type' | 'cursor' | 'json'>

/** Frames of events: the same for every stream of its kind, so that what is built once is sent to all of them. */
export interface EventFraming {
  /** Of all framings, its own. */
  readonly name: string
  /**
   * The events' frames, built at `sentMs`, as pieces that are written one behind the other: an event's own bytes are not
   * copied on their way.
   */
  events(events: readonly FramedEvent[], sentMs: number): Buffer[]
  /** The frame of a gap event made by this node. */
  localGap(localGap: LocalGap, sentMs: number): Buffer[]
}

/** All frames of one stream. */
export interface Framing {
  readonly shared: EventFraming
  /** Told once, when a reader has caught up. */
  live(cursor: string): Buffer[]
  /** A sign of life with the place where a narrow filter stands. */
  heartbeat(cursor: string): Buffer[]
  /** Told before this node closes the stream. */
  goingAway(reconnectInMs: number): Buffer[]
}
