/**
 * Defines and builds the responses of `/v1/webhooks/{id}/attempts` and `/deliveries`, and encodes the
 * place in the list that `next` names.
 */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { attemptOutcomes } from '../../core/attempt-end.ts'
import { isoMillis, isoOrNull } from '../../core/dates.ts'
import { isoTime } from '../../http/schemas/json-schema.ts'
import { timedId } from '../../registry/ids.ts'
import { attemptPhases } from '../send/attempt-timer.ts'
import type { AttemptPlace, KeptAttempt } from './attempt-list.ts'
import { deliveryStates, type KeptDelivery } from './attempt-store.ts'

const eventId = z.string().describe("The event's `id`.")

/** An attempt. */
export const attemptSchema = z.object({
  id: z.string().meta({ description: 'Names the attempt.', pattern: '^att_' }),
  eventId,
  webhookId: z
    .string()
    .meta({ description: 'The `webhook-id` that was sent; the same on every attempt.', pattern: '^msg_' }),
  attempt: z.int().describe('Which of the delivery it was, from 1; a replay begins anew.'),
  at: isoTime('When it began.'),
  status: z.int().describe('Of the answer; null where there was none.').nullable(),
  outcome: z.enum(attemptOutcomes).describe('How it ended.'),
  durationMs: z.int().describe('How long it took, ms.'),
  phase: z
    .enum(attemptPhases)
    .describe(
      'Where it was when it ended: asking for the name, connecting, waiting for the answer, reading it.',
    ),
  response: z
    .string()
    .describe("The first 1 KB of a failure's body; null of a success, and where there was none.")
    .nullable(),
})

/** A delivery. */
export const deliverySchema = z.object({
  eventId,
  sequence: z.int().describe("The event's place in the log."),
  state: z.enum(deliveryStates).describe('It waits for its next try, it was taken, or it was given up.'),
  attempts: z.int().describe('Attempts made; a replay counts anew.'),
  nextAttempt: isoTime(
    'When the next one is due; null where none is: it is over, or the endpoint answered 410 and waits to be enabled.',
  ).nullable(),
  lastStatus: z.int().describe('Of the last answer; null where the last attempt had none.').nullable(),
})

/** `<ms since 1970>-<sequence>-<attempt>`, each in base 36. */
const PLACE = /^([0-9a-z]{1,10})-([0-9a-z]{1,11})-([0-9a-z]{1,11})$/
const DIGITS_OF_ID = 12
const DIGITS_OF_WEBHOOK_ID = 32

/** An attempt of that endpoint as JSON. Its id is the same on every node, however often it was journalled. */
export function attemptView(endpointId: string, kept: KeptAttempt): z.infer<typeof attemptSchema> {
  const { eventId, webhookId, epoch, sequence, attempt, atMs, status } = kept
  const { outcome, durationMs, phase, response } = kept
  const place = [endpointId, epoch, sequence, attempt, atMs].join('\n')
  const digits = createHash('sha256').update(place).digest('hex').slice(0, DIGITS_OF_ID)
  return {
    id: timedId('att', atMs, digits),
    eventId,
    webhookId: webhookId ?? formerWebhookId(endpointId, eventId),
    attempt,
    at: isoMillis(atMs),
    status,
    outcome,
    durationMs,
    phase,
    response,
  }
}

/** The `webhook-id` that builds sent which did not store it. */
function formerWebhookId(endpointId: string, eventId: string): string {
  const digest = createHash('sha256').update(`${endpointId}\n${eventId}`).digest('hex')
  return `msg_${digest.slice(0, DIGITS_OF_WEBHOOK_ID)}`
}

/** A delivery as JSON. */
export function deliveryView({
  eventId,
  sequence,
  state,
  attempts,
  nextMs,
  lastStatus,
}: KeptDelivery): z.infer<typeof deliverySchema> {
  const nextAttempt = isoOrNull(nextMs)
  return { eventId, sequence, state, attempts, nextAttempt, lastStatus }
}

/** The place of an attempt as text, for `next`. */
export function attemptPlaceText({ atMs, sequence, attempt }: AttemptPlace): string {
  return [atMs, sequence, attempt].map((part) => part.toString(36)).join('-')
}

/** The place of that text; null where it is none. */
export function attemptPlace(text: string): AttemptPlace | null {
  const [, atMs, sequence, attempt] = PLACE.exec(text) ?? []
  if (atMs === undefined || sequence === undefined || attempt === undefined) return null
  const parts = [atMs, sequence, attempt].map((part) => Number.parseInt(part, 36))
  if (!parts.every(Number.isSafeInteger)) return null
  return { atMs: parts[0] ?? 0, sequence: parts[1] ?? 0, attempt: parts[2] ?? 0 }
}
