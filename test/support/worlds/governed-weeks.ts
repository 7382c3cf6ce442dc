/**
 * Simulates weeks of quota spending with crashes at any moment and reports every violated limit. The real ledger, token
 * bucket and arithmetic run against limits that count as upstream does. Demand is random, mostly above the plan.
 */
import { type SeededChance, seededChance } from '../../../src/core/chance.ts'
import { HOUR_MS, WEEK_MS } from '../../../src/core/durations.ts'
import { type PlanLimits, planNames, plans } from '../../../src/core/plans.ts'
import type { Purpose } from '../../../src/core/purpose.ts'
import { type QuotaReset, quotaAt } from '../../../src/governor/quota/ledger.ts'
import {
  bucketOf,
  type Ledger,
  ledgerAfterRefunds,
  ledgerAfterSpend,
  type Refund,
} from '../../../src/governor/quota/time-buckets.ts'
import { createTokenBucket, type TokenBucket } from '../../../src/governor/quota/token-bucket.ts'
import { KeyLimits } from './key-limits.ts'

const START_MS = Date.parse('2026-01-05T00:00:00Z')
const CALM = { kills: 0, unsent: 0 } as const

/** Counts and results of a simulation. */
export interface GovernedWeeks {
  weeks: number
  requests: number
  kills: number
  /** Requests that were never sent, whose units were refunded. */
  unsent: number
  /** Units on our count that upstream has not counted, over the whole time. */
  unitsOver: number
  /** Requests that upstream rejected despite a valid key: the plan was exceeded. */
  throttled: number
  quotaRefused: number
  /** How often our count of the week was below upstream's, and by how much at most. */
  below: number
  belowMost: number
  /** Of the quota, the most that was used within a week, as a share. */
  usedMost: number
}

/** Plays this many weeks in a row on one plan. Without `faults` no process crashes and every request is sent. */
export function playWeeks(seed: number, weeks: number, faults: boolean): GovernedWeeks {
  return new Weeks(seed, faults).run(START_MS + weeks * WEEK_MS, weeks)
}

