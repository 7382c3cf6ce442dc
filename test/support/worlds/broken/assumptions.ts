/** Lists the assumptions of upstream, clocks and quota that worlds break, and draws from a seed how each is broken. */
import type { SeededChance } from '../../../../src/core/chance.ts'
import type { PlanLimits } from '../../../../src/core/plans.ts'
import type { QuotaReset } from '../../../../src/governor/quota/ledger.ts'
import { classifyStatus, type Failure } from '../../../../src/upstream/outcome.ts'
import type { WorldOptions } from '../ingest-world.ts'
import { KeyLimits } from '../key-limits.ts'
import { lasting, otherProcess } from '../other-process.ts'
import type { FreeItem, FreeRules } from './free-upstream.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const WEEK = 7 * DAY
const SEVEN = Date.parse('2026-01-06T07:00:00Z')
/** When a world begins: a Tuesday, before the first items. */
export const START_MS = SEVEN - 20 * MINUTE
/** When it ends: two business days later, after the night in which all that is owed is read. */
export const END_MS = SEVEN + 2 * DAY - HOUR
const MONDAY_MS = Date.parse('2026-01-05T00:00:00Z')
const YEAR_1 = Date.parse('0001-01-01T00:00:00Z')
const YEAR_9999 = Date.parse('9999-12-31T23:59:59Z')
/** From the time of a usual item to its listing. */
const DELAY_MS = 300
const NEVER = Number.POSITIVE_INFINITY

/** What a world may break, with what then is. */
export const assumptions = [
  // Item times anywhere from year 1 to 9999.
  'item times are near the present',
  // Visible before, at, or long after their time.
  'items are listed at their time',
  // Out of order within a page.
  'pages are newest first',
  // Cursors by insertion and by page; by time is what the other worlds have.
  'cursors follow item time',
  // Cursors that expire and are refused with any status.
  'cursors live for ever',
  // Pages that fail for ever while others work.
  'every page can be read',
  // `hasMore` wrong in both directions, and absent.
  'hasMore is true',
  // Items that vanish, come back, change in place.
  'items stay as they are',
  // Clocks of upstream and host apart. No decision reads the broker's clock.
  'clocks agree',
  // One of the two is days wrong, from the first start or from some night on, and processes restart at night.
  'clocks agree to the day',
  // The host's clock jumps, and jumps back.
  'clocks do not jump',
  // Clocks of upstream or host run slow or fast.
  'clocks run at one speed',
  // Answers replayed from a cache.
  'answers are fresh',
  // Pages that leave items out: the next page of the same items disagrees.
  'pages are complete',
  // Two servers, one behind the other: their pages disagree.
  'servers agree',
  // Another user of the key.
  'nobody else uses the key',
  // Quota smaller, larger, or reset at another hour and weekday than configured.
  'the quota is as configured',
  // Requests fail, commits lose their answers, processes crash.
  'requests succeed',
] as const
/** The same of answers that are good by their status and yet wrong. Their worlds leave the seeds of the others as they are. */
export const answerAssumptions = [
  // It stands still for minutes or a day while requests are answered.
  'the list goes on',
  // It is empty for a while.
  'the list is there',
  // They begin anew: behind those that were given before nothing is listed any more.
  'cursors keep their meaning',
  // A page cursor that has waited is answered with an empty last page.
  'pages can be read on later',
  // Polls go by date, with each order of the page and of the list.
  'answers have a cursor',
  // Cursors are refused from soon after they were given.
  'upstream accepts its own cursors',
] as const
/** One of either. */
export type Assumption = (typeof assumptions)[number] | (typeof answerAssumptions)[number]

/** A world under construction. */
export interface Draft {
  chance: SeededChance
  plan: PlanLimits
  items: FreeItem[]
  rules: Partial<FreeRules>
  options: Partial<WorldOptions>
  /** Our clock is set to this difference at these times. */
  jumps: { atMs: number; clockOffMs: number }[]
  /** The process is killed at these times. */
  killsMs: number[]
}

/** Breaks one assumption of a draft. */
export function breakAssumption(name: Assumption, draft: Draft): void {
  breakers[name](draft)
}

