/**
 * Defines `GET /v1/events`, server-sent events: reads the parameters, takes the connection slots and starts the
 * stream.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { z } from 'zod'
import { requireCompleteReplica } from '../../archive/replica/replica-incomplete.ts'
import type { Filter } from '../../core/filter/filter.ts'
import { parseFilterQuery } from '../../core/filter/filter-query.ts'
import { bearerHeader, type Caller } from '../../http/auth.ts'
import { beginLongAnswer, endLongAnswer } from '../../http/long-answer.ts'
import { Query } from '../../http/parameters.ts'
import { EVENT_STREAM_HEADERS, HttpProblem, retryLater, tooOld } from '../../http/problem.ts'
import type { Call, Route } from '../../http/route.ts'
import type { TicketSession } from '../../registry/tickets.ts'
import { type From, MAX_TAIL, startAt } from '../fanout/start.ts'
import type { StreamContext } from './context.ts'
import { type Credentials, enterWithTicket } from './identity.ts'
import { noFilterRoomReason, noSlotReason } from './refusal.ts'
import { sseEvents } from './sse-frames.ts'
import { SseStream } from './sse-stream.ts'

/** The route of server-sent events. */
export function sseRoute(context: StreamContext, credentials: Credentials): Route {
  const eventSources: EventSources = { entered: new WeakMap(), open: new Map() }
  return {
    method: 'GET',
    path: '/v1/events',
    scope: 'events:read',
    summary: 'Server-sent events: `disclosure`, `gap`, `live`, `going_away`; the id of each is its cursor.',
    takesFilter: true,
    parameters: {
      [TICKET]:
        "A ticket of `POST /v1/tickets`, in the place of the `Authorization` header, for a browser's `EventSource`. With `Last-Event-ID` it resumes, for twelve hours.",
      after: 'Cursor to resume after; the header `Last-Event-ID` wins over it.',
      since:
        'Time, RFC 3339 or a partial one (UTC): start at the lowest sequence whose event is at or after it; all later ones follow.',
      tail: z.int().min(1).max(MAX_TAIL).describe(`Start with the last matching events, 1–${MAX_TAIL}.`),
    },
    headers: { 'Last-Event-ID': 'Cursor to resume after, as browsers send it on reconnect.' },
    answers: {
      200: {
        meaning:
          'A stream without end. `data` of `disclosure` and `gap` is an Event as JSON, and `id` its cursor; docs/use/streams.md has the rest.',
        mediaType: 'text/event-stream',
        schema: z.string(),
      },
    },
    problems: ['cursor_invalid', 'cursor_too_old', 'too_many', 'over_capacity'],
    identify: (request) => identify(request, credentials, eventSources),
    reword: comingBack,
    handle: (call) => handle(context, call, eventSources),
  }
}

/** What the tickets of this node's EventSources have opened. */
interface EventSources {
  /** By request. */
  entered: WeakMap<IncomingMessage, TicketSession>
  /** By key of the ticket: the one stream that it has open. */
  open: Map<string, SseStream>
}

const TICKET = 'ticket'
/** Lets an EventSource come back later. */
const COME_BACK = 'retry: 5000\n\n'

function ticketOf({ url = '', headers }: IncomingMessage): string | null {
  return bearerHeader(headers) === undefined ? new Query(url, []).params.get(TICKET) : null
}

/** The caller of a ticket, whose session is noted; null without one. */
function identify(
  request: IncomingMessage,
  credentials: Credentials,
  { entered }: EventSources,
): Caller | null {
  const ticket = ticketOf(request)
  if (ticket === null) return null
  const isResumed = (request.headers['last-event-id'] ?? '') !== ''
  const { session, caller } = enterWithTicket(ticket, isResumed, credentials)
  entered.set(request, session)
  return caller
}

/** The error; to a ticket, one that will pass is a stream that ends at once, so that an EventSource comes back. */
function comingBack(request: IncomingMessage, error: unknown): unknown {
  const passes = error instanceof HttpProblem && (error.status === 503 || error.status === 429)
  if (!passes || ticketOf(request) === null) return error
  return new HttpProblem(error.code, error.message, { ...error.parts, eventStream: COME_BACK })
}

