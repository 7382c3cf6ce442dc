/**
 * What the end of one attempt amounts to: its label in metrics and journal, and what happens to the delivery next. Owns
 * both decisions, as pure functions. Refuses to wait, to count failing days and to know what an endpoint's other
 * deliveries do.
 */
import { retryAfterMs } from '../core/retry-after.ts'
import type { AttemptOutcome } from '../obs/metrics.ts'
import { retryDelayMs } from './retry-schedule.ts'

/** How an attempt without a status ended. `broken`: the receiver answered, but no HTTP that can be used. */
export type AttemptFault = 'timeout' | 'dns' | 'connect' | 'tls' | 'blocked' | 'broken'

/** How an attempt ended. With a status the rest of the answer counts for nothing, however it ended. */
export type AttemptEnd =
  | { kind: 'answered'; status: number; retryAfter: string | null }
  | { kind: 'failed'; fault: AttemptFault }

/** What happens to the delivery. `disable`: the endpoint said that it is gone. `dead`: no try is left. */
export type Verdict =
  | { next: 'delivered' }
  | { next: 'disable' }
  | { next: 'retry'; delayMs: number }
  | { next: 'dead' }

/** Longest that a receiver's Retry-After is waited for. */
export const LONGEST_RETRY_AFTER_MS = 24 * 3_600_000

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
 * What happens after an attempt. `tries` counts those made, this one included; `chance` is a number in [0, 1). A
 * Retry-After of 429 and 503 is waited for, up to 24 h, where it is longer than the schedule's delay; one that makes no
 * sense counts for nothing.
 */
export function verdictOn(
  end: AttemptEnd,
  { tries, nowMs, chance }: { tries: number; nowMs: number; chance: number },
): Verdict {
  const outcome = outcomeOf(end)
  if (outcome === 'ok') return { next: 'delivered' }
  if (outcome === 'gone') return { next: 'disable' }
  const delayMs = retryDelayMs(tries, chance)
  if (delayMs === null) return { next: 'dead' }
  return { next: 'retry', delayMs: Math.max(delayMs, askedDelayMs(end, nowMs)) }
}

/** What the receiver asked for; 0 where it asked for nothing. */
function askedDelayMs(end: AttemptEnd, nowMs: number): number {
  if (end.kind === 'failed' || (end.status !== 429 && end.status !== 503)) return 0
  return Math.min(LONGEST_RETRY_AFTER_MS, retryAfterMs(end.retryAfter, nowMs) ?? 0)
}