const breakers: Record<Assumption, (draft: Draft) => void> = {
  'item times are near the present': ({ chance, items }) => {
    // The larger share fills whole pages with items that are stamped ahead.
    const share = chance.pick([0.03, 0.03, 0.3])
    for (const item of items) {
      if (!chance.yes(share)) continue
      const offsets = [
        chance.between(MINUTE, 2 * HOUR),
        chance.between(HOUR, 40 * DAY),
        -chance.between(MINUTE, 2 * HOUR),
        -chance.between(HOUR, 40 * DAY),
      ]
      const far = chance.between(Math.floor(YEAR_1 / SECOND), Math.floor(YEAR_9999 / SECOND)) * SECOND
      item.timeMs = chance.yes(0.3) ? far : seconds(item.fromMs + chance.pick(offsets))
    }
  },
  'items are listed at their time': ({ chance, items }) => {
    for (const item of items) {
      // The later contents of an item stay behind the earlier ones.
      if (!chance.yes(0.1) || item.fromMs !== item.timeMs + DELAY_MS || item.toMs !== NEVER) continue
      const offsets = [
        0,
        -chance.between(SECOND, 30 * MINUTE),
        chance.between(5 * SECOND, 5 * MINUTE),
        chance.between(5 * MINUTE, 20 * HOUR),
      ]
      item.fromMs = item.timeMs + chance.pick(offsets)
    }
  },
  'pages are newest first': ({ rules, chance }) => {
    rules.order = chance.pick(['any', 'oldest first'] as const)
  },
  'cursors follow item time': ({ rules, chance }) => {
    rules.cursors = chance.pick(['insertion', 'page'] as const)
  },
  'cursors live for ever': ({ rules, chance }) => {
    rules.expires = { afterMs: chance.between(HOUR, 8 * HOUR), failure: anyFailure(chance) }
  },
  'every page can be read': ({ rules, chance }) => {
    const fromMs = START_MS + chance.between(0, DAY)
    const toMs = chance.yes(0.3) ? NEVER : fromMs + chance.between(SECOND, 4 * HOUR)
    const isLaterPagesOnly = chance.yes(0.3)
    rules.broken = { fromMs, toMs, failure: chance.pick(FAILURES), isLaterPagesOnly }
  },
  'hasMore is true': ({ rules, chance }) => {
    rules.hasMore = chance.pick(['never', 'always', 'absent'] as const)
  },
  'items stay as they are': ({ chance, items }) => {
    for (const item of [...items]) {
      if (!chance.yes(0.05)) continue
      const atMs = item.fromMs + chance.between(SECOND, 6 * HOUR)
      item.toMs = atMs
      const next = { ...item, fromMs: atMs, toMs: NEVER }
      const what = chance.pick(['vanishes', 'comes back', 'changes'] as const)
      if (what === 'comes back') items.push({ ...next, fromMs: atMs + chance.between(MINUTE, 3 * HOUR) })
      if (what === 'changes') items.push({ ...next, content: `${item.content}, changed` })
    }
  },
  'clocks agree': ({ items, options, chance }) => {
    const off = (): number =>
      chance.pick([-1, 1]) * chance.pick([2 * MINUTE, 20 * MINUTE, 3 * HOUR, 270 * DAY])
    const what = chance.pick(['host', 'upstream', 'both'] as const)
    if (what !== 'upstream') options.clockOffMs = off()
    if (what !== 'host') options.dateOffMs = chance.yes(0.3) ? null : off()
    // What is listed from the day before does not show the present.
    if (chance.yes(0.5)) items.push(...yesterdaysItems())
  },
  'clocks agree to the day': ({ items, options, killsMs, chance }) => {
    const offMs = chance.pick([-1, 1]) * chance.pick([DAY, 3 * DAY, 10 * DAY, 29 * DAY, 270 * DAY])
    // From before the start, or for half a day or a day and a half from the first evening on.
    const fromMs = chance.pick([0, START_MS + 12 * HOUR])
    const toMs = fromMs === 0 ? NEVER : fromMs + chance.pick([12 * HOUR, 36 * HOUR])
    const off = (trueMs: number): number => (trueMs >= fromMs && trueMs < toMs ? offMs : 0)
    if (chance.yes(0.7)) options.dateOffMs = off
    else options.clockOffMs = off
    options.backfillMs = chance.pick([0, 2 * DAY, 4 * DAY])
    items.push(...historyItems(chance.pick([0, 3, 30, 120])))
    for (const nightMs of [START_MS + 14 * HOUR, START_MS + 20 * HOUR, START_MS + 38 * HOUR]) {
      if (chance.yes(0.7)) killsMs.push(nightMs + chance.between(0, 2 * HOUR))
    }
  },
  'clocks do not jump': ({ jumps, chance }) => {
    const atMs = START_MS + chance.between(HOUR, DAY)
    jumps.push({ atMs, clockOffMs: chance.pick([-1, 1]) * chance.pick([5 * MINUTE, HOUR]) })
    jumps.push({ atMs: atMs + chance.between(MINUTE, 12 * HOUR), clockOffMs: 0 })
  },
  'clocks run at one speed': ({ options, chance }) => {
    const drift = chance.pick([-1, 1]) * chance.pick([0.0001, 0.001, 0.02])
    const off = (trueMs: number): number => Math.round((trueMs - START_MS) * drift)
    if (chance.yes(0.5)) options.clockOffMs = off
    else options.dateOffMs = off
  },
  'answers are fresh': ({ rules, chance }) => {
    rules.cachedMs = chance.between(5 * SECOND, 5 * MINUTE)
  },
  'pages are complete': ({ rules }) => {
    rules.leftOut = 0.03
  },
  'servers agree': ({ rules, chance }) => {
    rules.behindMs = chance.pick([2 * SECOND, 20 * SECOND, 3 * MINUTE])
  },
  'nobody else uses the key': ({ options, chance }) => {
    const windows = Array.from({ length: 6 }, () => {
      const fromMs = START_MS + chance.between(0, 2 * DAY - 8 * HOUR)
      return { fromMs, toMs: fromMs + chance.pick([20 * SECOND, 2 * MINUTE, 3 * HOUR]) }
    })
    const retryAfter = retryAfterOf(chance)
    failingAlso(options, (nowMs) => {
      const isRefused = windows.some(({ fromMs, toMs }) => fromMs <= nowMs && nowMs < toMs)
      return isRefused ? { kind: 'too_many', retryAfter } : undefined
    })
  },
  'the quota is as configured': ({ options, chance, plan }) => {
    const weeklyQuota = Math.ceil(plan.weeklyQuota * chance.pick([0.05, 0.15, 0.4, 1, 3]))
    const reset = (fromMs: number, toMs: number): QuotaReset => ({
      minutesAfterMonday: Math.floor((chance.between(fromMs, toMs) - MONDAY_MS) / MINUTE),
    })
    // Upstream's week ends within the world; ours at any hour of the week.
    const theirs = chance.yes(0.5) ? 'rolling' : reset(START_MS + HOUR, END_MS - HOUR)
    if (chance.yes(0.5)) options.quotaReset = reset(START_MS - DAY, START_MS + 5 * DAY)
    const limits = new KeyLimits({ ...plan, weeklyQuota }, theirs, START_MS - WEEK)
    // Units of a rolling week that were spent before come back while the world runs.
    const spent = Math.floor(weeklyQuota * chance.pick([0, 0.5, 0.95]))
    for (let unit = 0; unit < spent; unit++) limits.take(START_MS - WEEK + (2 * DAY * unit) / spent)
    const other = otherProcess(limits, {
      startMs: START_MS + chance.between(0, DAY),
      requests: chance.yes(0.5) ? Math.round(lasting(5, weeklyQuota / 2, chance)) : 0,
      everyMs: SECOND / plan.ratePerSecond,
      waitMs: chance.pick([0, SECOND]),
    })
    const retryAfter = retryAfterOf(chance)
    failingAlso(options, (nowMs) => {
      other(nowMs)
      return limits.take(nowMs) === 'ok' ? undefined : { kind: 'too_many', retryAfter }
    })
  },
  'requests succeed': ({ options, chance }) => {
    options.failures = chance.pick([0.02, 0.2])
    options.unknowns = 0.02
    options.crashes = 0.002
    options.faultsUntilMs = END_MS - 8 * HOUR
  },
  'the list goes on': ({ rules, chance }) => {
    rules.still = window(chance, [10 * MINUTE, 3 * HOUR, 20 * HOUR, 30 * HOUR])
  },
  'the list is there': ({ rules, items, chance }) => {
    rules.emptied = window(chance, [5 * SECOND, 2 * MINUTE, HOUR, 6 * HOUR])
    if (chance.yes(0.5)) return
    // When the day is read again; of some items only that shows anything.
    const sevenPmMs = SEVEN + chance.pick([0, DAY]) + 12 * HOUR
    rules.emptied = { fromMs: sevenPmMs - 10 * MINUTE, toMs: sevenPmMs + chance.pick([5, 30, 170]) * MINUTE }
    for (const item of items) if (chance.yes(0.1)) item.fromMs += chance.between(HOUR, 2 * HOUR)
  },
  'cursors keep their meaning': ({ rules, chance }) => {
    rules.renumberedMs = releaseTime(chance)
  },
  'pages can be read on later': ({ rules, chance }) => {
    rules.pagesEndAfterMs = chance.pick([30 * SECOND, 2 * MINUTE, 30 * MINUTE])
  },
  'answers have a cursor': ({ rules, items, chance }) => {
    rules.cursors = 'none'
    rules.order = chance.pick(['newest first', 'any', 'oldest first'] as const)
    rules.isRising = rules.order === 'oldest first' && chance.yes(0.5)
    if (chance.yes(0.5)) return
    // Bursts of one second, of more than a page.
    const [first, second] = [SEVEN, SEVEN + DAY]
    for (const item of items) {
      const startMs = item.timeMs < second ? first : second
      if (item.timeMs - startMs < MINUTE) Object.assign(item, { timeMs: startMs, fromMs: startMs + DELAY_MS })
    }
  },
  'upstream accepts its own cursors': ({ rules, chance }) => {
    const afterMs = chance.pick([0, 30 * SECOND, 10 * MINUTE])
    rules.expires = { afterMs, failure: anyFailure(chance) }
  },
}

