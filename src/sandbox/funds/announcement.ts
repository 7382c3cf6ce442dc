/**
 * What every record of the funds says about its origin: who announced it, when, and under which guid. Owns that part of
 * the shapes (docs/use/sandbox-funds.md).
 */
import { isoSeconds } from '../../core/dates.ts'
import type { ShareClass } from './share-classes.ts'

/** A company as in the disclosure items. */
export interface IssuerJson {
  name: string
  lei?: string
  instrument: InstrumentJson
}

/** An instrument as in the disclosure items. */
export interface InstrumentJson {
  isin: string
  symbol?: { mnemonic: string }
}

/** Where a figure comes from. */
export interface FundAnnouncement {
  guid: string
  /** ISO 8601, whole seconds, UTC. */
  timestamp: string
}

/** The made-up domain inside these guids: not that of the listed items, because no item of the list is meant. */
const GUID_DOMAIN = 'funds.sandbox.example'
/** Last character of the number, by what is announced. */
const letters = { nav: 'N', buyback: 'B', dividend: 'D', performance: 'P' } as const

/** The announcement of one class about one thing; a class announces each at most once a day. */
export function fundAnnouncementOf(
  shareClass: ShareClass,
  about: keyof typeof letters,
  atMs: number,
): FundAnnouncement {
  const timestamp = isoSeconds(atMs)
  const number = `${String(shareClass.index).padStart(4, '0')}${letters[about]}`
  return {
    guid: `urn:newsml:${GUID_DOMAIN}:${timestamp.slice(0, 10).replaceAll('-', '')}:${number}:1`,
    timestamp,
  }
}

/** The issuer with this instrument. */
export function issuerJson(shareClass: ShareClass): IssuerJson {
  const { name, lei } = shareClass.issuer
  return { name, ...(lei === null ? {} : { lei }), instrument: instrumentJson(shareClass) }
}

/** The instrument alone. */
export function instrumentJson({ isin, symbol }: Pick<ShareClass, 'isin' | 'symbol'>): InstrumentJson {
  return { isin, ...(symbol === null ? {} : { symbol: { mnemonic: symbol } }) }
}
