/**
 * Simulates episodes of 429s with a known cause: the plan's own limits, other processes on the key, an overloaded service,
 * and every form of Retry-After. All draws follow from the seed, before the classifier is called.
 */
import { type SeededChance, seededChance } from '../../../src/core/chance.ts'
import { HOUR_MS, SECOND_MS, WEEK_MS } from '../../../src/core/durations.ts'
import { type PlanName, planNames, plans } from '../../../src/core/plans.ts'
import { retryAfterMs } from '../../../src/core/retry-after.ts'
import { classify429, INITIAL_CLASSIFIER } from '../../../src/governor/quota/throttle-classifier.ts'
import { Limits } from '../../../src/sandbox/limits.ts'
import { lasting, otherProcess } from './other-process.ts'

const START_MS = Date.parse('2026-01-06T07:00:00Z')
/** An episode is played for so long at most. */
const LONGEST_MS = 24 * HOUR_MS

/** Why upstream refuses, and who caused it. */
export const causes = [
  /** Our own requests emptied the bucket; no other process uses it. */
  'throttle: ours',
  /** Another process reads as fast as the plan allows, and waits after 429s. */
  'throttle: another process',
  /** Another process sends as fast as it can and ignores 429s. */
  'throttle: an unruly process',
  /** The service refuses a share of all requests for a while. */
  'throttle: overload',
  /** Spent by us; our ledger is nearly right. */
  'quota: ours',
  /** Spent by others, whom our ledger does not see. */
  'quota: another process',
] as const
/** One of them. */
export type EpisodeCause = (typeof causes)[number]

/** What the service puts into Retry-After. */
export const headers = [
  'none',
  'honest seconds',
  'honest date',
  'date, clocks apart',
  'always 1',
  'always 60',
  'always an hour',
  'always a week',
  'zero',
  'negative',
  'words',
  'a date of the past',
  'thirty years',
] as const
/** One of them. */
export type HeaderForm = (typeof headers)[number]

/** What became of one episode. */
export interface Episode {
  plan: PlanName
  cause: EpisodeCause
  header: HeaderForm
  /** Share of the quota that our ledger has left. */
  leftShare: number
  /** A verdict `quota` was given for a throttle. */
  isMistaken: boolean
  /** Requests after the first one, until the first success or for a day. */
  probes: number
  /** Units that upstream counted for 429s. */
  lost: number
  /** From the first 429 to the first success, ms; a day where there was none. */
  blindMs: number
  /** From the last 429 to the first success, ms; null where there was none. */
  backMs: number | null
}

/** One episode; the same seed gives the same. */
export function playEpisode(seed: number): Episode {
  const chance = seededChance(seed)
  const plan = chance.pick(planNames)
  const cause = chance.pick(causes)
  const header = chance.pick(headers)
  const world = createUpstream(plan, cause, chance)
  const resetMs = START_MS + chance.between(1, WEEK_MS / SECOND_MS) * SECOND_MS
  const knowsReset = chance.yes(0.5)
  const leftShare = countedLeft(cause, chance)
  let nowMs = START_MS
  let state = INITIAL_CLASSIFIER
  let lost = 0
  let isMistaken = false
  let truth = world.send(nowMs)
  for (let probes = 0; ; probes++) {
    if (truth === 'ok') throw new Error(`seed ${seed}: an episode begins with a 429`)
    if (truth === 'throttle') lost += 1
    const refillMs = (plans[plan].burst / plans[plan].ratePerSecond) * SECOND_MS
    const { value, skewMs } = headerOf(header, { truth, nowMs, resetMs, refillMs }, chance)
    const classified = classify429(
      state,
      {
        retryAfterMs: retryAfterMs(value, nowMs + skewMs),
        leftShare,
        resetMs: knowsReset ? resetMs : null,
        refillMs,
        nowMs,
      },
      chance.next,
    )
    state = classified.state
    const { kind, waitMs } = classified.verdict
    if (kind === 'quota' && truth === 'throttle') isMistaken = true
    const refusedMs = nowMs
    nowMs += waitMs + chance.between(5, 120)
    const end = { plan, cause, header, leftShare, isMistaken, lost }
    if (nowMs - START_MS > LONGEST_MS) return { ...end, probes, blindMs: LONGEST_MS, backMs: null }
    const next = world.send(nowMs)
    if (next === 'ok') {
      return { ...end, probes: probes + 1, blindMs: nowMs - START_MS, backMs: nowMs - refusedMs }
    }
    truth = next
  }
}

