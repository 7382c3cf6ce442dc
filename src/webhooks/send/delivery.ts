/** Tries a delivery or a batch of them once: finds the bodies of the events, signs them, sends them. */
import type { AttemptEnd } from '../../core/attempt-end.ts'
import { BATCH_CONTENT_TYPE, CONTENT_TYPE, deliveryHeaders } from '../../core/delivery-headers.ts'
import { dataBytes } from '../../core/event.ts'
import { batchWebhookId } from '../../core/signature.ts'
import type { Chance, Clock } from '../../lifecycle/clock.ts'
import { type TraceContext, traceparentOf } from '../../obs/trace-context.ts'
import type { AttemptStart, DeliveryEndpoint, Matched } from '../delivery-state/endpoint-state.ts'
import type { DeliveryDecision } from '../delivery-state/outcome.ts'
import type { AttemptReport } from './attempt.ts'
import type { DeliveryEvents } from './delivery-events.ts'
import type { DeliveryTraces } from './delivery-traces.ts'
import type { Post } from './exchange.ts'

const OPEN = Buffer.from('[')
const COMMA = Buffer.from(',')
const CLOSE = Buffer.from(']')

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
  /** Absent or null where traces are off. */
  traces?: DeliveryTraces | null
}

/** The result of a try. `later`: this node's replica lacks an event, or this machine can open no connection. `dropped`: the log no longer keeps the events `gone`. */
export type Tried =
  | {
      kind: 'ended'
      /** How many were sent: the first of those to send, as many as fit. */
      count: number
      end: AttemptEnd
      report: AttemptReport
      webhookId: string
      /** Its span; absent where it has none. */
      trace?: TraceContext
    }
  | { kind: 'later' }
  | { kind: 'dropped'; gone: readonly number[] }
  | { kind: 'aborted' }

/** An attempt that had an end, for metrics, log and history. */
export interface Attempted extends AttemptStart {
  endpoint: DeliveryEndpoint
  webhookId: string
  end: AttemptEnd
  report: AttemptReport
  verdict: DeliveryDecision
  /** Its span; absent where it has none. */
  trace?: TraceContext
}

/** Most bytes of a batch that has several events; larger ones come in several batches. No event alone is larger than a megabyte. */
export const MOST_BATCH_BYTES = 768 * 1024

/** All deliveries of an attempt, in their order. */
export function deliveriesOf({
  delivery,
  others = [],
}: Pick<AttemptStart, 'delivery' | 'others'>): Matched[] {
  return [delivery, ...others]
}

/** Tries once. Rejects only where the reader fails. */
export async function tryDelivery(
  endpoint: DeliveryEndpoint,
  start: AttemptStart,
  means: DeliveryMeans,
  limits: TryLimits,
): Promise<Tried> {
  const found = await findAll(deliveriesOf(start), means.events, limits.signal)
  if (limits.signal.aborted) return { kind: 'aborted' }
  if (found.kind !== 'events') return found
  const { posted } = found
  const { attempt } = start
  const sent = await postEvents(endpoint, posted, means, { ...limits, attempt })
  const { report } = sent
  const { end } = report
  if (end.kind === 'no_socket') return { kind: 'later' }
  if (end.kind === 'aborted') return { kind: 'aborted' }
  return { kind: 'ended', count: posted.length, end, ...sent }
}

/** An event to post, with its whole JSON. */
export interface PostedEvent {
  eventId: string
  body: Buffer
  /** Absent of an event that is not of the log. */
  sequence?: number
}

type FoundAll =
  | { kind: 'events'; posted: readonly PostedEvent[] }
  | Extract<Tried, { kind: 'later' | 'dropped' }>

/** Finds the bodies of deliveries, of as many as fit into one request. */
async function findAll(
  deliveries: readonly Matched[],
  events: DeliveryEvents,
  signal: AbortSignal,
): Promise<FoundAll> {
  const posted: PostedEvent[] = []
  const gone: number[] = []
  let bytes = 0
  for (const { sequence, cursor, eventId } of deliveries) {
    const found = await events.find(sequence, signal)
    if (found.kind === 'dropped') {
      gone.push(sequence)
      continue
    }
    // With another cursor the log has a new epoch, and another event has this sequence: the worker will soon reset.
    if (found.kind === 'later' || found.event.matched.cursor !== cursor) return { kind: 'later' }
    const { body } = found.event
    bytes += body.length
    if (posted.length > 0 && bytes > MOST_BATCH_BYTES) break
    posted.push({ eventId, body, sequence })
  }
  if (gone.length > 0) return { kind: 'dropped', gone }
  return { kind: 'events', posted }
}

/** Signs one event and sends it once, whatever the status of the endpoint. Rejects as its keys do. */
export function postEvent(
  endpoint: DeliveryEndpoint,
  event: PostedEvent,
  means: PostMeans,
  limits: TryLimits,
): Promise<{ report: AttemptReport; webhookId: string }> {
  return postEvents(endpoint, [event], means, limits)
}

/** The same of several events in one request; to an endpoint with `maxBatch` every request is a JSON array. */
async function postEvents(
  endpoint: DeliveryEndpoint,
  events: readonly PostedEvent[],
  { attempt, clock, chance, traces = null }: PostMeans & Pick<DeliveryMeans, 'traces'>,
  { signal, mayLeave, attempt: number = 1 }: TryLimits & { attempt?: number },
): Promise<{ report: AttemptReport; webhookId: string; trace?: TraceContext }> {
  const { id, keys, headers: own, maxBatch } = endpoint
  const parts = events.map(({ eventId, body }) => ({ eventId, data: dataBytes(body) }))
  const webhookId = batchWebhookId(id, parts)
  const isBatch = maxBatch !== null
  const contentType = isBatch ? BATCH_CONTENT_TYPE : CONTENT_TYPE
  const body = isBatch ? batchBody(events) : (events[0]?.body ?? Buffer.alloc(0))
  const nowMs = clock.now()
  const span = traces?.begin(events, { endpointId: id, webhookId, attempt: number, startMs: nowMs }) ?? null
  const traced = span === null ? {} : { traceparent: traceparentOf(span.trace) }
  const headers = deliveryHeaders({ webhookId, contentType, body, keys, own, nowMs, chance, ...traced })
  const report = await attempt(endpoint, { headers, body, mayLeave }, signal)
  span?.end(report)
  return { report, webhookId, ...(span !== null && { trace: span.trace }) }
}

/** CloudEvents batch: a JSON array of the events as they are. */
function batchBody(events: readonly PostedEvent[]): Buffer {
  const parts = events.flatMap(({ body }, at) => [at === 0 ? OPEN : COMMA, body])
  return Buffer.concat([...parts, CLOSE])
}
