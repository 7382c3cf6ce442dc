/**
 * Encodes events and control messages as server-sent events.
 */
import { isGap } from '../../core/event.ts'
import type { EventFraming, Framing, UpstreamSnapshot } from '../fanout/framing.ts'

const DISCLOSURE = Buffer.from('event: disclosure\nid: ')
const GAP = Buffer.from('event: gap\nid: ')
const DATA = Buffer.from('\ndata: ')
const END = Buffer.from('\n\n')

/** The first frame of a stream: the delay before reconnecting after a broken connection. */
export const RETRY_FRAME = Buffer.from('retry: 3000\n\n')

/** The frames of events, the same for every stream. */
export const sseEvents: EventFraming = {
  name: 'sse',
  events: (events) =>
    events.flatMap(({ type, cursor, json }) => [
      isGap(type) ? GAP : DISCLOSURE,
      Buffer.from(cursor),
      DATA,
      json,
      END,
    ]),
}

/**
 * A heartbeat is a comment, which has the state of the upstream, and a bare id, so that a client with a narrow filter resumes
 * near the end of the log.
 */
export function sseFramingOf(upstream: () => UpstreamSnapshot): Framing {
  return {
    shared: sseEvents,
    live: (cursor) => [Buffer.from(`event: live\nid: ${cursor}\ndata: ${JSON.stringify({ cursor })}\n\n`)],
    beatsAlways: true,
    heartbeat: (cursor) => [Buffer.from(`: heartbeat ${JSON.stringify(upstream())}\n\nid: ${cursor}\n\n`)],
    goingAway: (reconnectInMs) => [
      Buffer.from(`event: going_away\ndata: ${JSON.stringify({ reconnectInMs })}\n\n`),
    ],
  }
}
