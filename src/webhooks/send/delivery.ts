/** Tries a delivery once: finds the event's body, signs it, sends it. */
import type { AttemptEnd } from '../../core/attempt-end.ts'
import { deliveryHeaders } from '../../core/delivery-headers.ts'
import { dataBytes } from '../../core/event.ts'
import { webhookId as webhookIdOf } from '../../core/signature.ts'
import type { Chance, Clock } from '../../lifecycle/clock.ts'
import type { AttemptStart, DeliveryEndpoint, Matched } from '../delivery-state/endpoint-state.ts'
import type { DeliveryDecision } from '../delivery-state/outcome.ts'
import type { AttemptReport } from './attempt.ts'
import type { DeliveryEvents } from './delivery-events.ts'
import type { Post } from './exchange.ts'

/** Sends one request to the endpoint. Never rejects; its end is `aborted` only where the signal aborted, or it may not leave. */
export type Attempt = (
  endpoint: DeliveryEndpoint,
  post: Omit<Post, 'path'>,
  signal: AbortSignal,
) => Promise<AttemptReport>

/** What ends a try before its time. */
export interface TryLimits {
  /** Cuts it off at any moment. */
  signal: AbortSignal
  /** False once nothing may leave for the endpoint any more; what has left goes on. */
  mayLeave: () => boolean
}

/** What sending needs of the process. */
export interface PostMeans {
  attempt: Attempt
  clock: Clock
  chance: Chance
}

/** What deliveries need of it. */
export interface DeliveryMeans extends PostMeans {
  events: DeliveryEvents
}

/** The result of a try. `later`: this node's replica lacks the event, or this machine can open no connection. `dropped`: the log no longer keeps it. */
export type Tried =
  | { kind: 'ended'; end: AttemptEnd; report: AttemptReport; webhookId: string }
  | { kind: 'later' }
  | { kind: 'dropped' }
  | { kind: 'aborted' }

/** An attempt that had an end, for metrics, log and history. */
export interface Attempted extends AttemptStart {
  endpoint: DeliveryEndpoint
  delivery: Matched
  webhookId: string
  end: AttemptEnd
  report: AttemptReport
  verdict: DeliveryDecision
}

/** Tries once. Rejects only where the reader fails. */
export async function tryDelivery(
  endpoint: DeliveryEndpoint,
  { delivery }: AttemptStart,
  means: DeliveryMeans,
  limits: TryLimits,
): Promise<Tried> {
  const found = await means.events.find(delivery.sequence, limits.signal)
  if (limits.signal.aborted) return { kind: 'aborted' }
  if (found.kind !== 'event') return found
  // The log has a new epoch, and another event has this sequence: the worker will soon reset.
  if (found.event.matched.cursor !== delivery.cursor) return { kind: 'later' }
  const event = { eventId: delivery.eventId, body: found.event.body }
  const { report, webhookId } = await postEvent(endpoint, event, means, limits)
  const { end } = report
  if (end.kind === 'no_socket') return { kind: 'later' }
  return end.kind === 'aborted' ? { kind: 'aborted' } : { kind: 'ended', end, report, webhookId }
}

/** Signs a body and sends it once, whatever the status of the endpoint. Rejects as its keys do. */
export async function postEvent(
  endpoint: DeliveryEndpoint,
  { eventId, body }: { eventId: string; body: Buffer },
  { attempt, clock, chance }: PostMeans,
  { signal, mayLeave }: TryLimits,
): Promise<{ report: AttemptReport; webhookId: string }> {
  const webhookId = webhookIdOf(endpoint.id, eventId, dataBytes(body))
  const { keys, headers: own } = endpoint
  const headers = deliveryHeaders({ webhookId, body, keys, own, nowMs: clock.now(), chance })
  return { report: await attempt(endpoint, { headers, body, mayLeave }, signal), webhookId }
}
