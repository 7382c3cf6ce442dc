/**
 * Serves `GET /v1/disclosures/{id}`: one event by its id or sequence, with the revisions of its item, what replaces it, its
 * topics, how it was found and when it was committed.
 */
import { z } from 'zod'
import { noEvent, sequenceOfName } from '../../archive/named-event.ts'
import { eventAt } from '../../archive/reading/one-event.ts'
import type { Reader } from '../../archive/reading/reader.ts'
import type { Archive } from '../../archive/store/archive.ts'
import type { StoredEvent } from '../../archive/store/stored.ts'
import { isoOrNull } from '../../core/dates.ts'
import { dataBytes, type EventType } from '../../core/event.ts'
import { waysFound } from '../../core/purpose.ts'
import type { SendBuffers } from '../../http/bounds/send-buffers.ts'
import { type Route, sendJson } from '../../http/route.ts'
import { eventSchema } from '../../http/schemas/event-schema.ts'
import { isoTime } from '../../http/schemas/json-schema.ts'

/** What the route works with. */
export interface EventParts {
  archive: Archive
  reader: Reader
  sendBuffers: SendBuffers
  topicsOf: TopicsOf
}

/**
 * Names of the topics of an event: on Kafka those that hold it, null where that is not stored; on the embedded log those that
 * would. `stored`: as in `Provenance`.
 */
export type TopicsOf = (
  event: { type: EventType; data: string },
  stored: readonly string[] | undefined,
) => readonly string[] | null

const detailsSchema = z.object({
  revisions: z
    .array(z.string())
    .describe('The ids of all revisions of its item that are kept, oldest first; of a gap event none.'),
  replacedBy: z
    .string()
    .nullable()
    .describe('guid of the newest announcement that names this one as replaced; `null` where there is none.'),
  topics: z
    .array(z.string())
    .nullable()
    .describe(
      'The Kafka topics that hold it; on the embedded log, those that would. `null` where an older version of the bridge wrote it to Kafka or stored it from there.',
    ),
  foundBy: z
    .enum(waysFound)
    .nullable()
    .describe(
      'How its item was found: by a `poll`, by the `fill` of an overflow or gap, by a `sweep` (a re-scan), or by the `backfill` of the first start. `null` for a gap event, and where an older version of the bridge wrote or stored it.',
    ),
  committedTime: isoTime(
    'When the log stored it, on Kafka by the clock of the broker; `null` where an older version of the bridge stored it on this node.',
  ).nullable(),
})

/** The route. Every node with the role answers from its copy of the log. */
export function eventRoute({ archive, reader, sendBuffers, topicsOf }: EventParts): Route {
  const sequenceOf = (name: string): number => sequenceOfName(archive, reader, name)
  return {
    method: 'GET',
    path: '/v1/disclosures/{id}',
    scope: 'events:read',
    summary:
      'One event by `id` or sequence, with `revisions`, `replacedBy`, `topics`, `foundBy` and `committedTime`. See [pull.md](pull.md#one-event).',
    parameters: {},
    answers: { 200: { meaning: 'The event.', schema: eventSchema.extend(detailsSchema.shape) } },
    problems: ['cursor_too_old', 'unavailable'],
    requireTarget: ({ segment }) => void sequenceOf(segment('id')),
    async handle({ query, response, segment }) {
      query.check()
      const found = eventAt(archive, reader, sequenceOf(segment('id')))
      if (found === undefined) throw noEvent()
      const { event, revisions, replacedBy, provenance } = found
      const { foundBy = null, committedMs = null } = provenance
      const data = dataBytes(event.json).toString()
      const topics = topicsOf({ type: event.type, data }, provenance.topics)
      const details: z.infer<typeof detailsSchema> = {
        revisions: [...revisions],
        replacedBy,
        topics: topics && [...topics],
        foundBy,
        committedTime: isoOrNull(committedMs),
      }
      const body = withDetails(event, details)
      sendBuffers.retainUntilOut(body, response)
      sendJson(response, 200, body)
    },
  }
}

/** The event as it is stored, with the details as further members after `data`. */
function withDetails({ json }: StoredEvent, details: object): Buffer {
  return Buffer.concat([json.subarray(0, -1), Buffer.from(`,${JSON.stringify(details).slice(1)}`)])
}
