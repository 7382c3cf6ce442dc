/** Opens a market on a stopped clock and reads its listings. */
import type { Selection } from '../../../src/core/filter/selection.ts'
import { Market } from '../../../src/sandbox/market/market.ts'
import { findScenario } from '../../../src/sandbox/scenario-list.ts'
import { createManualClock, type ManualClock } from '../../support/time/manual-clock.ts'

export interface FullItem {
  rnsId: string
  timestamp: string
  guid: string
  version: number | null
  headline: string
  issuer: { name?: string; lei?: string; instrument?: { isin: string; symbol?: { mnemonic: string } } }
  related?: unknown[]
  category: { kind: string; code: string; importance?: string }[]
  replaces?: { guid: string; version: number }
}

const everything: Selection = {
  ...{ fromMs: null, toMs: null, isins: null, symbols: null, match: 'issuer', fcaCategories: null },
  ...{ nativeCategories: null, q: null, hasSymbol: false, channel: null },
}

/** The market of a scenario, at its start. */
export function openMarket(
  name: string,
  options: { seed?: number; speed?: number; backlog?: number; dayItems?: number } = {},
): { market: Market; clock: ManualClock } {
  const clock = createManualClock()
  const market = new Market(
    {
      scenario: findScenario(name),
      seed: options.seed ?? 1,
      speed: options.speed ?? 1,
      backlog: options.backlog,
      dayItems: options.dayItems,
      nativeKind: 'Native',
      documentsUrl: 'https://documents.sandbox.example',
    },
    clock,
  )
  return { market, clock }
}

/** Raw texts of everything that is listed, newest first. */
export function listed(market: Market): string[] {
  market.advance()
  return market.items.pageBefore(everything, null, 1_000_000).items.map(({ raw }) => raw)
}

/** Time of the day of an ISO 8601 text. */
export function second(text: string): string {
  return text.slice(11, 19)
}

/** Advances half a day, by which every finite scenario has ended. */
export function toTheEnd(clock: ManualClock): void {
  clock.advance(12 * 3_600_000)
}
