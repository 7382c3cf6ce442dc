/**
 * `GET /v1/events`: server-sent events (contract §8). Owns the parameters and the HTTP answer. Refuses to decide what
 * a stream sends: `session.ts` does.
 */
import { ServerResponse } from 'node:http'
import { requireCompleteReplica } from '../../archive/replica/replica-incomplete.ts'
import type { Filter } from '../../core/filter/filter.ts'
import { FILTER_PARAMETERS, parseFilterQuery } from '../../core/filter/filter-query.ts'
import type { Caller } from '../../http/auth.ts'
import { tooOld } from '../../http/cursor-too-old.ts'
import { beginLongAnswer, type LongAnswer } from '../../http/long-answer.ts'
import { openQuery } from '../../http/parameters.ts'
import { retryLater } from '../../http/problem.ts'
import type { Call, Route } from '../../http/route.ts'
import type { StreamCloseCode } from '../../obs/metrics.ts'
import type { Framing } from '../fanout/framing.ts'
import { Session, type SessionClient, type SessionEnd, type SessionStart } from '../fanout/session.ts'
import { Sink, type SinkOwner } from '../fanout/socket-writer.ts'
import { type From, MAX_TAIL, startAt } from '../fanout/start.ts'
import { Account } from '../fanout/stream-account.ts'
import type { Ending } from '../limits/token-expiry.ts'
import type { Stoppable, StreamContext } from './context.ts'
import { noPlace } from './refusal.ts'
import { RETRY_FRAME, sseFraming } from './sse-frames.ts'

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
      since:
        'Time, RFC 3339 or a partial one (UTC): start at the lowest sequence whose event is at or after it; all later ones follow.',
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

const HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store',
  'X-Accel-Buffering': 'no',
}

async function handle(context: StreamContext, call: Call): Promise<void> {
  const { filter, from } = readParameters(call)
  if (context.stopping.aborted) throw retryLater('unavailable', 'this node is stopping')
  requireCompleteReplica(context.reader.replica)
  const leave = enter(context, call)
  let stream: SseStream | null = null
  try {
    const start = await startAt(context, { from, filter, onGap: 'refuse' }, call.gone)
    if (start.kind === 'too_old') throw tooOld(start.oldest)
    if (call.request.method === 'HEAD') {
      call.response.writeHead(200, HEADERS).end()
      return
    }
    const answer = await beginLongAnswer(call.response, HEADERS)
    const isOver = call.caller.ended.aborted || context.stopping.aborted || answer.destroyed
    if (isOver) answer.end()
    else stream = new SseStream(context, answer, call.caller, leave)
    stream?.start(filter, start.start)
  } finally {
    if (stream === null) leave()
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

/** One stream from its head to its end. */
class SseStream implements SinkOwner, SessionClient, Ending, Stoppable {
  readonly #context: StreamContext
  readonly #answer: LongAnswer | ServerResponse
  readonly #caller: Caller
  readonly #leave: () => void
  readonly #account: Account
  readonly #sink: Sink
  #session: Session | null = null
  #isOver = false
  #code: StreamCloseCode = 'client'

  /** `leave` is called once, when it is over. */
  constructor(
    context: StreamContext,
    answer: LongAnswer | ServerResponse,
    caller: Caller,
    leave: () => void,
  ) {
    this.#context = context
    this.#answer = answer
    this.#caller = caller
    this.#leave = leave
    this.#account = new Account(context, 'sse')
    this.#sink = new Sink(answer, answer instanceof ServerResponse ? 'answer' : 'bare', context, this)
  }

  start(filter: Filter | null, start: SessionStart): void {
    this.#context.open.add(this)
    this.#context.tokenEnds.add(this.#caller.ended, this)
    this.#answer.on('close', this.#finish)
    const endsMs = this.#context.endsMs()
    this.#session = new Session(this.#context, this, { filter, start, opening: RETRY_FRAME, endsMs })
    this.#session.start()
  }

  get framing(): Framing {
    return sseFraming
  }

  get isFull(): boolean {
    return this.#sink.isFull
  }

  write(frames: Buffer): void {
    this.#sink.write(frames)
  }

  onFull(): void {
    this.#account.onSlow(true)
  }

  onRoom(): void {
    if (this.#isOver) return
    this.#account.onSlow(false)
    this.#session?.onRoom()
  }

  /** Whoever takes nothing would keep its connection for ever, waiting for the rest. */
  onStalled(): void {
    this.#end('4108')
    this.#answer.destroy()
  }

  onSent(events: number, readableMs: number | null): void {
    this.#account.onSent(events, readableMs)
  }

  onEnd(end: SessionEnd): void {
    if (end === 'over') this.onNodeStops()
    else this.#end('4108')
  }

  onFault(error: unknown): void {
    this.#context.logger.error('stream.failed', { transport: 'sse', error })
    this.#end('500')
  }

  onTokenEnded(): void {
    if (this.#isOver) return
    this.#end('4001')
    if (this.#sink.isFull) this.#answer.destroy()
  }

  onNodeStops(): void {
    if (this.#isOver) return
    this.write(Buffer.concat(this.framing.goingAway(this.#context.reconnectInMs())))
    this.#end('4200')
  }

  #end(code: StreamCloseCode): void {
    this.#code = code
    this.#finish()
    this.#answer.end()
  }

  /** Nothing is written from now on. */
  readonly #finish = (): void => {
    if (this.#isOver) return
    this.#isOver = true
    this.#session?.stop()
    this.#context.open.delete(this)
    if (this.#sink.isFull) this.#account.onSlow(false)
    this.#context.tokenEnds.remove(this.#caller.ended, this)
    this.#account.close(this.#code, this.#caller)
    this.#leave()
  }
}