/** A time in the release hours of either day. */
function releaseTime(chance: SeededChance): number {
  return START_MS + chance.pick([0, DAY]) + chance.between(10 * MINUTE, 11 * HOUR)
}

/** From such a time on for so long, at most until eight hours before the world ends. */
function window(chance: SeededChance, lengths: number[]): { fromMs: number; toMs: number } {
  const fromMs = releaseTime(chance)
  return { fromMs, toMs: Math.min(fromMs + chance.pick(lengths), END_MS - 8 * HOUR) }
}

const FAILURES: Failure[] = [
  ...[400, 404, 410, 422, 500].map((status) => classifyStatus(status, null, '')),
  { kind: 'timeout', phase: 'body' },
  { kind: 'invalid', reason: 'not JSON' },
]

/** One of those, or any status; 429 is a limit and no refusal. */
function anyFailure(chance: SeededChance): Failure {
  const status = chance.yes(0.2) ? chance.pick([401, 403]) : chance.between(400, 599)
  return chance.yes(0.5) || status === 429 ? chance.pick(FAILURES) : classifyStatus(status, null, '')
}

function retryAfterOf(chance: SeededChance): string | null {
  return chance.pick([null, '3', '60', '0', 'soon'])
}

/** Adds a reason to fail; every reason counts each request. */
function failingAlso(options: Partial<WorldOptions>, reason: (nowMs: number) => Failure | undefined): void {
  const before = options.fails
  options.fails = (query, requests, nowMs) => {
    const failure = reason(nowMs)
    return before?.(query, requests, nowMs) ?? failure
  }
}

