/**
 * The instruments of the synthetic market as fund data sees them: what each is, in which unit its announcements speak, and
 * how an identifier finds it. Owns these fixed traits, all from the seed. Refuses to know any figure.
 */
import { crc32 } from 'node:zlib'
import type { InstrumentIdentifier } from '../../api/mirror/instrument-identifier.ts'
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
  /** Place in the market, below 10,000. */
  index: number
  kind: Kind
  /** Unit of most of its announcements. */
  unit: Unit
  /** What a share is about worth, ten-thousandths of its currency. */
  level: number
}

export interface ShareClasses {
  /** In the market's order; the classes of one issuer side by side. */
  all: readonly ShareClass[]
  /** The one that the identifier names, or null. */
  find(identifier: InstrumentIdentifier): ShareClass | null
  /** Draws that belong to this class and this occasion, whoever asks and whenever. */
  chance(shareClass: Pick<ShareClass, 'isin'>, occasion: string): SeededChance
}

/** The one market on which everything is listed (ISO 10383). */
const MARKET = 'XLON'
/** Companies of these trades are investment companies: they publish a NAV. */
const TRUST_TRADE = /\b(Capital|Estates|Infrastructure|Properties|Renewables|Ventures)\b/
/** How often an announcement in a sterling class speaks of pounds where the others speak of pence, or the reverse. */
const OTHER_UNIT_SHARE = 0.05

/** Every instrument of these issuers. */
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

/** The unit of one announcement: nearly always the usual one of its class. */
export function announcedUnit({ unit }: ShareClass, chance: SeededChance): Unit {
  const other = chance.yes(OTHER_UNIT_SHARE)
  if (!other || (unit !== 'GBX' && unit !== 'GBP')) return unit
  return unit === 'GBX' ? 'GBP' : 'GBX'
}
