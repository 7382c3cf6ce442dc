/** Creates and changes endpoints of a running bridge over HTTP, as a user does, and reads what one received. */
import type { EndpointHealth } from '../../../src/webhooks/endpoints/endpoint-health.ts'
import { bearer } from '../http/api-client.ts'
import type { Received } from './webhook-receiver.ts'

/** The settings with which a bridge delivers to receivers on this machine. */
export const LOCAL_RECEIVERS = { BRIDGE_WEBHOOK_ALLOW_NETS: '127.0.0.0/8', BRIDGE_WEBHOOK_ALLOW_HTTP: 'true' }

/** An endpoint as the API shows it. */
export interface ShownEndpoint {
  id: string
  status: string
  disabledReason: string | null
  health: EndpointHealth
  /** Only in responses that create one. */
  secret: string
}

/** The filter of an endpoint that gets every event of the log: those of gaps too, which any slow fill may publish. */
export const EVERY_EVENT = { types: ['published', 'amended', 'gap'] }

/** Sends one request about endpoints; rejects unless it succeeds. */
export async function askEndpoints(
  base: string,
  method: string,
  path: string,
  body?: object,
): Promise<ShownEndpoint> {
  const response = await fetch(`${base}/v1/webhooks${path}`, {
    method,
    headers: { ...bearer, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
  return JSON.parse(text === '' ? '{}' : text) as ShownEndpoint
}

/** Sequences of the events in these requests, in the order of arrival. */
export function sequencesOf(received: readonly Received[]): number[] {
  return received.map(({ body }) => Number((JSON.parse(body) as { sequence: string }).sequence))
}