/** Share of the quota that our ledger has left; arbitrary in a tenth of the episodes. */
function countedLeft(cause: EpisodeCause, chance: SeededChance): number {
  if (chance.yes(0.1)) return chance.next()
  if (cause === 'quota: ours') return chance.next() * 0.03
  if (cause === 'quota: another process') return 0.02 + 0.98 * chance.next()
  return 0.01 + 0.99 * chance.next()
}

interface Upstream {
  /** Handles one request of ours, after those that others sent before it. */
  send(nowMs: number): 'ok' | 'throttle' | 'quota'
}

/** An upstream that refuses the first request for that cause. */
function createUpstream(plan: PlanName, cause: EpisodeCause, chance: SeededChance): Upstream {
  const { ratePerSecond, burst, weeklyQuota } = plans[plan]
  const limits = new Limits(plans[plan], START_MS - WEEK_MS)
  const spend = (units: number): void => {
    for (let unit = 0; unit < units; unit++) limits.take(START_MS - 2 * HOUR_MS + unit)
  }
  const emptyBucket = (): void => {
    for (let unit = 0; unit < burst; unit++) limits.take(START_MS - 1)
  }
  if (cause.startsWith('quota')) {
    spend(weeklyQuota)
    return { send: (nowMs) => limits.take(nowMs) }
  }
  spend(Math.floor(weeklyQuota * 0.6 * chance.next()))
  if (cause === 'throttle: overload') {
    const untilMs = START_MS + lasting(500, 60_000, chance)
    const share = chance.pick([1, 0.5])
    let first = true
    return {
      send(nowMs) {
        const isRefused = nowMs < untilMs && (first || chance.yes(share))
        first = false
        const taken = limits.take(nowMs)
        return taken === 'ok' && isRefused ? 'throttle' : taken
      },
    }
  }
  emptyBucket()
  if (cause === 'throttle: ours') return { send: (nowMs) => limits.take(nowMs) }
  const unruly = cause === 'throttle: an unruly process'
  const requests = Math.round(lasting(1, weeklyQuota * 0.3, chance))
  const other = otherProcess(limits, {
    startMs: START_MS,
    requests,
    everyMs: SECOND_MS / (ratePerSecond * (unruly ? chance.between(2, 6) : 1.02)),
    waitMs: unruly ? 0 : SECOND_MS,
  })
  return {
    send(nowMs) {
      other(nowMs)
      return limits.take(nowMs)
    },
  }
}

/** The header's text, and how far upstream's clock is from ours. */
function headerOf(
  form: HeaderForm,
  at: { truth: 'throttle' | 'quota'; nowMs: number; resetMs: number; refillMs: number },
  chance: SeededChance,
): { value: string | null; skewMs: number } {
  const honestMs = at.truth === 'quota' ? Math.max(0, at.resetMs - at.nowMs) : at.refillMs * chance.next()
  const seconds = String(Math.ceil(honestMs / SECOND_MS))
  const skewMs = form === 'date, clocks apart' ? chance.between(-1200, 1200) * SECOND_MS : 0
  const date = (ms: number): string => new Date(ms).toUTCString()
  const texts: Record<HeaderForm, string | null> = {
    none: null,
    'honest seconds': seconds,
    'honest date': date(at.nowMs + honestMs + SECOND_MS),
    'date, clocks apart': date(at.nowMs + skewMs + honestMs + SECOND_MS),
    'always 1': '1',
    'always 60': '60',
    'always an hour': '3600',
    'always a week': '604800',
    zero: '0',
    negative: '-1',
    words: 'soon',
    'a date of the past': 'Wed, 21 Oct 2015 07:28:00 GMT',
    'thirty years': '1000000000',
  }
  return { value: texts[form], skewMs }
}
