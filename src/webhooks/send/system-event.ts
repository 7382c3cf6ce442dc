/**
 * Events that the bridge makes for webhooks alone: a test, and the notice that an endpoint was disabled. Owns their form, in
 * the envelope of contract §3 without a place in the log, which they do not have. Refuses to send them.
 */
import { NO_EPOCH } from '../../archive/store/archive.ts'
import { encodeCursor } from '../../core/cursor.ts'
import { isoMillis } from '../../core/dates.ts'
import type { Endpoint } from '../../registry/endpoints.ts'
import type { DisableReason, Matched } from '../delivery-state/endpoint-state.ts'

/** The type of a test. */
export const TEST_TYPE = 'webhook.test.v1'
/** The type of the notice that an endpoint was disabled. */
export const DISABLED_TYPE = 'webhook.disabled.v1'

/** An event of no log. */
export interface OwnEvent {
  id: string
  /** When it came about, ms since 1970. */
  atMs: number
  /** CloudEvents structured JSON. */
  json: string
}

/** The test of an endpoint. */
export function testEvent(id: string, endpointId: string, nowMs: number): OwnEvent {
  const message = 'This is a test that somebody asked for. No announcement is behind it.'
  return ownEvent({ id, type: TEST_TYPE, subject: endpointId, atMs: nowMs, data: { message, endpointId } })
}

/**
 * The notice that an endpoint was disabled. It says neither URL nor headers: who receives it may be somebody else than who
 * received those.
 */
export function disabledEvent(
  { id: endpointId, description }: Pick<Endpoint, 'id' | 'description'>,
  reason: DisableReason,
  atMs: number,
): OwnEvent {
  const data = { endpointId, description, reason, disabledAt: isoMillis(atMs) }
  const id = `webhook.disabled:${endpointId}:${atMs}`
  return ownEvent({ id, type: DISABLED_TYPE, subject: endpointId, atMs, data })
}

/** Such an event as a delivery. It has no place in a log: its time stands for one, in no epoch, so that records tell two apart. */
export function ownDelivery({ id, atMs }: Pick<OwnEvent, 'id' | 'atMs'>): Matched {
  const cursor = encodeCursor({ epoch: NO_EPOCH, sequence: atMs, timeMs: atMs })
  return { sequence: atMs, eventId: id, subject: '', cursor, recordedMs: atMs }
}

function ownEvent(event: {
  id: string
  type: string
  subject: string
  atMs: number
  data: object
}): OwnEvent {
  const { id, type, subject, atMs, data } = event
  const time = isoMillis(atMs)
  const json = JSON.stringify({
    specversion: '1.0',
    id,
    source: '/bridge',
    type,
    time,
    subject,
    recordedtime: time,
    datacontenttype: 'application/json',
    data,
  })
  return { id, atMs, json }
}