class Weeks {
  readonly #chance: SeededChance
  readonly #plan: PlanLimits
  readonly #reset: QuotaReset
  readonly #upstream: KeyLimits
  readonly #faults: { kills: number; unsent: number }
  /** Mean time between jobs; shorter than the quota allows in most simulations. */
  readonly #everyMs: number
  #nowMs = START_MS
  /** Our clock minus the true time, ms. */
  #clockOffMs = 0
  #durable: Ledger = new Map()
  #bucket: TokenBucket
  #refunds: Refund[] = []
  /** Units of time buckets that the ledger has dropped. */
  #forgotten = 0
  readonly #tally = {
    ...{ requests: 0, kills: 0, unsent: 0, unitsOver: 0, throttled: 0, quotaRefused: 0 },
    ...{ below: 0, belowMost: 0, usedMost: 0 },
  }

  constructor(seed: number, faults: boolean) {
    const chance = seededChance(seed)
    this.#chance = chance
    const sold = plans[chance.pick(planNames)]
    const weeklyQuota = chance.yes(0.05) ? sold.weeklyQuota : chance.between(20, 1000)
    this.#plan = { ...sold, weeklyQuota }
    this.#reset = chance.yes(0.5)
      ? 'rolling'
      : { minutesAfterMonday: chance.between(0, 7 * 24 - 1) * 60 + chance.pick([0, 0, 1, 30, 59]) }
    this.#upstream = new KeyLimits(this.#plan, this.#reset, START_MS)
    this.#faults = faults ? { kills: chance.pick([0, 0.002, 0.05]), unsent: chance.pick([0, 0.1]) } : CALM
    this.#everyMs = (WEEK_MS / weeklyQuota) * chance.pick([0.3, 0.9, 3])
    this.#bucket = createTokenBucket(this.#plan)
    this.#begin()
  }

  run(untilMs: number, weeks: number): GovernedWeeks {
    while (this.#nowMs < untilMs) {
      this.#nowMs += -Math.log(1 - this.#chance.next()) * this.#everyMs
      if (this.#chance.yes(0.1))
        this.#waitForHour(this.#chance.pick([-3000, 100, 2500]) * this.#chance.next())
      // Most jobs are one request; some are page scans as long as a long fill, and a few have the maximum length.
      const pages = this.#chance.yes(0.9) ? 1 : this.#chance.pick([5, 40, 200])
      for (let page = 0; page < pages && this.#request(pages === 1 ? 'poll' : 'fill'); page++);
    }
    this.#refund()
    const kept = [...this.#durable.values()].flatMap((hour) => Object.values(hour))
    const spent = kept.reduce((sum, units) => sum + units, this.#forgotten)
    return { weeks, ...this.#tally, unitsOver: spent - this.#upstream.total }
  }

  get #ourMs(): number {
    return Math.round(this.#nowMs + this.#clockOffMs)
  }

  /** Sends one request if the quota has a unit for it. False if it has none, or the process crashed. */
  #request(purpose: Purpose): boolean {
    const quota = quotaAt(this.#durable, this.#plan.weeklyQuota, this.#reset, this.#ourMs)
    if (quota.remaining === 0) return false
    const spentMs = this.#ourMs
    this.#spend(purpose, spentMs)
    this.#pass(1, 20)
    if (this.#dies()) return false
    const readyMs = this.#bucket.take(this.#ourMs)
    this.#nowMs += readyMs - this.#ourMs
    if (this.#dies()) return false
    if (this.#chance.yes(this.#faults.unsent)) {
      this.#refunds.push({ atMs: spentMs, units: 1, purpose })
      this.#tally.unsent += 1
      this.#pass(1, 50)
      if (this.#dies()) return false
      this.#refund()
      return true
    }
    // A process that crashes here has a request in flight that still arrives.
    const isSlow = this.#chance.yes(0.01)
    this.#pass(isSlow ? 500 : 2, isSlow ? 9_000 : 60)
    this.#arrive()
    this.#pass(2, 60)
    return !this.#dies()
  }

  #arrive(): void {
    const { weeklyQuota } = this.#plan
    const taken = this.#upstream.take(this.#nowMs)
    this.#tally.requests += 1
    if (taken === 'throttle') this.#tally.throttled += 1
    if (taken === 'quota') this.#tally.quotaRefused += 1
    const used = this.#upstream.used(this.#nowMs)
    this.#tally.usedMost = Math.max(this.#tally.usedMost, used / weeklyQuota)
    if (this.#chance.yes(0.3)) this.#compare()
  }

  /** Our count of this moment's week is never below upstream's. */
  #compare(): void {
    const { weeklyQuota } = this.#plan
    const ours = quotaAt(this.#durable, weeklyQuota, this.#reset, this.#ourMs).used
    const short = this.#upstream.used(this.#nowMs) - ours
    if (short <= 0) return
    this.#tally.below += 1
    this.#tally.belowMost = Math.max(this.#tally.belowMost, short)
  }

  /** Waits until after the next full hour of our clock: counts differ most when a time bucket starts or leaves the week. */
  #waitForHour(afterMs: number): void {
    const hourMs = Math.ceil((this.#ourMs + 3000) / HOUR_MS) * HOUR_MS
    this.#nowMs = hourMs + afterMs - this.#clockOffMs
    this.#compare()
  }

  #spend(purpose: Purpose, atMs: number): void {
    const before = this.#durable
    this.#durable = ledgerAfterSpend(this.#durable, 1, purpose, atMs)
    // Old time buckets are dropped when a new one starts.
    if (before.has(bucketOf(atMs))) return
    for (const [bucketMs, units] of before) {
      if (this.#durable.has(bucketMs)) continue
      for (const spent of Object.values(units)) this.#forgotten += spent
    }
  }

  #refund(): void {
    if (this.#refunds.length === 0) return
    this.#durable = ledgerAfterRefunds(this.#durable, this.#refunds)
    this.#refunds = []
  }

  #pass(lowMs: number, highMs: number): void {
    this.#nowMs += this.#chance.between(lowMs, highMs)
  }

  /** True when the process ended here; another becomes leader soon after, on a machine with another clock. */
  #dies(): boolean {
    if (!this.#chance.yes(this.#faults.kills)) return false
    this.#tally.kills += 1
    this.#pass(0, 9_000)
    this.#begin()
    return true
  }

  #begin(): void {
    this.#clockOffMs = this.#chance.between(-1000, 1000)
    this.#refunds = []
    this.#bucket = createTokenBucket(this.#plan)
    this.#bucket.drain(this.#ourMs)
  }
}
