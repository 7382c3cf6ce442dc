/**
 * `GET /v1/events`: server-sent events (contract §8). Owns the parameters and the HTTP answer. Refuses to decide what
 * a stream sends: `session.ts` does.
 */
import type { Filter } from '../core/filter.ts'
import { FILTER_PARAMETERS, parseFilterQuery } from '../core/filter-query.ts'
import { refuseWhileFilling } from '../http/copy-filling.ts'
import { tooOld } from '../http/cursor-too-old.ts'
import { openQuery } from '../http/parameters.ts'
import { retryLater } from '../http/problem.ts'
import type { Call, Route } from '../http/route.ts'
import type { StreamCloseCode } from '../obs/metrics.ts'
import { openAccount } from './account.ts'
import type { StreamContext } from './context.ts'
import { noPlace } from './refusal.ts'
import { runSession, type SessionEnd, type SessionStart } from './session.ts'
import { outletSink } from './sink.ts'
import { RETRY_FRAME, sseFraming } from './sse-frames.ts'
import { type From, MAX_TAIL, startAt } from './start.ts'

const CLOSE_CODES: Record<SessionEnd, StreamCloseCode> = {
  gone: 'client',
  drained: '4200',
  too_slow: '4108',
  fell_behind: '4108',
}

/** The route. */
export function sseRoute(context: StreamContext): Route {
  return {
    method: 'GET',
    path: '/v1/events',
    scope: 'events:read',
    summary: 'Server-sent events: `disclosure`, `gap`, `live`, `going_away`; the id of each is its cursor.',
    takesFilter: true,
    parameters: {
      after: 'Cursor to resume after; the header `Last-Event-ID` wins over it.',
      since: 'Time: start at the lowest sequence whose event is at or after it; all later ones follow.',
      tail: {
        meaning: `Start with the last matching events, 1–${MAX_TAIL}.`,
        schema: { type: 'integer', minimum: 1, maximum: MAX_TAIL },
      },
    },
    headers: { 'Last-Event-ID': 'Cursor to resume after, as browsers send it on reconnect.' },
    answers: {
      200: {
        meaning:
          'A stream without end. `data` of `disclosure` and `gap` is an Event as JSON, and `id` its cursor; docs/streams.md has the rest.',
        mediaType: 'text/event-stream',
        schema: { type: 'string' },
      },
    },
    problems: ['cursor_invalid', 'cursor_too_old', 'too_many', 'over_capacity'],
    handle: (call) => handle(context, call),
  }
}

async function handle(context: StreamContext, call: Call): Promise<void> {
  const { filter, from } = readParameters(call)
  if (context.stopping.aborted) throw retryLater('unavailable', 'this node is stopping')
  refuseWhileFilling(context.reader.copy)
  const leave = enter(context, call)
  const gone = AbortSignal.any([call.gone, call.caller.ended])
  try {
    const start = await startAt(context, { from, filter, onGap: 'refuse' }, gone)
    if (start.kind === 'too_old') throw tooOld(start.oldest)
    call.response.writeHead(200, {
      'Content-Type': 'text/event-stream; charset=utf-8',
      'Cache-Control': 'no-store',
      'X-Accel-Buffering': 'no',
    })
    if (call.request.method === 'HEAD') call.response.end()
    else await serve(context, { ...call, gone }, filter, start.start)
  } finally {
    leave()
  }
}

/**
 * The same places as on a WebSocket, in the same order. Returns what gives them back.
 * @throws HttpProblem `over_capacity` or `too_many`, counted under the close code that a WebSocket would get
 */
function enter({ places, tokenPlaces, addressOf, metrics }: StreamContext, call: Call): () => void {
  const leave = places.take(addressOf(call.request))
  if (typeof leave === 'string') {
    metrics.streamCloses.add({ transport: 'sse', code: '4100' })
    throw retryLater('over_capacity', noPlace(leave, places))
  }
  const leaveToken = tokenPlaces.take(call.caller)
  if (leaveToken === null) {
    leave()
    metrics.streamCloses.add({ transport: 'sse', code: '4006' })
    throw retryLater('too_many', `this token has ${tokenPlaces.limit} streams already`)
  }
  return () => {
    leave()
    leaveToken()
  }
}

function readParameters({ url, request }: Call): { filter: Filter | null; from: From } {
  const query = openQuery(url, ['after', 'since', 'tail', ...FILTER_PARAMETERS])
  const filter = parseFilterQuery(query.params)
  const after = query.text('after')
  const sinceMs = query.timeMs('since')
  const tail = query.integer('tail', { low: 1, high: MAX_TAIL, otherwise: 0 })
  const starts = ['after', 'since', 'tail'].filter((name) => query.params.has(name))
  for (const name of starts.slice(1))
    query.refuse(name, `does not go together with ${starts[0]}; give one of them`)
  query.check()
  const lastEventId = request.headers['last-event-id']
  const cursor = typeof lastEventId === 'string' && lastEventId !== '' ? lastEventId : after
  if (cursor !== null) return { filter, from: { kind: 'after', cursor } }
  if (sinceMs !== null) return { filter, from: { kind: 'since', timeMs: sinceMs } }
  return { filter, from: tail > 0 ? { kind: 'tail', count: tail } : { kind: 'live' } }
}

async function serve(
  context: StreamContext,
  { response, caller, gone }: Call,
  filter: Filter | null,
  start: SessionStart,
): Promise<void> {
  const account = openAccount(context, 'sse')
  let code: StreamCloseCode = '500'
  try {
    const end = await runSession({
      reader: context.reader,
      filter,
      start,
      framing: sseFraming,
      opening: RETRY_FRAME,
      sink: outletSink(response, context.stallMs),
      clock: context.clock,
      gone,
      stopping: context.stopping,
      reconnectInMs: context.reconnectInMs(),
      onSent: account.onSent,
      onCursor: () => {},
      onSlow: account.onSlow,
    })
    code = caller.ended.aborted ? '4001' : CLOSE_CODES[end]
    // Whoever takes nothing would keep its connection for ever, waiting for the rest.
    const takesNothing = end === 'too_slow' || (caller.ended.aborted && response.writableNeedDrain)
    if (takesNothing) response.destroy()
    else response.end()
  } finally {
    account.close(code, caller)
  }
}
