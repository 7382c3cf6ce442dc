/**
 * What the end of one attempt amounts to: its label in metrics and journal, and what happens to the delivery next. Owns
 * both decisions, as pure functions. Refuses to wait, to count failing days and to know what an endpoint's other
 * deliveries do.
 */
import { retryAfterMs } from '../../core/retry-after.ts'
import type { AttemptOutcome } from '../../obs/metrics.ts'
import { retryDelayMs } from './retry-schedule.ts'

/** How an attempt without a status ended. `broken`: the receiver answered, but no HTTP that can be used. */
export type AttemptFault = 'timeout' | 'dns' | 'connect' | 'tls' | 'blocked' | 'broken'

/** How an attempt ended. With a status the rest of the answer counts for nothing, however it ended. */
export type AttemptEnd =
  | { kind: 'answered'; status: number; retryAfter: string | null }
  | { kind: 'failed'; fault: AttemptFault }

/**
 * What happens to the delivery. `asked`: of the tries made, those after which the receiver said when to come back. `disable`:
 * the endpoint said that it is gone. `dead`: no try is left.
 */
export type Verdict =
  | { next: 'delivered' }
  | { next: 'disable' }
  | { next: 'retry'; delayMs: number; asked: number }
  | { next: 'dead' }

/** Longest that a receiver's Retry-After is waited for. */
export const LONGEST_RETRY_AFTER_MS = 24 * 3_600_000

/**
 * Tries of a delivery that follow a Retry-After and not the schedule, and take none of its tries away: whoever limits its
 * rate is neither kept waiting for hours nor given up after minutes. One that always asks comes to the schedule after these.
 */
export const MOST_ASKED = 100

/** The label of an end. A redirect is a `client_error`: it is never followed, and the address has to be corrected. */
export function outcomeOf(end: AttemptEnd): AttemptOutcome {
  if (end.kind === 'failed') return end.fault === 'broken' ? 'server_error' : end.fault
  const { status } = end
  if (status >= 200 && status < 300) return 'ok'
  if (status === 410) return 'gone'
  if (status === 429) return 'throttled'
  return status >= 300 && status < 500 ? 'client_error' : 'server_error'
}

/**
 * What happens after an attempt. `tries` counts those made, this one included, `asked` those of them that a Retry-After
 * followed; `chance` is a number in [0, 1). A Retry-After of 429 and 503 is waited for exactly, up to 24 h; one that makes no
 * sense counts for nothing.
 */
export function verdictOn(
  end: AttemptEnd,
  { tries, asked, nowMs, chance }: { tries: number; asked: number; nowMs: number; chance: number },
): Verdict {
  const outcome = outcomeOf(end)
  if (outcome === 'ok') return { next: 'delivered' }
  if (outcome === 'gone') return { next: 'disable' }
  const askedMs = askedDelayMs(end, nowMs)
  if (askedMs > 0 && asked < MOST_ASKED) return { next: 'retry', delayMs: askedMs, asked: asked + 1 }
  const delayMs = retryDelayMs(tries - asked, chance)
  return delayMs === null ? { next: 'dead' } : { next: 'retry', delayMs: Math.max(delayMs, askedMs), asked }
}

/**
 * Of the row of a delivery that waits after such a verdict: when it is due, and how many tries a Retry-After has followed,
 * `asked` of them before. One whose endpoint is gone is due as soon as that is active again.
 */
export function waitAfter(
  verdict: Verdict,
  { asked, nowMs }: { asked: number; nowMs: number },
): { asked?: number; dueMs: number } {
  const next = verdict.next === 'retry' ? verdict : { delayMs: 0, asked }
  return { ...(next.asked > 0 && { asked: next.asked }), dueMs: nowMs + next.delayMs }
}

/** What the receiver asked for; 0 where it asked for nothing. */
function askedDelayMs(end: AttemptEnd, nowMs: number): number {
  if (end.kind === 'failed' || (end.status !== 429 && end.status !== 503)) return 0
  return Math.min(LONGEST_RETRY_AFTER_MS, retryAfterMs(end.retryAfter, nowMs) ?? 0)
}
