/**
 * What spending and committing make of a writer's state. Owns the arithmetic that every adapter shares; pure.
 * Refuses to store: each adapter does in its own way.
 */
import type { Committed } from '../core/event.ts'
import type { Commit, Head, Ledger, Purpose, Refund, WriterState } from './log.ts'
import { countUnits, SPELL_MS, spellOf } from './time-buckets.ts'

/** So long a spell is kept, and so many are: one reading of a clock that is far ahead is not to wipe the ledger. */
const KEPT_MS = 15 * 24 * 3_600_000
const KEPT_SPELLS = KEPT_MS / SPELL_MS

/** The state of a log that was never written. */
export function unusedState(epoch: string): WriterState {
  const head: Head = {
    epoch,
    sequence: 0,
    cursor: null,
    latestTimeMs: 0,
    lastCleanPollMs: null,
    lastSpendMs: null,
    openGaps: [],
    backfill: null,
    sweep: null,
    round: null,
    profile: null,
    days: [],
    countedFromMs: null,
  }
  return { head, ledger: new Map() }
}

/** The state after units were spent at `atMs`; of more spells than 15 days have, the oldest that lie so far before it are gone. */
export function afterSpend(state: WriterState, units: number, purpose: Purpose, atMs: number): WriterState {
  const oldestMs = spellOf(atMs) - KEPT_MS
  const ledger = new Map(state.ledger)
  countUnits(ledger, units, purpose, atMs)
  const surplus = ledger.size - KEPT_SPELLS
  if (surplus > 0) {
    const oldest = [...ledger.keys()].sort((one, other) => one - other).slice(0, surplus)
    for (const spellMs of oldest) if (spellMs <= oldestMs) ledger.delete(spellMs)
  }
  return { head: { ...state.head, lastSpendMs: atMs }, ledger }
}

/** The state after a commit whose events took these places. */
export function afterCommit(state: WriterState, commit: Commit, events: readonly Committed[]): WriterState {
  const sequence = events.at(-1)?.sequence ?? state.head.sequence
  const head = { ...state.head, ...structuredClone(commit.head ?? {}), sequence }
  return { head, ledger: afterRefunds(state.ledger, commit.refunds ?? []) }
}

/** The events of a commit in their places after `head`. */
export function placed(head: Readonly<Head>, commit: Commit): Committed[] {
  return commit.events.map((event, index) => ({
    ...event,
    sequence: head.sequence + 1 + index,
    epoch: head.epoch,
  }))
}

/** More is never given back than the spell and purpose hold: a count below upstream's would overspend. */
function afterRefunds(before: Ledger, refunds: readonly Refund[]): Ledger {
  const ledger = new Map(before)
  for (const { atMs, units, purpose } of refunds) {
    const spent = ledger.get(spellOf(atMs))?.[purpose] ?? 0
    if (spent > 0) countUnits(ledger, -Math.min(spent, units), purpose, atMs)
  }
  return ledger
}
