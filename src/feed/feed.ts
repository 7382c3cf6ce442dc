/**
 * `GET /v1/events`: the SSE role (contract §8). Owns the parameters, where a stream starts, how many there may be, and
 * what is counted and logged of each. Refuses to decide what a stream sends: `session.ts` does.
 */
import type { Reader } from '../archive/reader.ts'
import { resumeAt } from '../archive/resume.ts'
import type { Filter } from '../core/filter.ts'
import { FILTER_PARAMETERS, parseFilterQuery } from '../core/filter-query.ts'
import { tooOld } from '../http/cursor-too-old.ts'
import { openQuery } from '../http/parameters.ts'
import { retryLater } from '../http/problem.ts'
import type { Call, Route } from '../http/route.ts'
import type { Chance, Clock } from '../lifecycle/clock.ts'
import type { Logger } from '../obs/logger.ts'
import type { Metrics, StreamCloseCode } from '../obs/metrics.ts'
import { capacityFor, openFilesLimit } from './capacity.ts'
import { runSession, type SessionEnd, type SessionStart } from './session.ts'
import { responseSink } from './sink.ts'

export interface FeedOptions {
  reader: Reader
  clock: Clock
  chance: Chance
  metrics: Pick<
    Metrics,
    'streamClients' | 'streamEventsSent' | 'streamSendLatency' | 'streamCloses' | 'streamSlowClients'
  >
  logger: Logger
  /** Most streams wished for; lowered, with a warning, where fewer files may be open. */
  maxClients: number
  /** Time in which a client must take some byte of what is written; 30 s unless a test says otherwise. */
  stallMs?: number
}

export interface Feed {
  readonly route: Route
  /** Tells every client to come back, ends its stream, and refuses new ones. */
  stop(): void
}

const TRANSPORT = { transport: 'sse' } as const
const STALL_MS = 30_000
const MAX_TAIL = 1000
/** Clients of a stopping node come back spread over this time. */
const RECONNECT_SPREAD_MS = 5000

const CLOSE_CODES: Record<SessionEnd, StreamCloseCode> = {
  gone: 'client',
  drained: '4200',
  too_slow: '4108',
  fell_behind: '4108',
}

/** The role's route and its stop. */
export function createFeed(options: FeedOptions): Feed {
  const stopping = new AbortController()
  const { metrics, logger } = options
  const { maxClients, warning } = capacityFor(options.maxClients, openFilesLimit())
  if (warning !== null) logger.warn('feed.capacity_lowered', { maxClients, warning })
  let clients = 0

  const handle = async (call: Call): Promise<void> => {
    const wanted = readParameters(call)
    if (stopping.signal.aborted) throw retryLater('unavailable', 'this node is stopping')
    if (clients >= maxClients) {
      metrics.streamCloses.add({ ...TRANSPORT, code: '4100' })
      throw retryLater('over_capacity', `this node serves ${maxClients} streams already`)
    }
    clients += 1
    metrics.streamClients.add(TRANSPORT, 1)
    try {
      const start = await startOf(options, wanted, call.gone)
      await serve(options, call, { filter: wanted.filter, start, stopping: stopping.signal })
    } finally {
      clients -= 1
      metrics.streamClients.add(TRANSPORT, -1)
    }
  }

  return {
    route: {
      method: 'GET',
      path: '/v1/events',
      scope: 'events:read',
      summary: 'Server-sent events: `disclosure`, `gap`, `live`, `going_away`; the id of each is its cursor.',
      parameters: {
        after: 'Cursor to resume after; the header `Last-Event-ID` wins over it.',
        since: 'Time: start at the lowest sequence whose event is at or after it; all later ones follow.',
        tail: `Start with the last matching events, 1–${MAX_TAIL}.`,
      },
      handle,
    },
    stop: () => stopping.abort(),
  }
}

interface Wanted {
  filter: Filter | null
  after: string | null
  sinceMs: number | null
  /** 0 = not asked for. */
  tail: number
}

function readParameters({ url, request }: Call): Wanted {
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
  if (typeof lastEventId !== 'string' || lastEventId === '') return { filter, after, sinceMs, tail }
  return { filter, after: lastEventId, sinceMs: null, tail: 0 }
}

async function startOf(
  { reader, clock }: FeedOptions,
  { filter, after, sinceMs, tail }: Wanted,
  gone: AbortSignal,
): Promise<SessionStart> {
  if (after !== null) {
    const resume = resumeAt(reader, after, clock.now())
    if (resume.kind === 'too_old') throw tooOld(resume.oldest)
    return resume
  }
  const position =
    sinceMs !== null
      ? reader.sequenceSince(sinceMs)
      : tail > 0
        ? await reader.beforeLast(filter, tail, gone)
        : reader.latest
  return { after: position, cursor: reader.cursorAt(position), notice: null }
}

async function serve(
  { reader, clock, chance, metrics, logger, stallMs = STALL_MS }: FeedOptions,
  { request, response, caller, gone }: Call,
  { filter, start, stopping }: { filter: Filter | null; start: SessionStart; stopping: AbortSignal },
): Promise<void> {
  response.writeHead(200, {
    'Content-Type': 'text/event-stream; charset=utf-8',
    'Cache-Control': 'no-store',
    'X-Accel-Buffering': 'no',
  })
  if (request.method === 'HEAD') {
    response.end()
    return
  }
  const startedMs = clock.now()
  let sent = 0
  let code: StreamCloseCode = '500'
  try {
    const end = await runSession({
      reader,
      filter,
      start,
      sink: responseSink(response, stallMs),
      clock,
      gone,
      stopping,
      reconnectInMs: Math.round(chance() * RECONNECT_SPREAD_MS),
      onSent: (events, readableMs) => {
        sent += events
        metrics.streamEventsSent.add(TRANSPORT, events)
        if (readableMs !== null) metrics.streamSendLatency.observe({}, (clock.now() - readableMs) / 1000)
      },
      onSlow: (slow) => metrics.streamSlowClients.add({}, slow ? 1 : -1),
    })
    code = CLOSE_CODES[end]
    if (end === 'too_slow') response.destroy()
    else response.end()
  } finally {
    metrics.streamCloses.add({ ...TRANSPORT, code })
    const durationMs = clock.now() - startedMs
    logger.info('stream.closed', { ...TRANSPORT, code, sent, durationMs, tenant: caller.tenant })
  }
}
