/**
 * The spells in which units are counted, and counting into them (ADR 0008). Refuses to know quotas: `governor/quota/ledger.ts`.
 */
import type { Purpose } from './log.ts'

/** Units are counted in spells of so long, the first of an hour beginning with it. */
export const SPELL_MS = 5 * 60_000

/** Start of the spell that holds `atMs`, ms since 1970. */
export function spellOf(atMs: number): number {
  return Math.floor(atMs / SPELL_MS) * SPELL_MS
}

/** A ledger that can be counted into. */
export type OpenLedger = Map<number, Readonly<Partial<Record<Purpose, number>>>>

/** Counts units to the spell that holds `atMs`, in the ledger that is given; negative ones are taken away. */
export function countUnits(ledger: OpenLedger, units: number, purpose: Purpose, atMs: number): void {
  const spellMs = spellOf(atMs)
  const spent = ledger.get(spellMs) ?? {}
  ledger.set(spellMs, { ...spent, [purpose]: (spent[purpose] ?? 0) + units })
}