async function handle(context: StreamContext, call: Call, eventSources: EventSources): Promise<void> {
  const { filter, from } = readParameters(call)
  const session = eventSources.entered.get(call.request)
  if (context.stopping.aborted) throw retryLater('unavailable', 'this node is stopping')
  requireCompleteReplica(context.reader.replica)
  const noRoom = context.fanoutIndex.roomRefusal(call.caller.tokenId, filter, sseEvents)
  if (noRoom !== null)
    throw retryLater(noRoom === 'full' ? 'over_capacity' : 'too_many', noFilterRoomReason(noRoom))
  const freeSlots = takeSlots(context, call)
  let stream: SseStream | null = null
  try {
    const wanted = { from, filter, onGap: 'refuse', caller: call.caller.tokenId } as const
    const start = await startAt(context, wanted, call.gone)
    if (start.kind === 'too_old') throw tooOld(start.oldest)
    if (call.request.method === 'HEAD') {
      call.response.writeHead(200, EVENT_STREAM_HEADERS).end()
      return
    }
    const answer = await beginLongAnswer(call.response, EVENT_STREAM_HEADERS)
    const isOver = call.caller.ended.aborted || context.stopping.aborted || answer.destroyed
    if (isOver) endLongAnswer(answer)
    else {
      const remote = context.remoteOf(call.request)
      stream = new SseStream(context, answer, { caller: call.caller, remote, freeSlots })
    }
    if (stream !== null && session !== undefined) replaceOpen(session.key, stream, answer, eventSources)
    stream?.start(filter, start.start, session?.endsMs ?? Number.POSITIVE_INFINITY)
  } finally {
    if (stream === null) freeSlots()
  }
}

/** Notes the stream of a ticket, and ends the one that it had: the EventSource has given that up, whether we know or not. */
function replaceOpen(
  key: string,
  stream: SseStream,
  answer: Pick<Socket | ServerResponse, 'on'>,
  { open }: EventSources,
): void {
  open.get(key)?.onReplaced()
  open.set(key, stream)
  answer.on('close', () => {
    if (open.get(key) === stream) open.delete(key)
  })
}

/**
 * Takes a slot of the node and one of the token, as a WebSocket does. Returns the function that frees both.
 * @throws HttpProblem `over_capacity` or `too_many`, counted under the close code that a WebSocket would get
 */
function takeSlots(
  { connectionSlots, tokenSlots, addressOf, metrics }: StreamContext,
  call: Call,
): () => void {
  const freeSlot = connectionSlots.take(addressOf(call.request))
  if (typeof freeSlot === 'string') {
    metrics.streamCloses.add({ transport: 'sse', code: '4100' })
    throw retryLater('over_capacity', noSlotReason(freeSlot, connectionSlots))
  }
  const freeTokenSlot = tokenSlots.take(call.caller)
  if (freeTokenSlot === null) {
    freeSlot()
    metrics.streamCloses.add({ transport: 'sse', code: '4006' })
    throw retryLater(
      'too_many',
      `this token has ${tokenSlots.limit} streams already; end one, or use another token`,
    )
  }
  return () => {
    freeSlot()
    freeTokenSlot()
  }
}

function readParameters({ query, request }: Call): { filter: Filter | null; from: From } {
  const filter = parseFilterQuery(query.params)
  const after = query.text('after')
  const sinceMs = query.timeMs('since')
  if (query.text(TICKET) !== null && bearerHeader(request.headers) !== undefined) {
    query.refuse(TICKET, 'cannot be combined with an Authorization header; give one of them')
  }
  const tail = query.integer('tail', { low: 1, high: MAX_TAIL, otherwise: 0 })
  query.refuseAllButOne(['after', 'since', 'tail'])
  query.check()
  const lastEventId = request.headers['last-event-id']
  const cursor = typeof lastEventId === 'string' && lastEventId !== '' ? lastEventId : after
  if (cursor !== null) return { filter, from: { kind: 'after', cursor } }
  if (sinceMs !== null) return { filter, from: { kind: 'since', timeMs: sinceMs } }
  return { filter, from: tail > 0 ? { kind: 'tail', count: tail } : { kind: 'live' } }
}
