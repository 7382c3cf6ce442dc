/**
 * What polls and their fills teach the profile. Owns which time each of them covers. Refuses to keep the profile: the head
 * does, and the beliefs are `governor/arrivals/learning.ts`.
 */

import { lagOf, learn } from '../../governor/arrivals/learning.ts'
import type { Situation } from '../../governor/schedule/planner.ts'
import type { HeldItem, Turn, Walk } from './state.ts'

/** So much of what was learnt may be lost with the process: each copy in the log is some 12 KB. */
const SAVE_EVERY_MS = 10 * 60_000

/** What the next poll is planned from. */
export function situationOf({ state, nowMs }: Turn): Situation {
  return { ledger: state.ledger, profile: state.profile, nowMs, skewMs: state.skewMs }
}

/**
 * Learns from what a poll brought since the last one (`fromMs` to `toMs`, upstream's clock). Of a page that overflowed only
 * the time from its oldest item on is known; returns the time before it, which the fill reads, else null.
 */
export function learnFromPoll(
  turn: Turn,
  poll: { fromMs: number; toMs: number; items: readonly HeldItem[]; overflowed: boolean },
): { fromMs: number; toMs: number } | null {
  const { state, config } = turn
  const { fromMs, toMs, overflowed } = poll
  const timesMs = poll.items.map(({ disclosure }) => disclosure.timeMs)
  const oldestMs = timesMs.reduce((oldest, timeMs) => Math.min(oldest, timeMs), toMs) + lagOf(state.profile)
  const knownMs = overflowed ? Math.min(toMs, Math.max(fromMs, oldestMs)) : fromMs
  const observation = { fromMs: knownMs, toMs, timesMs, atLeast: false }
  state.profile = learn(state.profile, config.calendar, observation)
  return overflowed && knownMs > fromMs ? { fromMs, toMs: knownMs } : null
}

/** Learns from what a fill brought of the time that its poll had left out; `atLeast` where it was given up. */
export function learnFromFill(turn: Turn, { unread, latest }: Walk, atLeast: boolean): void {
  if (unread === null) return
  const { state, config } = turn
  const lagMs = lagOf(state.profile)
  const timesMs = [...latest.values()]
    .map(({ disclosure }) => disclosure.timeMs)
    .filter((timeMs) => timeMs + lagMs < unread.toMs)
  state.profile = learn(state.profile, config.calendar, { ...unread, timesMs, atLeast })
}

/** What goes into the head with a commit: the profile, now and then. */
export function savedProfile({ state }: Turn): Pick<Turn['state']['head'], 'profile'> | undefined {
  const { profile, head } = state
  const savedMs = head.profile?.learntToMs ?? Number.NEGATIVE_INFINITY
  return Math.abs(profile.learntToMs - savedMs) >= SAVE_EVERY_MS ? { profile } : undefined
}
