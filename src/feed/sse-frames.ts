/**
 * The text of server-sent events (contract §8). Owns the framing. Refuses to know sockets and positions.
 */
import type { Notice } from '../archive/resume.ts'
import type { StoredEvent } from '../archive/stored.ts'
import { isGap } from '../core/event.ts'

const DISCLOSURE = Buffer.from('event: disclosure\nid: ')
const GAP = Buffer.from('event: gap\nid: ')
const DATA = Buffer.from('\ndata: ')
const END = Buffer.from('\n\n')

/** The first thing that a client reads: when to come back after a broken connection. */
export const RETRY_FRAME = Buffer.from('retry: 3000\n\n')

/** The pieces of an event's frame, so that the event's own bytes are never copied on their way. */
export function eventFrame(event: Pick<StoredEvent, 'type' | 'cursor' | 'json'>): Buffer[] {
  return [isGap(event.type) ? GAP : DISCLOSURE, Buffer.from(event.cursor), DATA, event.json, END]
}

/** The frame of a notice made by this node. */
export function noticeFrame({ cursor, json }: Notice): Buffer[] {
  return [GAP, Buffer.from(cursor), DATA, json, END]
}

/** Told once, when a reader has caught up. */
export function liveFrame(cursor: string): Buffer {
  return Buffer.from(`event: live\nid: ${cursor}\ndata: ${JSON.stringify({ cursor })}\n\n`)
}

/** A sign of life: a comment, and a bare id so that a narrow filter resumes near the end. */
export function heartbeatFrame(cursor: string): Buffer {
  return Buffer.from(`: heartbeat\n\nid: ${cursor}\n\n`)
}

/** Told before the stream is closed by a stop of this node. */
export function goingAwayFrame(reconnectInMs: number): Buffer {
  return Buffer.from(`event: going_away\ndata: ${JSON.stringify({ reconnectInMs })}\n\n`)
}
