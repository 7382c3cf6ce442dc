/** Serves `GET /v1/rejected`: upstream items that could not be read, as they came, the newest first. */
import { z } from 'zod'
import { PAGE_BYTES, pageOf, pageParameters, readPageParameters } from '../../http/page.ts'
import { type Route, sendJson } from '../../http/route.ts'
import { isoTime } from '../../http/schemas/json-schema.ts'
import type { KeptRejected } from '../../log/events.ts'
import type { Log } from '../../log/log.ts'

const rejectedSchema = z.object({
  raw: z
    .string()
    .describe('The item as upstream sent it; of a long one the beginning, the length and the hash.'),
  reason: z.string().describe('Why it could not be read.'),
  guid: z.string().describe('Its guid, where it had one.').nullable(),
  recordedtime: isoTime('When the bridge set it aside.'),
})

const rejectedPageSchema = pageOf(rejectedSchema).extend({
  dropped: z
    .int()
    .nonnegative()
    .describe(
      'How many older items the log no longer has: the embedded log keeps 20,000, at most 1 GiB of them. null on Kafka, where the topic drops them by age.',
    )
    .nullable(),
})

/** The route. Every node reads the items from the log, so all answer the same. */
export function rejectedRoute(log: Pick<Log, 'rejectedPage' | 'rejectedDropped'>): Route {
  return {
    method: 'GET',
    path: '/v1/rejected',
    scope: 'events:read',
    summary:
      'Items that could not be read, as they came, the newest first: `{data: [{raw, reason, guid, recordedtime}], next, dropped}`. None of them is an event.',
    parameters: pageParameters('items', '; where they are large, fewer come.'),
    answers: { 200: { meaning: 'A page of rejected items.', schema: rejectedPageSchema } },
    problems: ['unavailable'],
    async handle({ query, response }) {
      const { after: before, limit } = readPageParameters(query, placeOf)
      query.check()
      const found = await log.rejectedPage({ before, limit, mostBytes: PAGE_BYTES })
      const next = found.at(-1)?.place ?? null
      const isEnd =
        next === null || (await log.rejectedPage({ before: next, limit: 1, mostBytes: 1 })).length === 0
      const dropped = log.rejectedDropped?.() ?? null
      const body = { data: found.map(shown), next: isEnd ? null : `${next}`, dropped }
      sendJson(response, 200, Buffer.from(JSON.stringify(body)))
    },
  }
}

/** The place that a `next` names; null where it is none. */
function placeOf(text: string): number | null {
  return /^\d{1,15}$/.test(text) ? Number(text) : null
}

function shown({ raw, reason, guid, recordedtime }: KeptRejected): z.infer<typeof rejectedSchema> {
  return { raw, reason, guid, recordedtime }
}