/** Two days of 320 items each, half of them in a burst. */
export function usualItems(): FreeItem[] {
  return [0, DAY].flatMap((dayMs) =>
    Array.from({ length: 320 }, (_, number) => {
      const isBurst = number < 160
      const offsetMs = isBurst ? number * 125 : MINUTE + ((number - 160) * 10 * HOUR) / 160
      const timeMs = seconds(SEVEN + dayMs + offsetMs)
      const guid = `${dayMs === 0 ? 'a' : 'b'}-${String(number).padStart(4, '0')}`
      return { guid, timeMs, content: guid, fromMs: timeMs + DELAY_MS, toMs: NEVER }
    }),
  )
}

/** So many items of the five days before, the newest in the evening. */
function historyItems(count: number): FreeItem[] {
  return Array.from({ length: count }, (_, number) => {
    const timeMs = seconds(SEVEN - 13 * HOUR - (number * 5 * DAY) / count)
    const guid = `h-${String(number).padStart(4, '0')}`
    return { guid, timeMs, content: guid, fromMs: timeMs + DELAY_MS, toMs: NEVER }
  })
}

/** Thirty items of the day before. */
function yesterdaysItems(): FreeItem[] {
  return Array.from({ length: 30 }, (_, number) => {
    const timeMs = seconds(SEVEN - DAY + (number * 10 * HOUR) / 30)
    const guid = `y-${String(number).padStart(4, '0')}`
    return { guid, timeMs, content: guid, fromMs: timeMs + DELAY_MS, toMs: NEVER }
  })
}

function seconds(ms: number): number {
  return Math.floor(ms / SECOND) * SECOND
}
