/**
 * Plays worlds whose upstream breaks assumptions, one by one and in pairs, and checks what the poller made of them. Every
 * content that an answer showed is held. What was listed and never shown is held, inside an open gap, or in a span of time
 * that the poller names as not read again since. Polls never pause for longer than the plan and the failures imply.
 */
import { createCalendar } from '../../../../src/core/calendar/calendar.ts'
import { type SeededChance, seededChance } from '../../../../src/core/chance.ts'
import { isGap } from '../../../../src/core/event.ts'
import { type PlanName, plans } from '../../../../src/core/plans.ts'
import { unreconciledRanges } from '../../../../src/ingest/reconciliation/unreconciled.ts'
import type { Failure } from '../../../../src/upstream/outcome.ts'
import { World, type WorldOptions } from '../ingest-world.ts'
import { type FreeItem, type FreeRules, FreeUpstream, freeText } from './free-upstream.ts'
import { longestPauseMs, longPauses, wasReconciled } from './liveness.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const SEVEN = Date.parse('2026-01-06T07:00:00Z')
const START = SEVEN - 20 * MINUTE
/** Two business days and the night after them, in which all that is owed is read. */
const END = SEVEN + 2 * DAY - HOUR
const YEAR_1 = Date.parse('0001-01-01T00:00:00Z')
const YEAR_9999 = Date.parse('9999-12-31T23:59:59Z')
const calendar = createCalendar()

/** What a world may break. */
export const assumptions = [
  'item times are near the present',
  'cursors follow item time',
  'cursors live for ever',
  'pages are newest first',
  'hasMore is true',
  'every page can be read',
  'items stay as they are',
  'clocks agree',
  'clocks do not jump',
  'answers are fresh',
  'pages are complete',
  'nobody else uses the key',
  'requests succeed',
] as const
/** One of them. */
export type Assumption = (typeof assumptions)[number]

/** Identifies a world. */
export interface BrokenCase {
  plan: PlanName
  broken: readonly Assumption[]
  seed: number
}

/** What became of it; a sentence for each broken promise. */
export interface BrokenVerdict {
  broken: string[]
  listed: number
  held: number
  /** Never shown, in a span that is named as not read again. */
  named: number
  polls: number
  longestPauseMs: number
}

/** A world under construction. */
interface Draft {
  chance: SeededChance
  items: FreeItem[]
  rules: Partial<FreeRules>
  options: Partial<WorldOptions>
  /** Our clock is set to this difference at these times. */
  jumps: { atMs: number; clockOffMs: number }[]
}

const FAILURES: Failure[] = [
  { kind: 'refused', status: 400, message: '', hint: null },
  { kind: 'refused', status: 404, message: '', hint: null },
  { kind: 'refused', status: 410, message: '', hint: null },
  { kind: 'refused', status: 422, message: '', hint: null },
  { kind: 'server_error', status: 500 },
  { kind: 'timeout', phase: 'body' },
  { kind: 'invalid', reason: 'not JSON' },
]

