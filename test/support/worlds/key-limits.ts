/**
 * Counts the units of a simulated key as upstream does: by a token bucket, and by a quota that rolls over seven days or
 * resets at a fixed moment of the week.
 */
import { MINUTE_MS, WEEK_MS } from '../../../src/core/durations.ts'
import type { PlanLimits } from '../../../src/core/plans.ts'
import type { QuotaReset } from '../../../src/governor/quota/ledger.ts'
import { Limits } from '../../../src/sandbox/limits.ts'

/** A Monday; fixed weeks are counted from here. */
const ANCHOR_MS = Date.parse('2026-01-05T00:00:00Z')

/** Those limits. Asked with times that never go back. */
export class KeyLimits {
  readonly #limits: Limits
  readonly #weeklyQuota: number
  readonly #reset: QuotaReset
  #weekStartMs = 0
  #counted = 0
  /** Units counted since the start. */
  total = 0

  constructor(plan: PlanLimits, reset: QuotaReset, startMs: number) {
    const weeklyQuota = reset === 'rolling' ? plan.weeklyQuota : Number.POSITIVE_INFINITY
    this.#limits = new Limits({ ...plan, weeklyQuota }, startMs)
    this.#weeklyQuota = plan.weeklyQuota
    this.#reset = reset
  }

  /** Counts one request: `quota`: refused and not counted; `throttle`: refused and counted. */
  take(nowMs: number): 'ok' | 'throttle' | 'quota' {
    if (this.#reset !== 'rolling' && this.used(nowMs) >= this.#weeklyQuota) return 'quota'
    const taken = this.#limits.take(nowMs)
    if (taken === 'quota') return taken
    this.#counted += 1
    this.total += 1
    return taken
  }

  /** Units that count at that moment. */
  used(nowMs: number): number {
    if (this.#reset === 'rolling') return this.#limits.unitsUsed(nowMs)
    const offsetMs = this.#reset.minutesAfterMonday * MINUTE_MS
    const startMs = ANCHOR_MS + offsetMs + Math.floor((nowMs - ANCHOR_MS - offsetMs) / WEEK_MS) * WEEK_MS
    if (startMs !== this.#weekStartMs) this.#counted = 0
    this.#weekStartMs = startMs
    return this.#counted
  }
}
