/**
 * Builds the events that the bridge itself sends to webhooks: a test, and notifications that another endpoint was
 * disabled, has dead deliveries, or accepts deliveries again.
 */
import { NO_EPOCH } from '../../archive/store/archive.ts'
import { encodeCursor } from '../../core/cursor.ts'
import { isoMillis } from '../../core/dates.ts'
import type { Endpoint } from '../../registry/endpoints.ts'
import type { DisableReason, Matched } from '../delivery-state/endpoint-state.ts'
import type { DueNotice } from '../delivery-state/endpoint-trouble.ts'

/** The type of a test. */
export const TEST_TYPE = 'webhook.test.v1'
/** The type of the notification that an endpoint was disabled. */
export const DISABLED_TYPE = 'webhook.disabled.v1'

/** The type of the notification that deliveries of an endpoint were given up. */
export const EXHAUSTED_TYPE = 'webhook.exhausted.v1'
/** The type of the notification that an endpoint accepts deliveries again. */
export const RECOVERED_TYPE = 'webhook.recovered.v1'

/** An event that is not in the log. */
export interface SystemEvent {
  id: string
  /** When it happened, ms since 1970. */
  atMs: number
  /** CloudEvents structured JSON. */
  json: string
}

/** The test of an endpoint. */
export function testEvent(id: string, endpointId: string, nowMs: number): SystemEvent {
  const message = 'This is a test that somebody asked for. No announcement is behind it.'
  return systemEvent({ id, type: TEST_TYPE, subject: endpointId, atMs: nowMs, data: { message, endpointId } })
}

/**
 * The notification that an endpoint was disabled. It names neither URL nor headers: its receiver may be somebody else than
 * the receiver of that endpoint.
 */
export function disabledEvent(
  { id: endpointId, description }: Pick<Endpoint, 'id' | 'description'>,
  reason: DisableReason,
  atMs: number,
): SystemEvent {
  const data = { endpointId, description, reason, disabledAt: isoMillis(atMs) }
  const id = `webhook.disabled:${endpointId}:${atMs}`
  return systemEvent({ id, type: DISABLED_TYPE, subject: endpointId, atMs, data })
}

/** The notification of an endpoint's trouble, or of its end. Like the one before it names neither URL nor headers. */
export function troubleEvent(
  { id: endpointId, description }: Pick<Endpoint, 'id' | 'description'>,
  notice: DueNotice,
): SystemEvent {
  const own = { endpointId, description }
  if (notice.kind === 'recovered') {
    const { sinceMs, atMs } = notice
    const data = { ...own, troubledSince: isoMillis(sinceMs), recoveredAt: isoMillis(atMs) }
    const id = `webhook.recovered:${endpointId}:${atMs}`
    return systemEvent({ id, type: RECOVERED_TYPE, subject: endpointId, atMs, data })
  }
  const { count, firstMs, lastMs: atMs } = notice
  const data = { ...own, count, firstAt: isoMillis(firstMs), lastAt: isoMillis(atMs) }
  const id = `webhook.exhausted:${endpointId}:${atMs}`
  return systemEvent({ id, type: EXHAUSTED_TYPE, subject: endpointId, atMs, data })
}

/**
 * Makes a delivery of a system event. The event is not in the log, so its time serves as sequence, without an epoch; this
 * keeps two of them apart in the history.
 */
export function systemDelivery({ id, atMs }: Pick<SystemEvent, 'id' | 'atMs'>): Matched {
  const cursor = encodeCursor({ epoch: NO_EPOCH, sequence: atMs, timeMs: atMs })
  return { sequence: atMs, eventId: id, subject: '', cursor, recordedMs: atMs }
}

function systemEvent(event: {
  id: string
  type: string
  subject: string
  atMs: number
  data: object
}): SystemEvent {
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
