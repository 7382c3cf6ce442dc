/**
 * Serves `GET /v1/disclosures/{id}/journey`: the way of one event from upstream to every reader as a timeline, and the verdict
 * whether it was late, and why.
 */
import { z } from 'zod'
import { readJourney } from '../../archive/journeys.ts'
import { noEvent, sequenceOfName } from '../../archive/named-event.ts'
import { eventAt, type OneEvent } from '../../archive/reading/one-event.ts'
import type { Reader } from '../../archive/reading/reader.ts'
import type { Archive } from '../../archive/store/archive.ts'
import { isoOrNull, parseTimestamp } from '../../core/dates.ts'
import { AMENDED, isGap } from '../../core/event.ts'
import { waysFound } from '../../core/purpose.ts'
import type { Caller } from '../../http/auth.ts'
import { HttpProblem } from '../../http/problem.ts'
import { type Call, type Route, sendJson } from '../../http/route.ts'
import { isoTime } from '../../http/schemas/json-schema.ts'
import type { Clock } from '../../lifecycle/clock.ts'
import { nodeNameFor } from '../../registry/node-name.ts'
import type { Nodes } from '../../registry/nodes.ts'
import type { ReadKeptPolls } from '../operations/kept-polls.ts'
import type { FindEndpoints, FindStreams, JourneyFacts, RequestsAround } from './journey-facts.ts'
import { requestsAround } from './requests-around.ts'
import { spanCauses, spansOf } from './segments.ts'
import { journeySteps, timelineOf } from './timeline.ts'
import { journeyVerdict, NOT_KEPT, ON_TIME_MS } from './verdict.ts'

/** What the route works with. */
export interface JourneyParts {
  archive: Archive
  reader: Reader
  readPolls: ReadKeptPolls
  nodes: Pick<Nodes, 'reachedBy'>
  /** Absent where this node serves no webhooks. */
  findEndpoints?: FindEndpoints | undefined
  /** Absent where this node has no streams. */
  findStreams?: FindStreams | undefined
  logKind: 'kafka' | 'embedded'
  /** Upstream's clock minus ours at present, ms. */
  aheadMs: () => number
  /** `BRIDGE_SECRET_KEY`, which makes names of nodes for tenants. */
  key: string
  clock: Clock
}

const verdictSchema = z.object({
  late: z
    .boolean()
    .describe(
      `Whether it took more than ${ON_TIME_MS / 1000} s to readers of this node, or from the commit to an endpoint of yours that is active.`,
    ),
  cause: z
    .enum(spanCauses)
    .nullable()
    .describe(
      'Why its longest span to readers of this node took so long, or, where they had it in time, that to the endpoint that waited longest. Of the wait for the request that found it: `planned`, `throttled`, `quota`, `refused`, `upstream_failing`, `upstream_late`, `no_leader`, `paused`, `log_unavailable`, `page_scan`, `overflow`, `gap`, `behind_cursor`, `unknown`; then the `answer` of upstream, the `commit`, the `replication` to this node, an `endpoint`. `null` where it is not late.',
    ),
  spanMs: z.number().nullable().describe('How long that span was, ms.'),
  totalMs: z.number().describe('From its time upstream to the reader at the end of that span, ms.'),
  text: z.string().describe('The same as a sentence.'),
})

const entrySchema = z.object({
  step: z.enum(journeySteps).describe('The station.'),
  at: isoTime('When, `null` where that is not kept. `published` is by upstream’s clock.').nullable(),
  afterMs: z
    .number()
    .nullable()
    .describe(
      'After the station before it: a missed poll and the request after `published`, `received` after `requested`, `committed` after `received`, all readers after `committed`. Negative where two clocks differ.',
    ),
  text: z.string().describe('What happened, as a sentence.'),
  endpointId: z.string().optional().describe('Of a webhook: its endpoint.'),
})

const answerSchema = z.object({
  id: z.string().describe('The `id` of the event.'),
  sequence: z.int().describe('Its place in the log.'),
  foundBy: z.enum(waysFound).nullable().describe('As in the event itself.'),
  verdict: verdictSchema,
  timeline: z.array(entrySchema).describe('The stations, in order.'),
  traceId: z
    .string()
    .optional()
    .describe('The trace of the request that brought it, where the bridge records traces; else absent.'),
  notes: z.array(z.string()).describe('What is missing from the timeline, and why.'),
})

/** The answer. */
export type JourneyAnswer = z.infer<typeof answerSchema>

