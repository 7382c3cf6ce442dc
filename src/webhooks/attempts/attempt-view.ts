/**
 * Attempts and deliveries as their owner sees them, and the places in their lists. Owns the shapes of contract §6 and the text
 * of `next`. Refuses to find them.
 */
import { createHash } from 'node:crypto'
import { isoMillis } from '../../core/dates.ts'
import { webhookId } from '../../core/signature.ts'
import { timedId } from '../../registry/ids.ts'
import type { AttemptPlace, KeptAttempt, KeptDelivery } from './attempt-store.ts'

/** `<ms since 1970>-<sequence>-<attempt>`, each in base 36. */
const PLACE = /^([0-9a-z]{1,10})-([0-9a-z]{1,11})-([0-9a-z]{1,11})$/
const DIGITS_OF_ID = 12

/** An attempt of that endpoint as JSON. Its id is the same on every node, however often it was journalled. */
export function attemptView(endpointId: string, kept: KeptAttempt) {
  const { eventId, epoch, sequence, attempt, atMs, status, outcome, durationMs, phase, response } = kept
  const place = [endpointId, epoch, sequence, attempt, atMs].join('\n')
  const digits = createHash('sha256').update(place).digest('hex').slice(0, DIGITS_OF_ID)
  return {
    id: timedId('att', atMs, digits),
    eventId,
    webhookId: webhookId(endpointId, eventId),
    attempt,
    at: isoMillis(atMs),
    status,
    outcome,
    durationMs,
    phase,
    response,
  }
}

/** A delivery as JSON. */
export function deliveryView({ eventId, sequence, state, attempts, nextMs, lastStatus }: KeptDelivery) {
  const nextAttempt = nextMs === null ? null : isoMillis(nextMs)
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
