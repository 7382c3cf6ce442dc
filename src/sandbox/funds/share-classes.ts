/**
 * Assigns each instrument of the synthetic market its kind, unit and price level, and finds instruments by identifier.
 */
import { crc32 } from 'node:zlib'
import type { InstrumentIdentifier } from '../../api/mirror/fund-routes.ts'
import { type SeededChance, seededChance } from '../../core/chance.ts'
import type { Issuer, Issuers } from '../market/issuers.ts'
import type { Unit } from './amounts.ts'

/** `fund` an exchange-traded fund; `trust` a closed-end investment company; `company` any other. */
export type Kind = 'fund' | 'trust' | 'company'

/** One instrument. */
export interface ShareClass {
  isin: string
  symbol: string | null
  issuer: Issuer
  /** Position in the market's order, below 10,000. */
  index: number
  kind: Kind
  /** Unit of most of its announcements. */
  unit: Unit
  /** Approximate value of a share, ten-thousandths of its currency. */
  level: number
}

export interface ShareClasses {
  /** In the market's order; classes of one issuer are adjacent. */
  all: readonly ShareClass[]
  /** The class with that identifier, or null. */
  find(identifier: InstrumentIdentifier): ShareClass | null
  /** Random draws for this class and occasion; every call returns the same sequence. */
  chance(shareClass: Pick<ShareClass, 'isin'>, occasion: string): SeededChance
}

/** The one market on which everything is listed (ISO 10383). */
const MARKET = 'XLON'
/** Companies with these words in their name are investment companies and publish a NAV. */
const TRUST_TRADE = /\b(Capital|Estates|Infrastructure|Properties|Renewables|Ventures)\b/
/** Fraction of a sterling class's announcements in pounds where the others are in pence, or the reverse. */
const OTHER_UNIT_SHARE = 0.05

/** Creates the share class of every instrument of these issuers. */
export function createShareClasses({ seed, issuers }: { seed: number; issuers: Issuers }): ShareClasses {
  const chance: ShareClasses['chance'] = ({ isin }, occasion) =>
    seededChance(crc32(`${seed}:${isin}:${occasion}`))
  const listed = [
    ...issuers.companies.map((issuer) => ({ issuer, isFund: false })),
    ...issuers.funds.map((issuer) => ({ issuer, isFund: true })),
    ...[...issuers.holders, issuers.operator].map((issuer) => ({ issuer, isFund: false })),
  ].flatMap(({ issuer, isFund }) => issuer.instruments.map((instrument) => ({ issuer, isFund, instrument })))
  const all = listed.map(({ issuer, isFund, instrument }, index): ShareClass => {
    const traits = chance(instrument, 'traits')
    const kind = isFund ? 'fund' : TRUST_TRADE.test(issuer.name) ? 'trust' : 'company'
    const unit = isFund ? fundUnit(issuer.name, traits) : traits.pick(companyUnits)
    return { ...instrument, issuer, index, kind, unit, level: traits.between(6_000, 180_000) }
  })
  const byIsin = new Map(all.map((shareClass) => [shareClass.isin, shareClass]))
  const bySymbol = new Map(all.map((shareClass) => [shareClass.symbol, shareClass]))
  return {
    all,
    chance,
    find(identifier) {
      if (identifier.kind === 'isin') return byIsin.get(identifier.isin) ?? null
      if (identifier.mic !== null && identifier.mic !== MARKET) return null
      return bySymbol.get(identifier.symbol) ?? null
    },
  }
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
