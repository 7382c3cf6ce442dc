/** Defines the member `health` of an endpoint: how its deliveries stand, for the API. */
import { z } from 'zod'
import { isoTime } from '../../http/schemas/json-schema.ts'
import type { Endpoint } from '../../registry/endpoints.ts'

/** Most events behind an endpoint's read position that `pending` counts. */
export const MOST_UNREAD = 1000
/** Attempts that the percentiles are taken from: the newest ones of the last day. */
export const PERCENTILE_ATTEMPTS = 1000

/** Health of an endpoint. */
export const healthSchema = z
  .object({
    pending: z
      .int()
      .describe(
        `Deliveries that wait to be sent or sent again; of events that were not read yet, ${MOST_UNREAD} at most.`,
      )
      .nullable(),
    oldestPending: isoTime('When the bridge recorded the oldest of these; null without any.').nullable(),
    dead: z.int().describe('Deliveries that were given up and can be replayed.').nullable(),
    forgotten: z
      .int()
      .describe(
        'How many of these were forgotten since the endpoint was created, the oldest first, because there were too many of the endpoint or its tenant: a replay of `dead` leaves them out, one by time or id does not.',
      )
      .nullable(),
    lastSuccess: isoTime('When the last attempt of the last week began that was answered 2xx.').nullable(),
    failingSince: isoTime('Since when no attempt succeeded; null while the last one did.').nullable(),
    p50Ms: z
      .int()
      .describe(
        `Median time of the answered attempts of the last day, the newest ${PERCENTILE_ATTEMPTS} of them; null without any.`,
      )
      .nullable(),
    p95Ms: z.int().describe('The 95th percentile of these.').nullable(),
  })
  .describe('How its deliveries stand; a member is null where this node does not know.')

/** Health of an endpoint. */
export type EndpointHealth = z.output<typeof healthSchema>

/** Finds the health of an endpoint. After `untilMs` (ms since 1970) it counts no unread events. Never rejects for want of data. */
export type HealthOf = (endpoint: Endpoint, untilMs: number) => Promise<EndpointHealth>
