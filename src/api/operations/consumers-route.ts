/**
 * Serves `GET /v1/consumers`: the Kafka consumer groups that read the topics of events, each with its lag in events and in
 * seconds. The embedded log has none.
 */
import { z } from 'zod'
import { SECOND_MS } from '../../core/durations.ts'
import type { Caller } from '../../http/auth.ts'
import { pageOf, pageParameters, readPageParameters } from '../../http/page.ts'
import { type Route, sendJson } from '../../http/route.ts'
import { createKeyedMutex } from '../../lifecycle/keyed-mutex.ts'
import type { ConsumerGroup, ConsumerGroups, ConsumerPage } from '../../log/consumers.ts'
import type { Log } from '../../log/log.ts'

const lagEvents = z
  .int()
  .nullable()
  .describe(
    'Events after its position; `null` where they could not be read, or the topic no longer has that position. Of a group the sum over its topics.',
  )
const lagSeconds = z
  .number()
  .nullable()
  .describe(
    'How long ago the bridge first held the next of them, seconds; 0 where there is none, `null` as `lagEvents`. Of a group the longest of its topics.',
  )

const consumerSchema = z.object({
  group: z.string().describe('The id of the consumer group.'),
  state: z
    .enum(['stable', 'rebalancing', 'empty'])
    .nullable()
    .describe(
      '`empty`: no consumer is in it now. `null` where Kafka does not say so, as for groups of the newer protocol.',
    ),
  members: z.int().nullable().describe('Consumers that are in it now; `null` as `state`.'),
  lagEvents,
  lagSeconds,
  topics: z
    .array(z.object({ topic: z.string().describe('Its full name.'), lagEvents, lagSeconds }))
    .describe('The topics of events in which it has committed a position.'),
})

const consumersPage = pageOf(consumerSchema).extend({
  reason: z
    .string()
    .nullable()
    .describe('Why groups, or lags and states, are or may be missing; `null` where everything is there.'),
})

/** The answer. */
export type ConsumersPage = z.infer<typeof consumersPage>

const EMBEDDED = 'The log is embedded: there are no topics, and so no consumer groups.'
const OPERATOR =
  'Consumer groups belong to no tenant: only BRIDGE_ADMIN_TOKEN sees them. Use that token to list them.'

/** The route. Kafka is asked for one page at a time. */
export function consumersRoute({ consumers }: Pick<Log, 'consumers'>): Route {
  const inTurn = createKeyedMutex()
  const read = (page: ConsumerPage, caller: Caller, gone: AbortSignal): Promise<ConsumerGroups> => {
    if (consumers === undefined) return none(EMBEDDED)
    if (!caller.seesAllTenants) return none(OPERATOR)
    return inTurn('page', () => consumers(page, gone))
  }
  return {
    method: 'GET',
    path: '/v1/consumers',
    scope: 'admin',
    summary:
      'The Kafka consumer groups with a position in a topic of events, in the order of their names: state, members, lag in events and seconds. Empty on the embedded log, and for other tokens than `BRIDGE_ADMIN_TOKEN`; `reason` says why. See [nodes.md](../run/nodes.md#consumer-groups).',
    parameters: pageParameters('groups', '; a page may have fewer, or none, and still a `next`.'),
    answers: { 200: { meaning: 'A page of consumer groups.', schema: consumersPage } },
    problems: ['unavailable'],
    async handle({ query, caller, response, gone }) {
      const page = readPageParameters(query, (text) => text)
      query.check()
      try {
        const { groups, next, incomplete: reason } = await read(page, caller, gone)
        const body: ConsumersPage = { reason, data: groups.map(shown), next }
        sendJson(response, 200, Buffer.from(JSON.stringify(body)))
      } catch (error) {
        if (!gone.aborted) throw error
      }
    },
  }
}

async function none(incomplete: string): Promise<ConsumerGroups> {
  return { groups: [], next: null, incomplete }
}

function shown({ group, state, members, topics }: ConsumerGroup): ConsumersPage['data'][number] {
  const lags = topics.map(({ topic, events, ms }) => ({
    topic,
    lagEvents: events,
    lagSeconds: ms === null ? null : ms / SECOND_MS,
  }))
  return {
    ...{ group, state, members },
    lagEvents: lags.reduce<number | null>((sum, one) => plus(sum, one.lagEvents), 0),
    lagSeconds: lags.reduce<number | null>((most, one) => greater(most, one.lagSeconds), 0),
    topics: lags,
  }
}

function plus(one: number | null, other: number | null): number | null {
  return one === null || other === null ? null : one + other
}

function greater(one: number | null, other: number | null): number | null {
  return one === null || other === null ? null : Math.max(one, other)
}
