/**
 * Serves `GET /v1/status`.
 */
import { openQuery } from '../../http/parameters.ts'
import { type Route, sendJson } from '../../http/route.ts'
import { type Status, statusSchema } from './status.ts'

/** Builds the route; each request calls `status`. */
export function statusRoute(status: () => Status): Route {
  return {
    method: 'GET',
    path: '/v1/status',
    scope: null,
    summary: 'What this node knows of leader, upstream, quota, log, copy, completeness and open gaps.',
    parameters: {},
    answers: { 200: { meaning: 'The state of this node.', schema: statusSchema } },
    async handle({ url, response }) {
      openQuery(url, []).check()
      sendJson(response, 200, Buffer.from(JSON.stringify(status())))
    },
  }
}
