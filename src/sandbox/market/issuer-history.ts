/**
 * Changes the invented issuers over time: a new name with a new symbol, or a new ISIN under the old symbol. The LEI
 * never changes.
 */
import { type SeededChance, seededChance } from '../../core/chance.ts'
import { DAY_MS } from '../../core/durations.ts'
import { drawIsin, drawSymbol } from './identifiers.ts'
import { companyName, type Issuer, type IssuerChange, type Issuers, uniqueDraws } from './issuers.ts'

/** Fraction of companies that change within the year after the market's first day. */
const CHANGING_SHARE = 0.1
const YEAR_DAYS = 365

/** Creates a source of names and identifiers unused by these issuers; the same seed draws the same ones. */
export function freshNames(chance: SeededChance, { companies, funds, holders, operator }: Issuers) {
  const all = [...companies, ...funds, ...holders, operator]
  const taken = new Set(
    all.flatMap(({ name, instruments }) => [
      name,
      ...instruments.flatMap(({ isin, symbol }) => (symbol === null ? [isin] : [isin, symbol])),
    ]),
  )
  const fresh = uniqueDraws(taken)
  return {
    name: () => fresh(() => companyName(chance)),
    isin: (country: string) => fresh(() => drawIsin(chance, country)),
    symbol: () => fresh(() => drawSymbol(chance, 4)),
  }
}

/** Draws names and identifiers that no issuer of the market has. */
export type FreshNames = ReturnType<typeof freshNames>

/** Gives the issuer a new name and new symbols from `fromMs` on; ISINs stay. */
export function renamed(issuer: Issuer, fromMs: number, fresh: FreshNames): Issuer {
  const { instruments } = lastOf(issuer)
  return changed(issuer, {
    fromMs,
    name: fresh.name(),
    instruments: instruments.map(({ isin, symbol }) => ({
      isin,
      symbol: symbol === null ? null : fresh.symbol(),
    })),
  })
}

/** Gives each instrument a new ISIN from `fromMs` on, as after a share consolidation; symbols stay. */
export function reissued(issuer: Issuer, fromMs: number, fresh: FreshNames): Issuer {
  const { name, instruments } = lastOf(issuer)
  return changed(issuer, {
    fromMs,
    name,
    instruments: instruments.map(({ isin, symbol }) => ({ isin: fresh.isin(isin.slice(0, 2)), symbol })),
  })
}

/** Changes about a tenth of the companies within the year from `day` (`YYYY-MM-DD`) on. */
export function usualHistory(issuers: Issuers, { seed, day }: { seed: number; day: string }): Issuers {
  const chance = seededChance(seed ^ 0x1b873593)
  const fresh = freshNames(chance, issuers)
  const companies = issuers.companies.map((company) => {
    if (!chance.yes(CHANGING_SHARE)) return company
    const fromMs = Date.parse(day) + chance.between(1, YEAR_DAYS) * DAY_MS
    return chance.yes(0.5) ? renamed(company, fromMs, fresh) : reissued(company, fromMs, fresh)
  })
  return { ...issuers, companies }
}

function lastOf(issuer: Issuer): Pick<IssuerChange, 'name' | 'instruments'> {
  return issuer.changes.at(-1) ?? issuer
}

function changed(issuer: Issuer, change: IssuerChange): Issuer {
  return { ...issuer, changes: [...issuer.changes, change] }
}
