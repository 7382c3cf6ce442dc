/**
 * Decides what an attempt's end means: its label in metrics and history, and whether the delivery is done, retried or dead.
 */
import { retryAfterMs } from '../../core/retry-after.ts'
import type { AttemptOutcome } from '../../obs/metrics.ts'
import { retryDelayMs } from './retry-schedule.ts'

/** Why an attempt got no status. `broken`: the receiver's answer is not valid HTTP, or the connection broke within it. */
export type AttemptFault = 'timeout' | 'dns' | 'connect' | 'tls' | 'blocked' | 'broken'

/** How an attempt ended. Once there is a status, errors in the rest of the answer are ignored. */
export type AttemptEnd =
  | { kind: 'answered'; status: number; retryAfter: string | null }
  | { kind: 'failed'; fault: AttemptFault }

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
export const LONGEST_RETRY_AFTER_MS = 24 * 3_600_000

/**
 * Most tries of a delivery that follow a Retry-After instead of the retry schedule and do not count in it, so a receiver that
 * limits its rate neither waits for hours nor is given up after minutes. Further ones follow the schedule.
 */
export const MAX_RETRY_AFTER_TRIES = 100

/** The label of an attempt's end. A redirect is a `client_error`: it is never followed, the endpoint's URL must be corrected. */
export function outcomeOf(end: AttemptEnd): AttemptOutcome {
  if (end.kind === 'failed') return end.fault === 'broken' ? 'server_error' : end.fault
  const { status } = end
  if (status >= 200 && status < 300) return 'ok'
  if (status === 410) return 'gone'
  if (status === 429) return 'throttled'
  return status >= 300 && status < 500 ? 'client_error' : 'server_error'
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
  const askedMs = askedDelayMs(end, nowMs)
  if (askedMs > 0 && asked < MAX_RETRY_AFTER_TRIES)
    return { next: 'retry', delayMs: askedMs, asked: asked + 1 }
  const delayMs = retryDelayMs(tries - asked, chance)
  return delayMs === null ? { next: 'dead' } : { next: 'retry', delayMs: Math.max(delayMs, askedMs), asked }
}

/**
 * The fields of the retry row after such a verdict: when the delivery is due, and how many tries were followed by a
 * Retry-After, `asked` of them before. A delivery whose endpoint is gone is due as soon as that is active again.
 */
export function waitAfter(
  verdict: DeliveryDecision,
  { asked, nowMs }: { asked: number; nowMs: number },
): { asked?: number; dueMs: number } {
  const next = verdict.next === 'retry' ? verdict : { delayMs: 0, asked }
  return { ...(next.asked > 0 && { asked: next.asked }), dueMs: nowMs + next.delayMs }
}

/** The Retry-After of the answer, ms; 0 where there is none. */
function askedDelayMs(end: AttemptEnd, nowMs: number): number {
  if (end.kind === 'failed' || (end.status !== 429 && end.status !== 503)) return 0
  return Math.min(LONGEST_RETRY_AFTER_MS, retryAfterMs(end.retryAfter, nowMs) ?? 0)
}
