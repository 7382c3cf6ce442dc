/** The worlds that the tests play on real logs; together they ask a log for everything that the poller can. */
import { MINUTE_MS, SECOND_MS } from '../../../../src/core/durations.ts'
import { isGap } from '../../../../src/core/event.ts'
import type { Assumption } from '../broken/assumptions.ts'
import { burst } from '../world-upstream.ts'
import type { RecordedWorld } from './operations.ts'
import { recordBroken, recordWorld } from './recorded-world.ts'

const SEVEN = Date.parse('2026-01-06T07:00:00Z')

/** Plays each of the worlds on its simulated log. */
export const logCases = {
  'items that cannot be read': unreadable,
  'a clock that jumps': () => brokenBy('clocks do not jump', 'requests succeed'),
  'items that change': () =>
    brokenBy('items stay as they are', 'cursors follow item time', 'requests succeed'),
  'pages that fail': () => brokenBy('hasMore is true', 'every page can be read'),
} as const satisfies Record<string, () => RecordedWorld>

/** Their names. */
export const logCaseNames = Object.keys(logCases) as (keyof typeof logCases)[]

function brokenBy(...broken: readonly Assumption[]): RecordedWorld {
  return recordBroken({ plan: 'free', broken, seed: 1 }).world
}

function unreadable(): RecordedWorld {
  const items = burst('a', SEVEN + SECOND_MS, 9 * SECOND_MS, 265)
  for (const item of items) item.malformed = item.guid.endsWith('7')
  const faults = { failures: 0.2, unknowns: 0.3, crashes: 0.04, faultsUntilMs: SEVEN + 2 * MINUTE_MS }
  const plan = { pageSize: 50, weeklyQuota: 1_000_000 }
  return recordWorld(
    { ...plan, ...faults, seed: 35, startMs: SEVEN - 20 * SECOND_MS, items },
    SEVEN + 5 * MINUTE_MS,
  )
}

/** What a world asked of its log. */
export function askedOf({ operations, events, rejected }: RecordedWorld) {
  const ends = operations.flatMap((one) => (one.type === 'commit-ended' ? [one] : []))
  const isCutOff = ({ type }: { type: string }, index: number): boolean =>
    type === 'commit-sent' && operations[index + 1]?.type === 'died'
  return {
    claims: operations.filter(({ type }) => type === 'claimed').length,
    deaths: operations.filter(({ type }) => type === 'died').length,
    deathsInCommits: operations.filter(isCutOff).length,
    lostCommits: ends.filter(({ stored }) => !stored).length,
    lostAnswers: ends.filter(({ stored, answered }) => stored && !answered).length,
    gaps: events.filter(({ type }) => isGap(type)).length,
    amended: events.filter(({ id }) => id.endsWith('#2')).length,
    rejected: rejected.length,
  }
}
