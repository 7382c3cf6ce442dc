/**
 * Assigns each instrument of the synthetic market its kind, unit and price level, and finds instruments by the identifiers
 * that they have at a time.
 */
import { crc32 } from 'node:zlib'
import type { InstrumentIdentifier } from '../../api/mirror/fund-routes.ts'
import { type SeededChance, seededChance } from '../../core/chance.ts'
import { appearanceAt, type Instrument, type Issuer, type Issuers } from '../market/issuers.ts'
import type { Unit } from './amounts.ts'

/** One instrument, with the name and identifiers of one time. */
export interface ShareClass {
  isin: string
  symbol: string | null
  /** Name of its issuer. */
  name: string
  /** All instruments of its issuer. */
  instruments: readonly Instrument[]
  issuer: Issuer
  /** The ISIN on the market's first day; it never changes. */
  firstIsin: string
  /** Position in the market's order, below 10,000. */
  index: number
  /** `fund` an exchange-traded fund; `trust` a closed-end investment company; `company` any other. */
  kind: 'fund' | 'trust' | 'company'
  /** Unit of most of its announcements. */
  unit: Unit
  /** Approximate value of a share, ten-thousandths of its currency. */
  level: number
  /** Random draws for this class and occasion; every call returns the same sequence. */
  chance(occasion: string): SeededChance
  /** The same for all share classes of its issuer. */
  issuerChance(occasion: string): SeededChance
}

/** The one market on which everything is listed (ISO 10383). */
const MARKET = 'XLON'
/** Companies with these words in their name are investment companies and publish a NAV. */
const TRUST_TRADE = /\b(Capital|Estates|Infrastructure|Properties|Renewables|Ventures)\b/
/** Fraction of a sterling class's announcements in pounds where the others are in pence, or the reverse. */
const OTHER_UNIT_SHARE = 0.05

/** Creates the share class of every instrument of these issuers as on the first day, in the market's order. */
export function createShareClasses({ seed, issuers }: { seed: number; issuers: Issuers }): ShareClass[] {
  const { companies, funds, holders, operator } = issuers
  const listed = [...companies, ...funds, ...holders, operator].flatMap((issuer) =>
    issuer.instruments.map((instrument, _, [first]) => ({ issuer, instrument, first })),
  )
  return listed.map(({ issuer, instrument, first = instrument }, index) => {
    const chance = (occasion: string) => seededChance(crc32(`${seed}:${instrument.isin}:${occasion}`))
    const issuerChance = (occasion: string) => seededChance(crc32(`${seed}:${first.isin}:${occasion}`))
    const traits = chance('traits')
    const isFund = funds.includes(issuer)
    const kind = isFund ? 'fund' : TRUST_TRADE.test(issuer.name) ? 'trust' : 'company'
    const unit = isFund ? fundUnit(issuer.name, traits) : traits.pick(companyUnits)
    const level = traits.between(6_000, 180_000)
    const { name, instruments } = issuer
    const fixed = {
      issuer,
      firstIsin: instrument.isin,
      index,
      kind,
      unit,
      level,
      chance,
      issuerChance,
    } as const
    return { ...instrument, name, instruments, ...fixed }
  })
}

/** The share classes with the names and identifiers that they have at a time, ms since 1970. */
export function shareClassesAt(all: readonly ShareClass[], timeMs: number): ShareClass[] {
  return all.map((shareClass) => {
    const { issuer, firstIsin } = shareClass
    const { name, instruments } = appearanceAt(issuer, timeMs)
    // A change keeps the order of the instruments.
    const instrument = instruments[issuer.instruments.findIndex(({ isin }) => isin === firstIsin)]
    return { ...shareClass, ...instrument, name, instruments }
  })
}

/** True if the identifier names this share class. */
export function isNamed({ isin, symbol }: ShareClass, identifier: InstrumentIdentifier): boolean {
  if (identifier.kind === 'isin') return isin === identifier.isin
  return symbol === identifier.symbol && (identifier.mic ?? MARKET) === MARKET
}

const companyUnits: readonly Unit[] = ['GBX', 'GBX', 'GBX', 'GBX', 'GBX', 'GBX', 'GBX', 'GBP', 'USD', 'EUR']

function fundUnit(name: string, chance: SeededChance): Unit {
  if (name.endsWith('EUR Hedged')) return 'EUR'
  if (name.endsWith('USD')) return 'USD'
  return chance.pick(['GBX', 'GBP'])
}

/** Draws the unit of one announcement: nearly always the class's usual unit. */
export function announcedUnit({ unit }: ShareClass, chance: SeededChance): Unit {
  const other = chance.yes(OTHER_UNIT_SHARE)
  if (!other || (unit !== 'GBX' && unit !== 'GBP')) return unit
  return unit === 'GBX' ? 'GBP' : 'GBX'
}
