/**
 * Serves `POST /v1/tickets`: issues a ticket, with which a browser opens one WebSocket or EventSource instead of sending
 * a bearer header.
 */
import { z } from 'zod'
import { isoMillis } from '../../core/dates.ts'
import { type Route, sendJson } from '../../http/route.ts'
import { isoTime } from '../../http/schemas/json-schema.ts'
import type { Tickets } from '../../registry/tickets.ts'

/** The route. */
export function ticketRoute(tickets: Pick<Tickets, 'give'>): Route {
  return {
    method: 'POST',
    isReadOnly: true,
    path: '/v1/tickets',
    scope: 'events:read',
    summary:
      'Gives a ticket of the token that asks: 201 with `{ticket, expiresAt}`. It opens one WebSocket on each node within 30 s, as `/v1/stream?ticket=…`, or one `EventSource`, as `/v1/events?ticket=…`. See [tokens.md](tokens.md#tickets).',
    parameters: {},
    answers: {
      201: {
        meaning: 'The ticket. It is never to be cached.',
        schema: z.object({
          ticket: z.string().meta({
            description: 'Goes into the address of a WebSocket or EventSource as it is.',
            pattern: '^[A-Za-z0-9._-]+$',
          }),
          expiresAt: isoTime(
            'From when on it opens nothing; an EventSource resumes with it for twelve hours more.',
          ),
        }),
      },
    },
    async handle({ query, caller, response }) {
      query.check()
      const { ticket, expiresAtMs } = tickets.give(caller)
      sendJson(response, 201, Buffer.from(JSON.stringify({ ticket, expiresAt: isoMillis(expiresAtMs) })))
    },
  }
}
