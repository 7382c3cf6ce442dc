/**
 * What spending and committing make of a writer's state. Owns the arithmetic that every adapter shares; pure.
 * Refuses to store: each adapter does in its own way.
 */
import type { Committed } from '../core/event.ts'
import type { Commit, Head, Ledger, Purpose, Refund, WriterState } from './log.ts'

const HOUR_MS = 3_600_000
const LEDGER_HOURS = 15 * 24

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

/** Start of the UTC hour that holds `atMs`. */
export function hourOf(atMs: number): number {
  return Math.floor(atMs / HOUR_MS) * HOUR_MS
}

/** The state after units were spent at `atMs`; hours more than 15 days before it are gone. */
export function afterSpend(state: WriterState, units: number, purpose: Purpose, atMs: number): WriterState {
  const hourMs = hourOf(atMs)
  const oldestMs = hourMs - LEDGER_HOURS * HOUR_MS
  const ledger = new Map(state.ledger)
  for (const keptMs of ledger.keys()) if (keptMs < oldestMs) ledger.delete(keptMs)
  add(ledger, hourMs, purpose, units)
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

/** More is never given back than the hour and purpose hold: a count below upstream's would overspend. */
function afterRefunds(before: Ledger, refunds: readonly Refund[]): Ledger {
  const ledger = new Map(before)
  for (const { atMs, units, purpose } of refunds) {
    const hourMs = hourOf(atMs)
    const spent = ledger.get(hourMs)?.[purpose] ?? 0
    if (spent > 0) add(ledger, hourMs, purpose, -Math.min(spent, units))
  }
  return ledger
}

function add(
  ledger: Map<number, Readonly<Partial<Record<Purpose, number>>>>,
  hourMs: number,
  purpose: Purpose,
  units: number,
): void {
  const hour = ledger.get(hourMs) ?? {}
  ledger.set(hourMs, { ...hour, [purpose]: (hour[purpose] ?? 0) + units })
}
