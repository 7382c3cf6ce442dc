/**
 * Serves `GET /v1/polls`: the leader's requests to upstream of one London day, on any node, from the log's table `polls`.
 */
import { z } from 'zod'
import { bucketOfKey, keptPurposes, MOST_SINGLE, type PollsRow } from '../../archive/polls.ts'
import type { Calendar } from '../../core/calendar/calendar.ts'
import { isoMillis, isoOrNull, isoSeconds } from '../../core/dates.ts'
import { SECOND_MS } from '../../core/durations.ts'
import { type Route, sendJson } from '../../http/route.ts'
import { isoTime } from '../../http/schemas/json-schema.ts'
import { pollResults } from '../../obs/metrics.ts'
import type { ReadKeptPolls } from './kept-polls.ts'
import { dateParameter, dayShape, readLondonDay, shownDay } from './london-day.ts'

/** What the route works with. */
export interface PollsParts {
  readPolls: ReadKeptPolls
  calendar: Calendar
  /** The upstream's present time, ms since 1970. */
  upstreamNowMs: () => number
}

const purpose = z.enum(keptPurposes).describe('What it was for.')

const pollSchema = z.object({
  at: isoTime("When it left, by the leader's clock, as `recordedtime` is."),
  upstreamAt: isoTime(
    "The same by upstream's clock, as `time` is; null where the leader did not know it: before its first good poll.",
  ).nullable(),
  purpose,
  result: z.enum(pollResults).describe('How it ended.'),
  newItems: z
    .int()
    .describe('Items on its page that were not held yet; null where it brought no page.')
    .nullable(),
  pageFull: z
    .boolean()
    .describe('Whether the page was full, so that there was more; null where it brought no page.')
    .nullable(),
  nextAfterSeconds: z
    .number()
    .describe('Planned time to the next poll, seconds; null for requests other than polls.')
    .nullable(),
  durationMs: z.number().describe('How long the answer took, ms; null where it was given up.').nullable(),
})

const sumsSchema = z.object({
  from: isoTime("The minute, by the leader's clock."),
  upstreamFrom: isoTime("The same by upstream's clock; null as `upstreamAt`.").nullable(),
  purpose,
  requests: z.int().describe('How many were made.'),
  results: z.partialRecord(z.enum(pollResults), z.int()).describe('How many ended in each way.'),
  newItems: z.int().describe('Items on their pages that were not held yet.'),
  fullPages: z.int().describe('How many pages were full.'),
})

const answerSchema = z.object({
  ...dayShape,
  keptSince: isoTime(
    "Requests are known from here on, by the leader's clock; eight days are kept. null: none is kept.",
  ).nullable(),
  data: z.array(pollSchema).describe('The requests of the day, the earliest first.'),
  minutes: z
    .array(sumsSchema)
    .describe(
      `Where more than ${MOST_SINGLE} requests were made in five minutes, only their sums by minute and purpose are kept: here, and not in \`data\`.`,
    ),
})

/** The answer. */
export type PollsAnswer = z.infer<typeof answerSchema>

/** The route. */
export function pollsRoute({ readPolls, calendar, upstreamNowMs }: PollsParts): Route {
  return {
    method: 'GET',
    path: '/v1/polls',
    scope: 'admin',
    summary:
      "The leader's requests to upstream of a London day: `{date, from, to, keptSince, data: [{at, upstreamAt, purpose, result, newItems, pageFull, nextAfterSeconds, durationMs}], minutes}`. See [quota.md](../run/quota.md#polls).",
    parameters: { date: dateParameter },
    answers: { 200: { meaning: 'The requests of the day.', schema: answerSchema } },
    problems: ['unavailable'],
    async handle({ query, response }) {
      const day = readLondonDay(query, calendar, upstreamNowMs())
      query.check()
      const read = await readPolls()
      const buckets = [...read.keys()].map(bucketOfKey).filter((ms) => !Number.isNaN(ms))
      const sinceMs = buckets.length === 0 ? null : buckets.reduce((least, ms) => Math.min(least, ms))
      const body: PollsAnswer = {
        ...shownDay(day),
        keptSince: isoOrNull(sinceMs),
        ...requestsOf(read.values(), (ms) => ms >= day.startMs && ms < day.endMs),
      }
      sendJson(response, 200, Buffer.from(JSON.stringify(body)))
    },
  }
}

/** The requests whose time is inside: by upstream's clock, or by the leader's where it did not know that. */
function requestsOf(
  rows: Iterable<PollsRow>,
  isInside: (ms: number) => boolean,
): Pick<PollsAnswer, 'data' | 'minutes'> {
  const data: PollsAnswer['data'] = []
  const minutes: PollsAnswer['minutes'] = []
  for (const { aheadMs, requests, minutes: sums } of rows) {
    const ahead = aheadMs ?? 0
    for (const [atMs, purpose, result, newItems, isFull, intervalMs, durationMs] of requests) {
      if (!isInside(atMs + ahead)) continue
      data.push({
        at: isoMillis(atMs),
        upstreamAt: aheadMs === null ? null : isoMillis(atMs + aheadMs),
        purpose,
        result,
        newItems,
        pageFull: isFull === null ? null : isFull === 1,
        nextAfterSeconds: intervalMs === null ? null : intervalMs / SECOND_MS,
        durationMs,
      })
    }
    for (const { minuteMs, ...rest } of sums) {
      if (!isInside(minuteMs + ahead)) continue
      const requests = Object.values(rest.results).reduce((sum, count) => sum + count, 0)
      minutes.push({
        from: isoSeconds(minuteMs),
        upstreamFrom: aheadMs === null ? null : isoSeconds(minuteMs + aheadMs),
        requests,
        ...rest,
      })
    }
  }
  const byTime = <T extends { at?: string; from?: string }>(one: T, other: T): number =>
    (one.at ?? one.from ?? '') < (other.at ?? other.from ?? '') ? -1 : 1
  return { data: data.sort(byTime), minutes: minutes.sort(byTime) }
}
