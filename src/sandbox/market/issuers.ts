/**
 * Generates the companies and funds of the synthetic market from one seed: names, identifiers and popularity. 85 % have
 * an LEI and 5 % have no listing symbol, as counted on the live service.
 */
import { type SeededChance, seededChance } from '../../core/chance.ts'
import {
  companyEndings,
  companyTrades,
  companyWords,
  fundHouses,
  fundRegions,
  fundStrategies,
  holderNames,
} from '../data/names.ts'
import { drawIsin, drawLei, drawSymbol } from './identifiers.ts'

/** One listed instrument; `symbol` is null if it has no listing symbol. */
export interface Instrument {
  isin: string
  symbol: string | null
}

/** An issuer's name and instruments from `fromMs` (ms since 1970) on. The LEI never changes. */
export interface IssuerChange {
  fromMs: number
  name: string
  instruments: readonly Instrument[]
}

/** One publisher. Every instrument after the first is a sibling listing of the same issuer. */
export interface Issuer {
  name: string
  lei: string | null
  instruments: readonly Instrument[]
  /** Later changes of name and instruments, ascending by time. */
  changes: readonly IssuerChange[]
}

export interface Issuers {
  /** Most popular first. */
  companies: readonly Issuer[]
  /** Grouped by fund house. */
  funds: readonly Issuer[]
  /** Banks and fund managers that file forms about other companies. */
  holders: readonly Issuer[]
  operator: Issuer
}

const COMPANIES = 700
const FUNDS_PER_HOUSE = 40
const LEI_SHARE = 0.85
const NO_SYMBOL_SHARE = 0.05
const SIBLING_SHARE = 0.1

/** Generates the market's issuers; the same seed gives the same ones. */
export function createIssuers(seed: number): Issuers {
  const chance = seededChance(seed)
  const unique = uniqueDraws(new Set())
  const lei = (): string | null => (chance.yes(LEI_SHARE) ? unique(() => drawLei(chance)) : null)
  const instrument = (country: string, symbolLength: number): Instrument => ({
    isin: unique(() => drawIsin(chance, country)),
    symbol: chance.yes(NO_SYMBOL_SHARE) ? null : unique(() => drawSymbol(chance, symbolLength)),
  })
  const companies = Array.from({ length: COMPANIES }, () => {
    const country = chance.pick(['GB', 'GB', 'GB', 'JE', 'IE', 'GG'])
    const first = instrument(country, chance.yes(0.8) ? 3 : 4)
    const siblings = chance.yes(SIBLING_SHARE) ? [instrument(country, 4)] : []
    return {
      name: unique(() => companyName(chance)),
      lei: lei(),
      instruments: [first, ...siblings],
      changes: [],
    }
  })
  const single = (name: string, country: string, symbolLength: number): Issuer => ({
    name,
    lei: lei(),
    instruments: [instrument(country, symbolLength)],
    changes: [],
  })
  const funds = fundHouses.flatMap((house) =>
    Array.from({ length: FUNDS_PER_HOUSE }, () =>
      single(
        unique(() => fundName(chance, house)),
        'IE',
        4,
      ),
    ),
  )
  const holders = holderNames.map((name) => single(name, 'GB', 3))
  const operator = single('Sandbox Exchange Group PLC', 'GB', 4)
  return { companies, funds, holders, operator }
}

/** Returns a function that repeats a draw until its text is not in `taken`, and adds it there. */
export function uniqueDraws(taken: Set<string>): (draw: () => string) => string {
  return (draw) => {
    for (;;) {
      const drawn = draw()
      if (taken.has(drawn)) continue
      taken.add(drawn)
      return drawn
    }
  }
}

/** The issuer's name and instruments at a time, ms since 1970. */
export function appearanceAt(issuer: Issuer, timeMs: number): Pick<IssuerChange, 'name' | 'instruments'> {
  return issuer.changes.findLast(({ fromMs }) => fromMs <= timeMs) ?? issuer
}

/** Picks one member; earlier ones are likelier, rank r with a probability of about 1/r (Zipf). */
export function pickPopular<T>(chance: SeededChance, members: readonly T[]): T {
  const rank = Math.floor(Math.exp(chance.next() * Math.log(members.length + 1)))
  const member = members[Math.min(rank, members.length) - 1]
  if (member === undefined) throw new RangeError('nothing to pick from')
  return member
}

/** Draws a made-up company name; draws can repeat. */
export function companyName(chance: SeededChance): string {
  return `${chance.pick(companyWords)} ${chance.pick(companyTrades)} ${chance.pick(companyEndings)}`
}

function fundName(chance: SeededChance, house: string): string {
  const shareClass = chance.pick(['Acc', 'Dist', 'GBP Hedged', 'EUR Hedged', 'USD'])
  return `${house} ${chance.pick(fundRegions)} ${chance.pick(fundStrategies)} UCITS ETF ${shareClass}`
}
