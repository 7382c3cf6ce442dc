/**
 * Defines `GET /v1/events`, server-sent events: reads the parameters, takes the connection slots and starts the
 * stream.
 */
import { z } from 'zod'
import { requireCompleteReplica } from '../../archive/replica/replica-incomplete.ts'
import type { Filter } from '../../core/filter/filter.ts'
import { parseFilterQuery } from '../../core/filter/filter-query.ts'
import { beginLongAnswer, endLongAnswer } from '../../http/long-answer.ts'
import { retryLater, tooOld } from '../../http/problem.ts'
import type { Call, Route } from '../../http/route.ts'
import { type From, MAX_TAIL, startAt } from '../fanout/start.ts'
import type { StreamContext } from './context.ts'
import { noFilterRoomReason, noSlotReason } from './refusal.ts'
import { sseFraming } from './sse-frames.ts'
import { SseStream } from './sse-stream.ts'

/** The route of server-sent events. */
export function sseRoute(context: StreamContext): Route {
  return {
    method: 'GET',
    path: '/v1/events',
    scope: 'events:read',
    summary: 'Server-sent events: `disclosure`, `gap`, `live`, `going_away`; the id of each is its cursor.',
    takesFilter: true,
    parameters: {
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
    handle: (call) => handle(context, call),
  }
}

const HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store',
  'X-Accel-Buffering': 'no',
}

async function handle(context: StreamContext, call: Call): Promise<void> {
  const { filter, from } = readParameters(call)
  if (context.stopping.aborted) throw retryLater('unavailable', 'this node is stopping')
  requireCompleteReplica(context.reader.replica)
  const noRoom = context.fanoutIndex.roomRefusal(call.caller.tokenId, filter, sseFraming.shared)
  if (noRoom !== null)
    throw retryLater(noRoom === 'full' ? 'over_capacity' : 'too_many', noFilterRoomReason(noRoom))
  const freeSlots = takeSlots(context, call)
  let stream: SseStream | null = null
  try {
    const wanted = { from, filter, onGap: 'refuse', caller: call.caller.tokenId } as const
    const start = await startAt(context, wanted, call.gone)
    if (start.kind === 'too_old') throw tooOld(start.oldest)
    if (call.request.method === 'HEAD') {
      call.response.writeHead(200, HEADERS).end()
      return
    }
    const answer = await beginLongAnswer(call.response, HEADERS)
    const isOver = call.caller.ended.aborted || context.stopping.aborted || answer.destroyed
    if (isOver) endLongAnswer(answer)
    else stream = new SseStream(context, answer, call.caller, freeSlots)
    stream?.start(filter, start.start)
  } finally {
    if (stream === null) freeSlots()
  }
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
    throw retryLater('too_many', `this token has ${tokenSlots.limit} streams already`)
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
  const tail = query.integer('tail', { low: 1, high: MAX_TAIL, otherwise: 0 })
  query.refuseAllButOne(['after', 'since', 'tail'])
  query.check()
  const lastEventId = request.headers['last-event-id']
  const cursor = typeof lastEventId === 'string' && lastEventId !== '' ? lastEventId : after
  if (cursor !== null) return { filter, from: { kind: 'after', cursor } }
  if (sinceMs !== null) return { filter, from: { kind: 'since', timeMs: sinceMs } }
  return { filter, from: tail > 0 ? { kind: 'tail', count: tail } : { kind: 'live' } }
}
