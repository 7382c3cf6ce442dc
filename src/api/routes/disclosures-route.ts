/**
 * Serves `GET /v1/disclosures`: clients pull the events from a cursor, a time or the last ones on, long-poll for new ones,
 * or read backwards. Each event is sent as the bytes that are stored, without parsing them.
 */
import { z } from 'zod'
import { parseFilterQuery } from '../../core/filter/filter-query.ts'
import { PageSender } from '../../http/page-sender.ts'
import type { Query } from '../../http/parameters.ts'
import type { Route } from '../../http/route.ts'
import { eventSchema } from '../../http/schemas/event-schema.ts'
import { ranged } from '../../http/schemas/json-schema.ts'
import { eventList } from './event-list.ts'
import { type PullEnd, type PullPage, type PullParts, type PullStart, pull } from './pull.ts'
import { pullPlaceProblems, takePullPlace } from './pull-places.ts'

const LIMIT = { low: 1, high: 1000, otherwise: 100 }
const WAIT_SECONDS = { low: 0, high: 30, otherwise: 0 }
/** The parameters that say where to start: one of them at most. */
const STARTS = ['after', 'since', 'tail', 'before'] as const

const pageSchema = z.object({
  data: z
    .array(eventSchema)
    .describe(
      'In the order of the log, with `before` the newest first; gaps are among them whatever the filter.',
    ),
  cursor: z
    .string()
    .describe('Where reading stopped, also when nothing matched: the next `after`, or the next `before`.'),
  more: z
    .boolean()
    .describe('Whether the log goes on past it, up to `until`; with `before`, whether it goes back further.'),
})

/** The route. */
export function disclosuresRoute(parts: PullParts): Route {
  const pages = new PageSender(parts.limits.sendBuffers)
  return {
    method: 'GET',
    path: '/v1/disclosures',
    scope: 'events:read',
    summary:
      'Pull: `{data: [event], cursor, more}`, from the earliest event kept, or from one of `after`, `since`, `tail`, `before`. See [pull.md](pull.md).',
    takesFilter: true,
    parameters: {
      after: 'Cursor of an event or answer: events after it.',
      since:
        'Time, RFC 3339 or a partial one (UTC): start at the lowest sequence whose event is at or after it; all later ones follow.',
      tail: ranged({ ...LIMIT, otherwise: 0 }, 'Start with so many of the last matching events', '.'),
      before: 'Cursor of an event or answer: events before it, the newest first.',
      until:
        'Cursor or time where reading ends: that event, or the last one before the first of a later time. A partial time is included as a whole. Not with `before`.',
      limit: ranged(LIMIT, 'Most events', '; with `tail` at least as many as that.'),
      wait: ranged(
        WAIT_SECONDS,
        'Seconds to wait for a matching event where there is none yet',
        '. Not with `before`.',
      ),
    },
    answers: { 200: { meaning: 'A page of the log.', schema: pageSchema } },
    problems: ['cursor_invalid', 'cursor_too_old', ...pullPlaceProblems],
    takePlace: (call) => takePullPlace(parts.limits, call),
    async handle({ query, response, caller, gone }) {
      const filter = parseFilterQuery(query.params)
      const start = readStart(query)
      const end = readEnd(query)
      const fewest = start.kind === 'tail' ? Math.max(LIMIT.otherwise, start.count) : LIMIT.otherwise
      const limit = query.integer('limit', { ...LIMIT, otherwise: fewest })
      const wait = query.integer('wait', WAIT_SECONDS)
      for (const name of start.kind === 'before' ? ['until', 'wait'] : []) {
        if (query.params.has(name)) query.refuse(name, 'cannot be combined with before')
      }
      query.check()
      const deadlineMs = parts.clock.now() + wait * 1000
      const signal = AbortSignal.any([gone, parts.stopping, caller.ended])
      const wanted = { start, end, filter, limit, deadlineMs, signal, caller: caller.tokenId }
      await pages.send(response, encodePage(await pull(wanted, parts)))
    },
  }
}

function readStart(query: Query): PullStart {
  query.refuseAllButOne(STARTS)
  const after = query.text('after')
  const since = query.time('since')
  const tail = query.integer('tail', { ...LIMIT, otherwise: 0 })
  const before = query.text('before')
  if (after !== null) return { kind: 'after', cursor: after }
  if (before !== null) return { kind: 'before', cursor: before }
  if (since !== null) return { kind: 'since', timeMs: since.fromMs }
  return tail > 0 ? { kind: 'tail', count: tail } : { kind: 'earliest' }
}

/** No cursor begins with a digit. */
function readEnd(query: Query): PullEnd | null {
  if (/^\d/.test(query.params.get('until') ?? '')) {
    const time = query.time('until')
    return time === null ? null : { kind: 'time', toMs: time.toMs }
  }
  const cursor = query.text('until')
  return cursor === null ? null : { kind: 'cursor', cursor }
}

const BEGIN = Buffer.from('{"data":')

function encodePage({ events, cursor, more }: PullPage): Buffer[] {
  const end = Buffer.from(`,"cursor":${JSON.stringify(cursor)},"more":${more}}`)
  return [BEGIN, ...eventList(events), end]
}