const breakers: Record<Assumption, (draft: Draft) => void> = {
  'item times are near the present': ({ chance, items }) => {
    for (const item of items) {
      if (!chance.yes(0.03)) continue
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
  'cursors follow item time': ({ rules }) => {
    rules.cursors = 'insertion'
  },
  'cursors live for ever': ({ rules, chance }) => {
    rules.expires = { afterMs: chance.between(HOUR, 8 * HOUR), failure: chance.pick(FAILURES) }
  },
  'pages are newest first': ({ rules, chance }) => {
    rules.order = chance.pick(['any', 'oldest first'] as const)
  },
  'hasMore is true': ({ rules, chance }) => {
    rules.hasMore = chance.pick(['never', 'always', 'absent'] as const)
  },
  'every page can be read': ({ rules, chance }) => {
    const fromMs = START + chance.between(0, DAY)
    rules.broken = { fromMs, toMs: fromMs + chance.between(SECOND, 4 * HOUR), failure: chance.pick(FAILURES) }
  },
  'items stay as they are': ({ chance, items }) => {
    for (const item of [...items]) {
      if (!chance.yes(0.05)) continue
      const atMs = item.fromMs + chance.between(SECOND, 6 * HOUR)
      item.toMs = atMs
      const next = { ...item, fromMs: atMs, toMs: Number.POSITIVE_INFINITY }
      const what = chance.pick(['vanishes', 'comes back', 'changes'] as const)
      if (what === 'comes back') items.push({ ...next, fromMs: atMs + chance.between(MINUTE, 3 * HOUR) })
      if (what === 'changes') items.push({ ...next, content: `${item.content}, changed` })
    }
  },
  'clocks agree': ({ options, chance }) => {
    const off = (): number =>
      chance.pick([-1, 1]) * chance.pick([2 * MINUTE, 20 * MINUTE, 3 * HOUR, 270 * DAY])
    if (chance.yes(0.5)) options.clockOffMs = off()
    else options.dateOffMs = chance.yes(0.3) ? null : off()
  },
  'clocks do not jump': ({ jumps, chance }) => {
    const atMs = START + chance.between(HOUR, DAY)
    jumps.push({ atMs, clockOffMs: chance.pick([-1, 1]) * chance.pick([5 * MINUTE, HOUR]) })
    jumps.push({ atMs: atMs + chance.between(MINUTE, 12 * HOUR), clockOffMs: 0 })
  },
  'answers are fresh': ({ rules, chance }) => {
    rules.cachedMs = chance.between(5 * SECOND, 5 * MINUTE)
  },
  'pages are complete': ({ rules }) => {
    rules.leftOut = 0.03
  },
  'nobody else uses the key': ({ options, chance }) => {
    const windows = Array.from({ length: 6 }, () => {
      const fromMs = START + chance.between(0, 2 * DAY - 8 * HOUR)
      return { fromMs, toMs: fromMs + chance.pick([20 * SECOND, 2 * MINUTE, 3 * HOUR]) }
    })
    const retryAfter = chance.pick([null, '3', '60', '0', 'soon'])
    const before = options.fails
    options.fails = (query, requests, nowMs) =>
      windows.some(({ fromMs, toMs }) => fromMs <= nowMs && nowMs < toMs)
        ? { kind: 'too_many', retryAfter }
        : before?.(query, requests, nowMs)
  },
  'requests succeed': ({ options, chance }) => {
    options.failures = chance.pick([0.02, 0.2])
    options.unknowns = 0.02
    options.crashes = 0.002
    options.faultsUntilMs = END - 8 * HOUR
  },
}

/** Every assumption alone, and each with one other that the seed draws. */
export function brokenCases(plan: PlanName, seed: number): BrokenCase[] {
  const chance = seededChance(seed * 31 + plan.length)
  const alone = assumptions.map((one) => ({ plan, broken: [one], seed }))
  const pairs = assumptions.map((one) => {
    const other = chance.pick(assumptions.filter((name) => name !== one))
    return { plan, broken: [one, other], seed }
  })
  return [...alone, ...pairs]
}

/** Plays and checks one world. `look` gets it at its end, `onLog` what it does to its log. */
export function playBroken(
  { plan, broken, seed }: BrokenCase,
  look: (world: World) => void = () => {},
  onLog: NonNullable<WorldOptions['onLog']> = () => {},
): BrokenVerdict {
  const chance = seededChance(seed)
  const draft: Draft = { chance, items: usualItems(), rules: {}, options: {}, jumps: [] }
  for (const name of broken) breakers[name](draft)
  const upstream = new FreeUpstream(draft.items, draft.rules, chance)
  const { fails } = draft.options
  const world: World = new World({
    ...plans[plan],
    seed,
    startMs: START,
    items: [],
    ...draft.options,
    onLog,
    fails: (query, requests, nowMs) => fails?.(query, requests, nowMs) ?? upstream.refusal(query, nowMs),
    strange: (_page, query) => upstream.page(query, world.nowMs),
  })
  for (const { atMs, clockOffMs } of draft.jumps.sort((one, other) => one.atMs - other.atMs)) {
    world.run(atMs)
    world.options.clockOffMs = clockOffMs
  }
  world.run(END)
  look(world)
  return verdictOn(world, upstream, draft.items)
}

/** Two days of 320 items each, half of them in a burst. */
function usualItems(): FreeItem[] {
  return [0, DAY].flatMap((dayMs) =>
    Array.from({ length: 320 }, (_, number) => {
      const isBurst = number < 160
      const offsetMs = isBurst ? number * 125 : MINUTE + ((number - 160) * 10 * HOUR) / 160
      const timeMs = seconds(SEVEN + dayMs + offsetMs)
      const guid = `${dayMs === 0 ? 'a' : 'b'}-${String(number).padStart(4, '0')}`
      return { guid, timeMs, content: guid, fromMs: timeMs + 300, toMs: Number.POSITIVE_INFINITY }
    }),
  )
}

function verdictOn(world: World, upstream: FreeUpstream, items: readonly FreeItem[]): BrokenVerdict {
  const { store } = world
  const texts = store.events.filter(({ type }) => !isGap(type)).map(({ data }) => data)
  const held = new Set([...texts, ...store.rejected.map(({ raw }) => raw)])
  const twice = texts.filter((text, index) => texts.indexOf(text) !== index && !isComeBack(text, items))
  const shown = world.shownTexts.filter((text) => !held.has(text))
  const firstMs = world.firstAnswerMs ?? END
  const listed = items.filter(({ fromMs, toMs }) =>
    upstream.answeredMs.some((atMs) => atMs >= Math.max(fromMs, firstMs) && atMs < toMs),
  )
  const skewMs = 0
  const unread = unreconciledRanges(store.head, { calendar, presentMs: END, skewMs })
  let named = 0
  const lost = listed.filter((item) => {
    if (held.has(freeText(item))) return false
    const isOpen = world.openGaps.some(
      ({ from, to }) => Date.parse(from) <= item.timeMs && item.timeMs <= Date.parse(to),
    )
    if (isOpen) return false
    const { countedFromMs } = store.head
    const isNamed =
      item.timeMs < (countedFromMs ?? END) ||
      item.timeMs > END ||
      unread.some(({ fromMs, toMs }) => fromMs <= item.timeMs && item.timeMs <= toMs) ||
      wasReconciled(world, item.timeMs, item.fromMs) ||
      upstream.leftOut.has(freeText(item))
    if (isNamed) named += 1
    return !isNamed
  })
  const sequences = store.events.filter(({ sequence }, index) => sequence !== index + 1)
  return {
    broken: [
      ...line('shown and not held', shown),
      ...line(
        'lost',
        lost.map(({ guid, timeMs }) => `${guid} of ${new Date(timeMs).toISOString()}`),
      ),
      ...line('twice', twice),
      ...line(
        'out of sequence',
        sequences.map(({ id }) => id),
      ),
      ...line('pauses of polls', longPauses(world)),
    ],
    listed: listed.length,
    held: held.size,
    named,
    polls: world.requests.filter(({ purpose }) => purpose === 'poll').length,
    longestPauseMs: longestPauseMs(world),
  }
}

/** The same text may be published again where another content of its guid came between. */
function isComeBack(text: string, items: readonly FreeItem[]): boolean {
  const { guid } = JSON.parse(text) as { guid: string }
  return items.filter((item) => item.guid === guid).length > 1
}

function seconds(ms: number): number {
  return Math.floor(ms / SECOND) * SECOND
}

function line(what: string, members: readonly string[]): string[] {
  return members.length === 0 ? [] : [`${members.length} ${what}: ${members.slice(0, 3).join(' | ')}`]
}
