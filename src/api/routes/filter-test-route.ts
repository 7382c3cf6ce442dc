/**
 * Serves `POST /v1/filters/test`: shows which of the most recent events a given filter would have
 * matched.
 */
import { z } from 'zod'
import type { Reader } from '../../archive/reading/reader.ts'
import { requireCompleteReplica } from '../../archive/replica/replica-incomplete.ts'
import type { StoredEvent } from '../../archive/store/stored.ts'
import { isGap } from '../../core/event.ts'
import type { Filter } from '../../core/filter/filter.ts'
import { parseFilter } from '../../core/filter/filter-parse.ts'
import type { SendBuffers } from '../../http/bounds/send-buffers.ts'
import { readBody } from '../../http/read-body.ts'
import { type Route, sendJson } from '../../http/route.ts'
import { eventSchema } from '../../http/schemas/event-schema.ts'
import { filterSchema, unreadFilter } from '../../http/schemas/filter-schema.ts'
import { ranged } from '../../http/schemas/json-schema.ts'
import { eventList } from './event-list.ts'

const LAST = { low: 1, high: 100_000, otherwise: 1000 }
const LIMIT = { low: 1, high: 1000, otherwise: 20 }
/** Ten thousand ISINs with their quotes and commas are 150 KB; LEIs are 230 KB. */
const MAX_BODY_BYTES = 256 * 1024
/** Events per read; the reader yields to the event loop inside and between reads. */
const WINDOW = 1000
/** JSON of an event, estimated high; of larger ones, or while slow clients hold much memory, fewer are returned. */
const USUAL_EVENT_BYTES = 8 * 1024

const requestSchema = z.strictObject({
  filter: unreadFilter.describe('The filter in its JSON form, see [filters.md](filters.md).'),
  last: ranged(LAST, 'How many of the last events to look at'),
  limit: ranged(LIMIT, 'Most events in `data`, the newest that match'),
})

const trialSchema = z.object({
  tested: z.int().describe('Disclosures looked at.'),
  matched: z.int().describe('Of these, those that the filter matched.'),
  gaps: z
    .int()
    .describe('Gap events among the last events; they reach every stream reader, so they are no match.'),
  filter: filterSchema,
  from: z.string().describe('Cursor before the first event looked at.'),
  to: z.string().describe('Cursor of the last one.'),
  data: z.array(eventSchema).describe('The newest that match, oldest first.'),
})

/** The route. */
export function filterTestRoute(reader: Reader, sendBuffers: SendBuffers): Route {
  return {
    method: 'POST',
    isReadOnly: true,
    path: '/v1/filters/test',
    scope: 'events:read',
    summary:
      'Which of the last events a filter would have matched: `{tested, matched, gaps, filter, from, to, data: [event]}`.',
    parameters: {},
    body: {
      maxBytes: MAX_BODY_BYTES,
      schema: requestSchema,
    },
    answers: { 200: { meaning: 'What the filter did to the last events.', schema: trialSchema } },
    problems: ['filter_invalid'],
    async handle({ query, body, response, caller, gone }) {
      query.check()
      const { filter: unread, last, limit } = readBody(requestSchema, body)
      const filter = parseFilter(unread, 'filter')
      requireCompleteReplica(reader.replica)
      const reservation = sendBuffers.reserve(limit * USUAL_EVENT_BYTES)
      try {
        const by = { signal: gone, caller: caller.tokenId }
        const trial = await tryFilter(reader, filter, { last, limit, maxBytes: reservation.maxBytes, ...by })
        if (gone.aborted) return
        const answer = encodeTrial(trial)
        sendBuffers.retainUntilOut(answer, response)
        sendJson(response, 200, answer)
      } finally {
        reservation.end()
      }
    },
  }
}

interface TrialRequest {
  last: number
  limit: number
  /** JSON that the answer may have, give or take an event. */
  maxBytes: number
  signal: AbortSignal
  caller: string
}

/** The members of the answer; `shown`: the events of its `data`. */
async function tryFilter(
  reader: Reader,
  filter: Filter,
  { last, limit, maxBytes, signal, caller }: TrialRequest,
) {
  const end = reader.latest
  const start = Math.min(end, Math.max(reader.oldest - 1, end - last))
  let position = start
  let gaps = 0
  let matched = 0
  let shown: StoredEvent[] = []
  while (position < end && !signal.aborted) {
    const read = await reader.read({ after: position, filter, limit: WINDOW, signal, caller })
    const seen = read.events.filter(({ sequence }) => sequence <= end)
    const matches = seen.filter(({ type }) => !isGap(type))
    gaps += seen.length - matches.length
    matched += matches.length
    shown = newestOf([...shown, ...matches], limit, maxBytes)
    position = read.position
    requireCompleteReplica(reader.replica)
  }
  return {
    tested: end - start - gaps,
    matched,
    gaps,
    filter,
    from: reader.cursorAt(start),
    to: reader.cursorAt(end),
    shown,
  }
}

/** Keeps the last `limit` events: fewer if their JSON exceeds `maxBytes`, but at least one. */
function newestOf(events: readonly StoredEvent[], limit: number, maxBytes: number): StoredEvent[] {
  const newest: StoredEvent[] = []
  let bytes = 0
  for (const event of events.toReversed()) {
    bytes += event.json.length
    if (newest.length === limit || (newest.length > 0 && bytes > maxBytes)) break
    newest.push(event)
  }
  return newest.reverse()
}

function encodeTrial({ shown, ...counts }: Awaited<ReturnType<typeof tryFilter>>): Buffer {
  const head = Buffer.from(`${JSON.stringify(counts).slice(0, -1)},"data":`)
  return Buffer.concat([head, ...eventList(shown.map(({ json }) => json)), Buffer.from('}')])
}
