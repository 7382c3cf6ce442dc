/**
 * Serves `GET /v1/webhooks/{id}/attempts` and `/deliveries` from this node's stored history of delivery attempts. On
 * Kafka, that history may be some moments behind.
 */
import type { Reader } from '../../archive/reading/reader.ts'
import { attemptOutcomes } from '../../core/attempt-end.ts'
import { didYouMean } from '../../core/near.ts'
import { FEWER_COME, fittingEntries, pageOf, pageParameters, readPageParameters } from '../../http/page.ts'
import type { Query } from '../../http/parameters.ts'
import { type Call, type Route, sendJson } from '../../http/route.ts'
import type { Endpoints } from '../../registry/endpoints.ts'
import { endpointOf, ONE_ENDPOINT_PATH } from '../endpoints/endpoint-of.ts'
import type { AttemptHistory } from './attempt-history.ts'
import { deliveryStates } from './attempt-store.ts'
import {
  attemptPlace,
  attemptPlaceText,
  attemptSchema,
  attemptView,
  deliverySchema,
  deliveryView,
} from './attempt-view.ts'

/** What the routes need. */
export interface AttemptRoutesOptions {
  endpoints: Endpoints
  history: Pick<AttemptHistory, 'attempts' | 'attemptsOfEvent' | 'deliveries'>
  /** Its epoch is the one whose deliveries are shown. */
  reader: Pick<Reader, 'epoch'>
}

/** The routes. */
export function attemptRoutes(options: AttemptRoutesOptions): Route[] {
  return [
    {
      method: 'GET',
      path: `${ONE_ENDPOINT_PATH}/attempts`,
      scope: 'webhooks:read',
      requireTarget: (target) => void endpointOf(target, options.endpoints),
      summary:
        'Attempts to deliver to an endpoint, the newest first: `{data: [{id, eventId, webhookId, attempt, at, status, outcome, durationMs, phase, response}], next}`. A week of them is kept. See [webhooks-replay.md](webhooks-replay.md#attempts-and-deliveries).',
      parameters: {
        ...pageParameters('attempts', FEWER_COME),
        eventId: 'Only attempts to deliver the event of this `id`.',
        outcome: `Only these, comma-separated: ${attemptOutcomes.map((word) => `\`${word}\``).join(', ')}.`,
      },
      answers: { 200: { meaning: 'A page of attempts.', schema: pageOf(attemptSchema) } },
      problems: ['unavailable'],
      handle: (call) => listAttempts(call, options),
    },
    {
      method: 'GET',
      path: `${ONE_ENDPOINT_PATH}/deliveries`,
      scope: 'webhooks:read',
      requireTarget: (target) => void endpointOf(target, options.endpoints),
      summary:
        'How the deliveries to an endpoint stand, the newest event first: `{data: [{eventId, sequence, state, attempts, nextAttempt, lastStatus}], next}`. Those of which an attempt was made within a week. See [webhooks-replay.md](webhooks-replay.md#attempts-and-deliveries).',
      parameters: {
        ...pageParameters('deliveries', FEWER_COME),
        state: `Only these, comma-separated: ${deliveryStates.map((word) => `\`${word}\``).join(', ')}.`,
      },
      answers: { 200: { meaning: 'A page of deliveries.', schema: pageOf(deliverySchema) } },
      problems: ['unavailable'],
      handle: async (call) => listDeliveries(call, options),
    },
  ]
}

async function listAttempts(call: Call, { endpoints, history }: AttemptRoutesOptions): Promise<void> {
  const { id } = endpointOf(call, endpoints)
  const { query, gone, caller } = call
  const { after: before, limit } = readPageParameters(query, attemptPlace)
  const outcomes = readWords(query, 'outcome', attemptOutcomes)
  const eventId = query.text('eventId')
  query.check()
  const wanted = { outcomes, before, limit: limit + 1 }
  const found =
    eventId === null
      ? history.attempts(id, wanted)
      : await history.attemptsOfEvent(id, { ...wanted, eventId }, { gone, caller: caller.tokenId })
  if (gone.aborted) return
  sendPage(call, found, limit, (one) => attemptView(id, one), attemptPlaceText)
}

function listDeliveries(call: Call, { endpoints, history, reader }: AttemptRoutesOptions): void {
  const { id } = endpointOf(call, endpoints)
  const { query } = call
  const { after: before, limit } = readPageParameters(query, (text) =>
    /^\d{1,15}$/.test(text) ? Number(text) : null,
  )
  const states = readWords(query, 'state', deliveryStates)
  query.check()
  const { epoch } = reader
  const found = epoch === null ? [] : history.deliveries(id, { epoch, states, before, limit: limit + 1 })
  sendPage(call, found, limit, deliveryView, ({ sequence }) => sequence.toString())
}

/** Answers with the first `limit` entries, as far as they fit, and the place of the next page where there are more. */
function sendPage<T>(
  { response }: Call,
  found: readonly T[],
  limit: number,
  view: (one: T) => object,
  placeOf: (one: T) => string,
): void {
  const data = fittingEntries(found.slice(0, limit).map(view))
  const last = found[data.length - 1]
  const next = found.length > data.length && last !== undefined ? placeOf(last) : null
  sendJson(response, 200, Buffer.from(`{"data":[${data.join(',')}],"next":${JSON.stringify(next)}}`))
}

/** The words of a comma-separated parameter, each once; all of them where it is absent. */
function readWords<W extends string>(query: Query, name: string, words: readonly W[]): readonly W[] {
  const text = query.text(name)
  if (text === null) return words
  const given = new Set(text.split(','))
  for (const one of given) {
    if (words.some((word) => word === one)) continue
    query.refuse(name, `must be of ${words.join(', ')}${didYouMean(one, words)}`)
  }
  return words.filter((word) => given.has(word))
}
