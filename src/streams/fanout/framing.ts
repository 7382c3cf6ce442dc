/**
 * Defines how events and control messages become bytes, for any transport. Implemented by `sse-frames.ts` and
 * `ws-frames.ts`.
 */
import type { StoredEvent } from '../../archive/store/stored.ts'
import type { UpstreamNews } from '../../http/schemas/leader-report-schema.ts'

/** The part of an event that is framed. */
export type FramedEvent = Pick<StoredEvent, 'type' | 'cursor' | 'json'>

/** Frames of events. They are the same for every stream that uses the framing, so they are built once and shared. */
export interface EventFraming {
  /** Unique among framings. */
  readonly name: string
  /** The frames of these events, built at `sentMs`, as pieces to be concatenated; an event's JSON is not copied. */
  events(events: readonly FramedEvent[], sentMs: number): Buffer[]
}

/** What a heartbeat says of the upstream. */
export interface UpstreamSnapshot extends UpstreamNews {
  /** The phase of the London trading day. */
  phase: string
}

/** All frames of one stream. */
export interface Framing {
  readonly shared: EventFraming
  /** Sent once, when the stream has caught up. */
  live(cursor: string): Buffer[]
  /** Sent with the current resume point. */
  heartbeat(cursor: string): Buffer[]
  /** True: heartbeats come at their interval, whatever else is sent; false: only after so long a silence. */
  readonly beatsAlways: boolean
  /** Sent before this node closes the stream. */
  goingAway(reconnectInMs: number): Buffer[]
}
