/**
 * Decides from the end of a delivery attempt whether the delivery is done, retried or given up, or the endpoint disabled.
 * Retries follow delays that rise from 5 seconds to a day, spread by jitter.
 */
import { type AttemptEnd, outcomeOf } from '../../core/attempt-end.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../core/durations.ts'
import { retryAfterMs } from '../../core/retry-after.ts'
import type { RetryRow } from './delivery-rows.ts'

/** Delay after the first failed try, after the second, and so on. */
const DELAYS_MS = [
  5 * SECOND_MS,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  HOUR_MS,
  4 * HOUR_MS,
  10 * HOUR_MS,
  24 * HOUR_MS,
] as const

/** A delay is at most this share longer or shorter, at random. */
const JITTER = 0.1

/** Tries of a delivery in all, with the first. */
export const MOST_TRIES = DELAYS_MS.length + 1

/**
 * What happens to the delivery. `asked`: how many of its tries were followed by a Retry-After of the receiver. `disable`: the
 * endpoint answered 410. `dead`: no try is left.
 */
export type DeliveryDecision =
  | { next: 'delivered' }
  | { next: 'disable' }
  | { next: 'retry'; delayMs: number; asked: number }
  | { next: 'dead' }

/** A receiver's Retry-After is followed up to this time. */
export const LONGEST_RETRY_AFTER_MS = DAY_MS

/**
 * Most tries of a delivery that follow a Retry-After instead of the retry schedule and do not count in it, so a receiver that
 * limits its rate neither waits for hours nor is given up after minutes. Further ones follow the schedule.
 */
export const MAX_RETRY_AFTER_TRIES = 100

/**
 * Milliseconds from the end of a failed try to the next; null after the last. `tries` counts those made, from 1;
 * `chance` is a number in [0, 1).
 */
export function retryDelayMs(tries: number, chance: number): number | null {
  const plainMs = DELAYS_MS[tries - 1]
  return plainMs === undefined ? null : Math.round(plainMs * (1 + JITTER * (2 * chance - 1)))
}

/**
 * Decides what happens after an attempt. `tries` counts those made, this one included, `asked` those of them that were
 * followed by a Retry-After; `chance` is a number in [0, 1). A Retry-After of 429 and 503 is followed exactly, up to 24 h; an
 * invalid one is ignored.
 */
export function verdictOn(
  end: AttemptEnd,
  { tries, asked, nowMs, chance }: { tries: number; asked: number; nowMs: number; chance: number },
): DeliveryDecision {
  const outcome = outcomeOf(end)
  if (outcome === 'ok') return { next: 'delivered' }
  if (outcome === 'gone') return { next: 'disable' }
  const askedMs = pauseAskedMs(end, nowMs)
  if (askedMs > 0 && asked < MAX_RETRY_AFTER_TRIES)
    return { next: 'retry', delayMs: askedMs, asked: asked + 1 }
  const delayMs = retryDelayMs(tries - asked, chance)
  return delayMs === null ? { next: 'dead' } : { next: 'retry', delayMs: Math.max(delayMs, askedMs), asked }
}

/** Tries of a batch as a whole. Later ones are made event by event, so one event that is refused holds up no others for long. */
const MOST_TRIES_TOGETHER = 4
const CONTENT_TOO_LARGE = 413

/** Whether a batch that failed is tried again as a whole, by what the rows of its deliveries say of its tries. */
export function isTriedTogether({
  tries,
  asked = 0,
  lastStatus,
}: Pick<RetryRow, 'tries' | 'asked' | 'lastStatus'>): boolean {
  return tries - asked < MOST_TRIES_TOGETHER && lastStatus !== CONTENT_TOO_LARGE
}

/**
 * The fields of the retry row after such a verdict: when the delivery is due and when that was decided, and how many tries
 * were followed by a Retry-After, `asked` of them before. A delivery whose endpoint is gone is due as soon as that is active
 * again.
 */
export function waitAfter(
  verdict: DeliveryDecision,
  { asked, nowMs }: { asked: number; nowMs: number },
): { asked?: number; dueMs: number; setMs: number } {
  const next = verdict.next === 'retry' ? verdict : { delayMs: 0, asked }
  return { ...(next.asked > 0 && { asked: next.asked }), dueMs: nowMs + next.delayMs, setMs: nowMs }
}

/** How long a 429 or 503 asks the sender to pause, by its Retry-After, ms; 0 where none does. */
export function pauseAskedMs(end: AttemptEnd, nowMs: number): number {
  if (end.kind === 'failed' || (end.status !== 429 && end.status !== 503)) return 0
  return Math.min(LONGEST_RETRY_AFTER_MS, retryAfterMs(end.retryAfter, nowMs) ?? 0)
}

/** Whether the receiver answered, if only to refuse: 5xx and broken answers may come from something before it. */
export function isAnswer(end: AttemptEnd): boolean {
  return end.kind === 'answered' && end.status < 500
}
