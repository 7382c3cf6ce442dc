/**
 * Answers of `/v1/webhooks/{id}/attempts` and `/deliveries` as JSON Schema. Owns the description of each member. Refuses the
 * values: `attempt-view.ts` makes them.
 */
import { list, object, oneWord, orNull, text, time, whole } from '../../http/schemas/json-schema.ts'
import { attemptOutcomes } from '../../obs/metrics.ts'
import { attemptPhases } from '../send/attempt-timer.ts'
import { deliveryStates } from './attempt-store.ts'

const next = orNull(text('The next `after`; null at the end.'))
const eventId = text("The event's `id`.")

/** A page of attempts. */
export const attemptPageSchema = object({
  data: list(
    object({
      id: text('Names the attempt.', { pattern: '^att_' }),
      eventId,
      webhookId: text('The `webhook-id` that was sent; the same on every attempt.', { pattern: '^msg_' }),
      attempt: whole('Which of the delivery it was, from 1; a replay begins anew.'),
      at: time('When it began.'),
      status: orNull(whole('Of the answer; null where there was none.')),
      outcome: oneWord(attemptOutcomes, 'How it ended.'),
      durationMs: whole('How long it took, ms.'),
      phase: oneWord(
        attemptPhases,
        'Where it was when it ended: asking for the name, connecting, waiting for the answer, reading it.',
      ),
      response: orNull(
        text("The first 1 KB of a failure's body; null of a success, and where there was none."),
      ),
    }),
  ),
  next,
})

/** A page of deliveries. */
export const deliveryPageSchema = object({
  data: list(
    object({
      eventId,
      sequence: whole("The event's place in the log."),
      state: oneWord(deliveryStates, 'It waits for its next try, it was taken, or it was given up.'),
      attempts: whole('Attempts made; a replay counts anew.'),
      nextAttempt: orNull(
        time(
          'When the next one is due; null where none is: it is over, or the endpoint answered 410 and waits to be enabled.',
        ),
      ),
      lastStatus: orNull(whole('Of the last answer; null where the last attempt had none.')),
    }),
  ),
  next,
})