/** The route. Every node with the role answers; on Kafka the other nodes tell what they saw every 15 s. */
export function journeyRoute(parts: JourneyParts): Route {
  const sequenceOf = (name: string): number => sequenceOfName(parts.archive, parts.reader, name)
  return {
    method: 'GET',
    path: '/v1/disclosures/{id}/journey',
    scope: 'events:read',
    requireTarget: ({ segment }) => void sequenceOf(segment('id')),
    summary:
      'Why an event was late: its way as `{id, sequence, foundBy, verdict: {late, cause, spanMs, totalMs, text}, timeline: [{step, at, afterMs, text}], traceId, notes}`. Webhooks are in it for the scope `webhooks:read`, those of the tenant. See [late.md](../run/late.md).',
    parameters: {},
    answers: { 200: { meaning: 'The journey.', schema: answerSchema } },
    problems: ['cursor_too_old', 'unavailable'],
    handle: (call) => answer(call, sequenceOf(call.segment('id')), parts),
  }
}

async function answer(call: Call, sequence: number, parts: JourneyParts): Promise<void> {
  const { query, response, gone } = call
  query.check()
  const found = eventAt(parts.archive, parts.reader, sequence)
  if (found === undefined) throw noEvent()
  const { facts, notes } = await factsOf(call, found, parts)
  if (gone.aborted) return
  const { spans, wait } = spansOf(facts, parts.clock.now())
  const body: JourneyAnswer = {
    id: textOf(found).id,
    sequence,
    foundBy: facts.foundBy,
    verdict: journeyVerdict(facts, spans),
    timeline: timelineOf(facts, wait).map(({ atMs, ...entry }) => ({ ...entry, at: isoOrNull(atMs) })),
    ...(facts.kept?.trace && { traceId: facts.kept.trace.traceId }),
    notes,
  }
  sendJson(response, 200, Buffer.from(JSON.stringify(body)))
}

const textSchema = z.object({ id: z.string(), time: z.string(), recordedtime: z.string() })

function textOf({ event }: OneEvent): z.infer<typeof textSchema> {
  return textSchema.parse(JSON.parse(event.json.toString()))
}

async function factsOf(
  { caller, gone }: Call,
  found: OneEvent,
  parts: JourneyParts,
): Promise<{ facts: JourneyFacts; notes: string[] }> {
  const { event, provenance } = found
  const { sequence, type, timeMs } = event
  const recordedMs = parseTimestamp(textOf(found).recordedtime) ?? event.recordedMs
  const epoch = parts.reader.epoch ?? ''
  const kept = provenance.journey === undefined ? null : readJourney(provenance.journey)
  const { around, aheadMs } = await requestsOf(parts, kept?.aheadMs ?? null, { timeMs, recordedMs })
  const maySeeWebhooks = caller.scopes.includes('webhooks:read')
  const webhooks = maySeeWebhooks ? await parts.findEndpoints?.(caller, sequence, gone) : undefined
  const notes = [
    ...(provenance.journey === undefined && !isGap(type)
      ? [`Which request brought it is not kept: ${NOT_KEPT}.`]
      : []),
    ...(maySeeWebhooks ? [] : ['Webhooks are shown to tokens with the scope webhooks:read.']),
    ...(maySeeWebhooks && webhooks === undefined ? ['This node does not serve webhooks.'] : []),
  ]
  const facts: JourneyFacts = {
    kind: isGap(type) ? 'gap' : type === AMENDED ? 'amendment' : 'announcement',
    timeMs,
    aheadMs,
    foundBy: provenance.foundBy ?? null,
    kept,
    recordedMs,
    committedMs: provenance.committedMs ?? null,
    around,
    logKind: parts.logKind,
    nodes: namedNodes(parts, caller, epoch, sequence),
    webhooks: webhooks ?? null,
    streams: parts.findStreams?.(caller, { epoch, sequence, recordedMs }),
  }
  return { facts, notes }
}

function namedNodes(
  { nodes, key }: JourneyParts,
  caller: Caller,
  epoch: string,
  sequence: number,
): JourneyFacts['nodes'] {
  return nodes.reachedBy(epoch, sequence).map(({ id, isSelf, state, reached }) => ({
    name: nodeNameFor(caller, id, key),
    isSelf,
    state,
    reached,
  }))
}

/**
 * The requests around an event, and upstream's clock minus ours then. The requests are null where this node has not read them
 * yet: the rest of the journey is told all the same.
 */
async function requestsOf(
  parts: JourneyParts,
  keptAheadMs: number | null,
  { timeMs, recordedMs }: { timeMs: number; recordedMs: number },
): Promise<{ around: RequestsAround | null; aheadMs: number }> {
  try {
    const rows = await parts.readPolls()
    const nearest = requestsAround(rows, recordedMs, recordedMs)
    const aheadMs = keptAheadMs ?? nearest.aheadMs ?? parts.aheadMs()
    const fromMs = Math.min(timeMs - aheadMs, recordedMs)
    return { around: requestsAround(rows, fromMs, recordedMs), aheadMs }
  } catch (error) {
    if (error instanceof HttpProblem) return { around: null, aheadMs: keptAheadMs ?? parts.aheadMs() }
    throw error
  }
}
