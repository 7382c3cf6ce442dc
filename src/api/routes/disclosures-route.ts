/**
 * Serves `GET /v1/disclosures`: clients pull the events after a cursor, or long-poll for new ones. Each
 * event is sent as the bytes that are stored, without parsing them.
 */
import { z } from 'zod'
import type { Reader } from '../../archive/reading/reader.ts'
import { type LocalGap, resumeAt } from '../../archive/reading/resume.ts'
import { requireCompleteReplica } from '../../archive/replica/replica-incomplete.ts'
import type { Filter } from '../../core/filter/filter.ts'
import { parseFilterQuery } from '../../core/filter/filter-query.ts'
import { retryLater, tooOld } from '../../http/problem.ts'
import { type Route, sendJson } from '../../http/route.ts'
import { eventSchema } from '../../http/schemas/event-schema.ts'
import { ranged } from '../../http/schemas/json-schema.ts'
import { type Clock, sleep, within } from '../../lifecycle/clock.ts'
import { eventList } from './event-list.ts'

const LIMIT = { low: 1, high: 1000, otherwise: 100 }
const WAIT_SECONDS = { low: 0, high: 30, otherwise: 0 }
/** Longest reading for one answer: a filter that matches little gets a page early, with `more`. */
const READ_BUDGET_MS = 2000

export interface DisclosuresOptions {
  reader: Reader
  clock: Clock
  /** Aborts when this node stops: a long poll answers with what it has. */
  stopping: AbortSignal
}

/** One page of the log. */
interface Page {
  /** JSON of each event. */
  events: readonly Buffer[]
  cursor: string
  more: boolean
}

interface Wanted {
  after: number
  cursor: string
  filter: Filter | null
  /** True if it continues from a cursor: events dropped by age must not be skipped silently. */
  isResumed: boolean
  limit: number
  /** Until when to wait for the first event, ms since 1970. */
  deadlineMs: number
  signal: AbortSignal
  /** The id of the token that asks. */
  caller: string
}

const pageSchema = z.object({
  data: z.array(eventSchema).describe('In the order of the log; gaps are among them whatever the filter.'),
  cursor: z.string().describe('Where reading stopped, also when nothing matched: the next `after`.'),
  more: z.boolean().describe('Whether the log goes on past it.'),
})

/** The route. */
export function disclosuresRoute({ reader, clock, stopping }: DisclosuresOptions): Route {
  return {
    method: 'GET',
    path: '/v1/disclosures',
    scope: 'events:read',
    summary: 'Pull: `{data: [event], cursor, more}`, from the earliest event kept or after a cursor.',
    takesFilter: true,
    parameters: {
      after: 'Cursor of an event or answer; without it from the earliest.',
      limit: ranged(LIMIT, 'Most events'),
      wait: ranged(WAIT_SECONDS, 'Seconds to wait for a matching event where there is none yet'),
    },
    answers: { 200: { meaning: 'A page of the log.', schema: pageSchema } },
    problems: ['cursor_invalid', 'cursor_too_old'],
    async handle({ query, response, caller, gone }) {
      const filter = parseFilterQuery(query.params)
      const after = query.text('after')
      const limit = query.integer('limit', LIMIT)
      const wait = query.integer('wait', WAIT_SECONDS)
      query.check()
      const deadlineMs = clock.now() + wait * 1000
      const signal = AbortSignal.any([gone, stopping, caller.ended])
      const start = await startOf(reader, clock, { after, deadlineMs, signal })
      const by = { signal, caller: caller.tokenId }
      const wanted = { ...start, isResumed: after !== null, filter, limit, deadlineMs, ...by }
      const page =
        start.localGap === null
          ? await readPage(reader, clock, wanted)
          : await readBehind(start.localGap, reader, clock, wanted)
      sendJson(response, 200, encodePage(page))
    },
  }
}

/** The start, once the replica has reached it or the deadline has passed. @throws HttpProblem `unavailable`, `cursor_too_old` */
async function startOf(
  reader: Reader,
  clock: Clock,
  { after: text, deadlineMs, signal }: { after: string | null; deadlineMs: number; signal: AbortSignal },
) {
  requireCompleteReplica(reader.replica)
  if (text === null) {
    const after = reader.oldest - 1
    return { after, cursor: reader.cursorAt(after), localGap: null }
  }
  for (;;) {
    const resume = resumeAt(reader, text, clock.now())
    if (resume.kind === 'too_old') throw tooOld(resume.oldest)
    const { after } = resume
    const leftMs = deadlineMs - clock.now()
    if (after <= reader.latest || leftMs <= 0 || signal.aborted) return resume
    await within(clock, leftMs, signal, (either) => reader.waitBeyond(after - 1, either))
    requireCompleteReplica(reader.replica)
  }
}

/** A page whose first event is the local gap event; it counts as an event, so a long poll does not wait. */
async function readBehind(localGap: LocalGap, reader: Reader, clock: Clock, wanted: Wanted): Promise<Page> {
  const limit = wanted.limit - 1
  if (limit === 0) {
    return { events: [localGap.json], cursor: localGap.cursor, more: reader.latest > wanted.after }
  }
  const page = await readPage(reader, clock, { ...wanted, limit, deadlineMs: clock.now() })
  return { ...page, events: [localGap.json, ...page.events] }
}

/**
 * Reads one page, waiting until `deadlineMs` for its first event. If the replica is refilled or prunes the next events meanwhile,
 * the request fails and the client resumes from its own cursor.
 * @throws HttpProblem `unavailable` or `cursor_too_old`
 */
async function readPage(reader: Reader, clock: Clock, wanted: Wanted): Promise<Page> {
  const { deadlineMs } = wanted
  const { epoch } = reader
  let { after, cursor } = wanted
  for (;;) {
    const { filter, limit, signal, caller } = wanted
    const by = { signal, caller, isUrgent: true }
    const read = await reader.read({ after, filter, limit, ...by, budgetMs: READ_BUDGET_MS })
    requireCompleteReplica(reader.replica)
    if (epoch !== null && reader.epoch !== epoch) throw retryLater('unavailable', 'the log has a new epoch')
    if (wanted.isResumed && reader.oldest - 1 > after) throw tooOld(reader.cursorAt(reader.oldest - 1))
    if (read.position <= reader.latest) ({ position: after, cursor } = read)
    const waited = clock.now() >= deadlineMs || signal.aborted
    if (read.events.length > 0 || read.more || waited) {
      return { events: read.events.map(({ json }) => json), cursor, more: read.more }
    }
    const enough = new AbortController()
    const either = AbortSignal.any([signal, enough.signal])
    await Promise.race([reader.waitBeyond(after, either), sleep(clock, deadlineMs - clock.now(), either)])
    enough.abort()
  }
}

const BEGIN = Buffer.from('{"data":')

function encodePage({ events, cursor, more }: Page): Buffer {
  const end = Buffer.from(`,"cursor":${JSON.stringify(cursor)},"more":${more}}`)
  return Buffer.concat([BEGIN, ...eventList(events), end])
}
