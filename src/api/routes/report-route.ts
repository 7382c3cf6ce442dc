/**
 * Serves `GET /v1/report`: the items received on each of the last London days, and the gaps that remain. A gap is a
 * span of time in which items may be missing. The leader, the one node that polls the upstream, supplies the figures.
 */
import { z } from 'zod'
import { type DayReplica, publishedDay } from '../../archive/days.ts'
import { retryLater } from '../../http/problem.ts'
import { type Route, sendJson } from '../../http/route.ts'
import { daySchema } from '../../http/schemas/day-schema.ts'
import { ranged } from '../../http/schemas/json-schema.ts'

/** Maximum of days: as many as are kept. */
const DAYS = { low: 1, high: 400, otherwise: 14 }

/** Builds the route over this node's replica of the reports. */
export function reportRoute(days: Pick<DayReplica, 'last'>): Route {
  return {
    method: 'GET',
    path: '/v1/report',
    scope: null,
    summary:
      'The last London days, oldest first, as the leader last wrote them (today at most a minute ago): `{data: [{date, polled, filled, swept, backfilled, amended, rejected, gapsLeft, eodSeen, walk, walkedAt, since, units}]}`. What each figure counts: [completeness.md](../run/completeness.md#was-anything-missing-yesterday).',
    parameters: {
      days: ranged(DAYS, 'How many'),
    },
    answers: { 200: { meaning: 'The days.', schema: z.object({ data: z.array(daySchema) }) } },
    async handle({ query, response }) {
      const count = query.integer('days', DAYS)
      query.check()
      const data = days.last(count)
      if (data === null) throw retryLater('unavailable', 'this node has not read the reports yet')
      sendJson(response, 200, Buffer.from(JSON.stringify({ data: data.map(publishedDay) })))
    },
  }
}
