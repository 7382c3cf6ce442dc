/** Streams and the API: who listens, how late events reach sockets, why streams end, and requests by route. */
import type { Board } from './board.ts'
import { objectiveLimit } from './limits.ts'
import { byProcess, hourOf, type Query, quantileOf, quantilesOf, rateOf } from './query.ts'

export const streams: Board = {
  uid: 'bridge-streams',
  title: 'Bridge: streams and API',
  about: 'Who listens, how late events reach sockets, why streams end, and requests by route.',
  rows: [
    {
      title: 'Streams',
      panels: [
        {
          kind: 'graph',
          title: 'Open streams',
          about: 'By transport.',
          unit: 'short',
          queries: [byProcess('bridge_stream_clients', 'transport')],
        },
        {
          kind: 'graph',
          title: 'Slow clients',
          about: 'Those that have not yet received all that was written.',
          unit: 'short',
          queries: [byProcess('bridge_stream_slow_clients')],
        },
        {
          kind: 'graph',
          title: 'Events sent',
          about: 'To all streams together.',
          unit: 'ops',
          queries: [rateOf('bridge_stream_events_sent_total', 'transport')],
        },
        {
          kind: 'graph',
          title: 'From readable to the socket',
          about: 'Of live streams. The line is the objective of 99.9 %.',
          unit: 's',
          limit: objectiveLimit('stream'),
          queries: quantilesOf('bridge_stream_send_latency_seconds', 0.999),
        },
        {
          kind: 'graph',
          title: 'Streams that ended, an hour',
          about: 'By close code: 4100 is refused for want of room, 4108 too slow, 4129 too many of a token.',
          unit: 'short',
          queries: [hourOf('bridge_stream_closes_total', 'code')],
        },
      ],
    },
    {
      title: 'API',
      panels: [
        {
          kind: 'graph',
          title: 'Requests by route',
          about: 'To the public listener; the ten with the most.',
          unit: 'reqps',
          queries: [busiest(10, rateOf('bridge_http_requests_total', 'route'))],
        },
        {
          kind: 'graph',
          title: 'Requests that failed',
          about: 'Status 5xx; the five routes with the most.',
          unit: 'reqps',
          queries: [busiest(5, rateOf('bridge_http_requests_total{code="5xx"}', 'route'))],
        },
        {
          kind: 'graph',
          title: 'Duration by route',
          about: 'A waiting pull and a stream last as long as their client stays.',
          unit: 's',
          queries: [quantileOf('bridge_http_request_duration_seconds', 0.99, 'route')],
        },
        {
          kind: 'graph',
          title: 'Refused for want of a token or a right, an hour',
          about: '401: no token that counts. 403: the token may not do that.',
          unit: 'short',
          queries: [hourOf('bridge_http_unauthorised_total', 'code')],
        },
        {
          kind: 'graph',
          title: 'Refused because of too much traffic, an hour',
          about: 'Requests and connections, by cause.',
          unit: 'short',
          queries: [hourOf('bridge_http_refused_total', 'cause')],
        },
      ],
    },
  ],
}

/** The routes with the highest values: most of the others are at 0. */
function busiest(count: number, { expr, legend }: Query): Query {
  return { expr: `topk(${count}, ${expr})`, legend }
}
