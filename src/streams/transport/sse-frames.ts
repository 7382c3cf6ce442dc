/**
 * The text of server-sent events (contract §8). Owns the framing. Refuses to know sockets and positions.
 */
import { isGap } from '../../core/event.ts'
import type { EventFraming, Framing } from '../fanout/framing.ts'

const DISCLOSURE = Buffer.from('event: disclosure\nid: ')
const GAP = Buffer.from('event: gap\nid: ')
const DATA = Buffer.from('\ndata: ')
const END = Buffer.from('\n\n')

/** The first thing that a client reads: when to come back after a broken connection. */
export const RETRY_FRAME = Buffer.from('retry: 3000\n\n')

const sseEvents: EventFraming = {
  name: 'sse',
  events: (events) =>
    events.flatMap(({ type, cursor, json }) => [
      isGap(type) ? GAP : DISCLOSURE,
      Buffer.from(cursor),
      DATA,
      json,
      END,
    ]),
  localGap: ({ cursor, json }) => [GAP, Buffer.from(cursor), DATA, json, END],
}

/** A heartbeat is a comment, and a bare id so that a narrow filter resumes near the end. */
export const sseFraming: Framing = {
  shared: sseEvents,
  live: (cursor) => [Buffer.from(`event: live\nid: ${cursor}\ndata: ${JSON.stringify({ cursor })}\n\n`)],
  heartbeat: (cursor) => [Buffer.from(`: heartbeat\n\nid: ${cursor}\n\n`)],
  goingAway: (reconnectInMs) => [
    Buffer.from(`event: going_away\ndata: ${JSON.stringify({ reconnectInMs })}\n\n`),
  ],
}
